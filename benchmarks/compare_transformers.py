"""Unpruned prefill of `mico` against Hugging Face transformers on the same checkpoint, CPU, f32, same threads.

    cargo build --release -p mico-cli
    python benchmarks/compare_transformers.py --mico target/release/mico [--threads 2] [--rounds 5]

Makes a random LLaVA checkpoint of middle size (CLIP-L/336 and a Llama decoder of 12 blocks, 1,024 wide), then lets both
take turns on it. One prefill is pixels to the logits of the last prompt token: tower, projector, decoder, head of one
position. Loading and image preprocessing are left out on both sides. A turn of `mico` is one process with warm-ups of its
own; a turn of transformers runs in this process. The ratio is transformers' time over mico's: above 1 mico is faster.
Needs torch 2.15 and transformers 5.22.2 (fixtures/requirements.txt).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
import transformers
from transformers import LlavaConfig, LlavaForConditionalGeneration

IMAGE_ID, VOCAB, SIDE = 32000, 32064, 336
VISUAL_TOKENS = (SIDE // 14) ** 2
BEFORE_IMAGE = 35
CLIP_L = dict(model_type="clip_vision_model", hidden_size=1024, intermediate_size=4096, num_hidden_layers=24,
              num_attention_heads=16, image_size=SIDE, patch_size=14, projection_dim=768)
LLAMA = dict(model_type="llama", vocab_size=VOCAB, hidden_size=1024, intermediate_size=2816, num_hidden_layers=12,
             num_attention_heads=16, num_key_value_heads=16, max_position_embeddings=4096, rms_norm_eps=1e-5)


def make_checkpoint(folder):
    torch.manual_seed(0)
    config = LlavaConfig(vision_config=CLIP_L, text_config=LLAMA, image_token_id=IMAGE_ID, image_token_index=IMAGE_ID,
                         vision_feature_layer=-2, vision_feature_select_strategy="default", tie_word_embeddings=False)
    LlavaForConditionalGeneration(config).float().save_pretrained(folder)


def inputs(text_tokens):
    words = [1] + [3 + i % 900 for i in range(text_tokens - 1)]
    before = min(BEFORE_IMAGE, (text_tokens + 1) // 2)
    ids = words[:before] + [IMAGE_ID] * VISUAL_TOKENS + words[before:]
    generator = torch.Generator().manual_seed(0)
    return torch.tensor([ids]), torch.randn(1, 3, SIDE, SIDE, generator=generator)


def torch_turn(model, ids, pixels, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        with torch.inference_mode():
            out = model(input_ids=ids, pixel_values=pixels, use_cache=True, logits_to_keep=1)
        times.append(time.perf_counter() - start)
        assert out.logits.shape[1] == 1
    return times


def mico_turn(args, folder, runs):
    command = [args.mico, "bench", "--model", str(folder), "--no-prune", "--json", "--new-tokens", "1", "--warmups", "1",
               "--repeats", str(runs), "--threads", str(args.threads), "--text-tokens", str(args.text_tokens)]
    environment = os.environ | {"RAYON_NUM_THREADS": str(args.threads)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    row = json.loads(done.stdout)["rows"][0]
    assert row["dtype"] == "f32" and row["quantize"] is None, row
    assert row["tokens"]["visual"] == VISUAL_TOKENS and row["tokens"]["text"] == args.text_tokens, row["tokens"]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mico", default="target/release/mico", help="the binary, a release build")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5, help="turns of each side")
    parser.add_argument("--runs", type=int, default=3, help="prefills in a turn")
    parser.add_argument("--text-tokens", type=int, default=69)
    parser.add_argument("--attention", default="sdpa", choices=["sdpa", "eager"], help="transformers' attention")
    parser.add_argument("--checkpoint", type=Path, help="keep the checkpoint here and use it again")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    with tempfile.TemporaryDirectory() as scratch:
        folder = args.checkpoint or Path(scratch) / "checkpoint"
        if not (folder / "config.json").exists():
            make_checkpoint(folder)
        model = LlavaForConditionalGeneration.from_pretrained(folder, dtype=torch.float32,
                                                              attn_implementation=args.attention).eval()
        ids, pixels = inputs(args.text_tokens)
        torch_turn(model, ids, pixels, 1)
        rounds = []
        for index in range(args.rounds):
            row = mico_turn(args, folder, args.runs)
            theirs = statistics.median(torch_turn(model, ids, pixels, args.runs))
            ours = row["seconds"]["prefill"]["median"]
            rounds.append({"mico": ours, "transformers": theirs, "ratio": theirs / ours,
                           "mico_parts": {part: row["seconds"][part]["median"]
                                          for part in ("vision", "projector", "decoder_prefill")}})
            print(f"round {index + 1}: mico {ours:.3f} s, transformers {theirs:.3f} s, ratio {theirs / ours:.2f}",
                  file=sys.stderr)

    ratios = sorted(one["ratio"] for one in rounds)
    result = {"threads": args.threads, "dtype": "f32", "text_tokens": args.text_tokens, "visual_tokens": VISUAL_TOKENS,
              "torch": torch.__version__, "transformers": transformers.__version__, "attention": args.attention,
              "commit": row["commit"], "rounds": rounds,
              "ratio": {"median": statistics.median(ratios), "min": ratios[0], "max": ratios[-1]}}
    if args.json:
        print(json.dumps(result))
        return
    seconds = {side: statistics.median(one[side] for one in rounds) for side in ("mico", "transformers")}
    print(f"prefill of {VISUAL_TOKENS} visual and {args.text_tokens} text tokens, f32, {args.threads} threads: "
          f"mico {seconds['mico']:.3f} s, transformers {result['transformers']} on torch {result['torch']} "
          f"({args.attention}) {seconds['transformers']:.3f} s; ratio {result['ratio']['median']:.2f} "
          f"({ratios[0]:.2f} to {ratios[-1]:.2f}), above 1 mico is faster")


if __name__ == "__main__":
    main()
