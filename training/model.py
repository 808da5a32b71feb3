"""The model's shape, its tokenizer, and its folder in the published layout."""

import json
import math
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import LlavaConfig, LlavaForConditionalGeneration, PreTrainedTokenizerFast

SPECIAL = ["<pad>", "<s>", "</s>", "<unk>", "<image>"]
PAD, BOS, EOS, UNK, IMAGE = range(5)
TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'user' %}USER: "
    "{% for part in message['content'] | selectattr('type', 'equalto', 'image') %}<image>\n{% endfor %}"
    "{% for part in message['content'] | selectattr('type', 'equalto', 'text') %}{{ part['text'] }} {% endfor %}"
    "{% else %}ASSISTANT: "
    "{% for part in message['content'] | selectattr('type', 'equalto', 'text') %}{{ part['text'] }}{% endfor %}</s>"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)


def config(words):
    vocabulary = math.ceil((len(SPECIAL) + words) / 32) * 32
    return LlavaConfig(
        vision_config=dict(
            model_type="clip_vision_model", hidden_size=144, intermediate_size=432, num_hidden_layers=6,
            num_attention_heads=4, image_size=336, patch_size=14, projection_dim=64, hidden_act="quick_gelu",
        ),
        text_config=dict(
            model_type="llama", vocab_size=vocabulary, hidden_size=128, intermediate_size=352, num_hidden_layers=8,
            num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=2048, rms_norm_eps=1e-5,
            tie_word_embeddings=False, bos_token_id=BOS, eos_token_id=EOS, pad_token_id=PAD,
            # Slow waves: with 32 numbers per head, most of them must not turn over 600 tokens.
            rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        ),
        image_token_index=IMAGE, image_seq_length=576, vision_feature_layer=-2,
        vision_feature_select_strategy="default", projector_hidden_act="gelu", tie_word_embeddings=False,
    )


def build(words):
    """A fresh model.

    The library's initial deviation of 0.02 is made for widths of thousands; these are 128 and 144. Queries begin equal
    to keys, outputs to transposed values and the head to the embeddings: a token first looks for tokens like itself
    and copies what it finds, which is where looking up an object by its name starts from.
    """
    model = LlavaForConditionalGeneration(config(words))
    for name, parameter in model.named_parameters():
        if parameter.dim() >= 2 and "position_embedding" not in name:
            fan = parameter[0].numel()
            torch.nn.init.normal_(parameter, std=0.7 / math.sqrt(fan) if "embed" not in name else 0.5)
    vision = model.model.vision_tower
    vision = getattr(vision, "vision_model", vision)
    with torch.no_grad():
        embeddings = vision.embeddings
        embeddings.patch_embedding.weight.normal_(std=1 / math.sqrt(588))
        embeddings.position_embedding.weight.copy_(positions(embeddings.position_embedding.weight))
        embeddings.class_embedding.normal_(std=0.5)
        for layer in vision.encoder.layers:
            attention = layer.self_attn
            attention.k_proj.weight.copy_(attention.q_proj.weight.normal_(std=0.8 / math.sqrt(144)))
            attention.out_proj.weight.copy_(0.7 * attention.v_proj.weight.T)
        for layer in model.model.language_model.layers:
            attention = layer.self_attn
            attention.k_proj.weight.copy_(attention.q_proj.weight.normal_(std=1 / math.sqrt(128)))
            attention.o_proj.weight.copy_(attention.v_proj.weight.T)
        model.lm_head.weight.copy_(0.2 * model.model.language_model.embed_tokens.weight)
    return model


def positions(weight):
    """Waves along both axes: neighbours begin alike, so that attention can be local from the start."""
    count, width = weight.shape
    side = math.isqrt(count - 1)
    quarter = width // 4
    frequency = torch.exp(torch.linspace(0, math.log(1 / 8), quarter))
    row, column = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    waves = [f(axis.flatten()[:, None] * frequency) for axis in (row, column) for f in (torch.sin, torch.cos)]
    table = torch.cat(waves, 1)
    return torch.cat([torch.randn(1, width) * 0.5, table])


def tokenizer(words):
    tokens = SPECIAL + [word for word in words if word not in SPECIAL]
    raw = Tokenizer(models.WordLevel({token: index for index, token in enumerate(tokens)}, unk_token="<unk>"))
    raw.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace("color", "colour")])
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", BOS)])
    raw.add_special_tokens(SPECIAL)
    return raw


class Words:
    """Words to ids without a tokenizer's rules: answers keep their capitals."""

    def __init__(self, words):
        self.tokens = SPECIAL + words
        self.index = {token: index for index, token in enumerate(self.tokens)}

    def question(self, text):
        return [self.index[word] for word in text.lower().replace("?", " ?").split()]

    def answer(self, text):
        return [self.index[word] for word in text.split()]


def save(model, words, folder, dtype=torch.float16):
    """Writes the folder as published checkpoints have it."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    model.generation_config.eos_token_id = EOS
    model.generation_config.bos_token_id = BOS
    model.generation_config.pad_token_id = PAD
    model.to(dtype).save_pretrained(folder)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer(words), bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<pad>",
        clean_up_tokenization_spaces=False, additional_special_tokens=["<image>"],
    )
    fast.save_pretrained(folder)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    preprocessor = {
        "image_processor_type": "CLIPImageProcessor", "do_convert_rgb": True, "do_resize": True,
        "size": {"shortest_edge": 336}, "resample": 3, "do_center_crop": True,
        "crop_size": {"height": 336, "width": 336}, "do_rescale": True, "rescale_factor": 1 / 255,
        "do_normalize": True, "image_mean": [0.48145466, 0.4578275, 0.40821073],
        "image_std": [0.26862954, 0.26130258, 0.27577711],
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(preprocessor, indent=2) + "\n")
