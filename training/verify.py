"""Holds `mico run` against transformers: the same folder must give the same greedy answers."""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import torch
from PIL import Image
from transformers import AutoTokenizer, CLIPImageProcessorPil, LlavaForConditionalGeneration


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", required=True, help="the generator's binary")
    parser.add_argument("--mico", required=True, help="the mico binary")
    parser.add_argument("--model", required=True, help="the model folder")
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--embedded", action="store_true", help="let mico use the model it embeds")
    options = parser.parse_args()
    model = LlavaForConditionalGeneration.from_pretrained(options.model, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    processor = CLIPImageProcessorPil.from_pretrained(options.model)
    same = right = 0
    with tempfile.TemporaryDirectory() as folder:
        pictures = -(-options.items // 9) + 2
        subprocess.run([options.scenes, "pictures", "99", "0", str(pictures), folder], check=True)
        items = [json.loads(line) for line in (Path(folder) / "items.jsonl").read_text().splitlines()]
        for item in items[: options.items]:
            path = Path(folder) / item["image"]
            text = item["item"]["text"]
            pixels = processor(Image.open(path), return_tensors="pt").pixel_values
            prompt = f"USER: {'<image>' * 576}\n{text} ASSISTANT:"
            ids = tokenizer(prompt, return_tensors="pt").input_ids
            out = model.generate(input_ids=ids, pixel_values=pixels, max_new_tokens=8, do_sample=False)
            theirs = tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True)
            command = [options.mico, "run", "--json", "--max-new-tokens", "8", "--image", str(path), text]
            if not options.embedded:
                command += ["--model", options.model, "--dtype", "f32"]
            ours = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["answer"]
            same += ours.strip() == theirs.strip()
            right += ours.strip() == item["item"]["answer"]
            if ours.strip() != theirs.strip():
                print(f"{text} transformers {theirs!r}, mico {ours!r}")
    print(f"{same} of {options.items} answers alike, {right} right")
    raise SystemExit(same != options.items)


if __name__ == "__main__":
    main()
