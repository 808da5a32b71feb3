"""Stage 2: the tower learns to see, on crops of 12 x 12 patches and then on whole pictures.

Per patch it tells shape, colour, character, size and centre of the object there; the class token tells what the
picture contains, which is the part of a caption in CLIP's training. The heads are thrown away. With `--symbols`
(a finished stage 1) the projected patches are also pulled onto the symbols the decoder already understands.
"""

import argparse

import numpy as np
import torch
from torch.nn import functional as F

from model import Words, build
from run import Run, arguments
from scenes import GRID, PATCH, patch_labels, stream, vocabulary
from symbols import SIZES, Symbols

MEAN = torch.tensor([0.48145466, 0.4578275, 0.40821073]) * 255
STD = torch.tensor([0.26862954, 0.26130258, 0.27577711]) * 255
# Shape, colour, character, size and is-centre are classes; the centre is told as an offset.
CLASSES = [0, 1, 2, 3, 6]


def normalise(pixels):
    """u8 [b, h, w, 3] to what the tower takes."""
    return ((torch.from_numpy(pixels).float() - MEAN) / STD).permute(0, 3, 1, 2).contiguous()


class Heads(torch.nn.Module):
    """What is read off the tower while it learns."""

    def __init__(self, width):
        super().__init__()
        self.patch = torch.nn.ModuleList([torch.nn.Linear(width, SIZES[i]) for i in CLASSES])
        self.offset = torch.nn.Linear(width, 2)
        self.picture = torch.nn.Linear(width, SIZES[0] + SIZES[1] + SIZES[2] - 3)


def tower(model, pixels, places):
    """Features of the selected block, [b, 1 + patches, d]; `places` [b, patches] are the patches' numbers."""
    vision = model.model.vision_tower
    vision = getattr(vision, "vision_model", vision)
    e = vision.embeddings
    patches = e.patch_embedding(pixels).flatten(2).transpose(1, 2)
    hidden = torch.cat([e.class_embedding.expand(len(pixels), 1, -1), patches], 1)
    table = e.position_embedding.weight
    hidden = hidden + torch.cat([table[:1].expand(len(pixels), 1, -1), table[1 + places]], 1)
    hidden = vision.pre_layrnorm(hidden)
    for layer in vision.encoder.layers[:-1]:
        out = layer(hidden, attention_mask=None)
        hidden = out[0] if isinstance(out, tuple) else out
    return hidden


def crops(scenes, side, rng):
    """A window of side x side patches around some object of each scene: pixels, labels, places."""
    pixels, labels, places = [], [], []
    for scene in scenes:
        column, row = scene.cell[rng.integers(len(scene.cell))] - side // 2 + rng.integers(-3, 4, 2)
        column, row = (int(np.clip(at, 0, GRID - side)) for at in (column, row))
        window = np.s_[row * PATCH : (row + side) * PATCH, column * PATCH : (column + side) * PATCH]
        pixels.append(scene.pixels[window])
        place = (np.arange(row, row + side)[:, None] * GRID + np.arange(column, column + side)).ravel()
        labels.append(patch_labels(scene)[place])
        places.append(place)
    return np.stack(pixels), torch.from_numpy(np.stack(labels)), torch.from_numpy(np.stack(places))


def weighted(loss, on):
    """Mean over object patches plus a smaller share of the background, which would drown them."""
    return loss[on].mean() + 0.3 * loss[~on].mean()


def seeing(heads, features, labels, places):
    """Losses of the heads, and how many object patches are told rightly."""
    patches = features[:, 1:]
    on = labels[..., 0] > 0
    parts, total = {}, 0.0
    for head, index, name in zip(heads.patch, CLASSES, ("shape", "colour", "character", "size", "centre")):
        logits, target = head(patches), labels[..., index]
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none").view(target.shape)
        total = total + weighted(loss, on) * (2.0 if name in ("character", "centre") else 1.0)
        asked = on & (target > 0)
        parts[f"p_{name}"] = (logits.argmax(-1) == target)[asked].float().mean()
    own = torch.stack([places % GRID, places // GRID], -1)
    offset = (labels[..., 4:6] - 1 - own).float() / 4
    total = total + F.smooth_l1_loss(heads.offset(patches)[on], offset[on])
    present = torch.cat([F.one_hot(labels[..., i], SIZES[i])[:, :, 1:].amax(1) for i in (0, 1, 2)], -1)
    total = total + F.binary_cross_entropy_with_logits(heads.picture(features[:, 0]), present.float())
    return total, parts


def matching(model, symbols, features, labels, places):
    """Distance of the projected patches from the symbols, as a share of the symbols' variance."""
    target = symbols(labels, places).detach()
    found = model.model.multi_modal_projector(features[:, 1:])
    error = (found - target).pow(2).mean(-1) / target.var()
    return weighted(error, labels[..., 0] > 0)


def main():
    parser = arguments(argparse.ArgumentParser(description=__doc__))
    parser.add_argument("--side", type=int, default=12, help="patches per side of a crop, 24 for the whole picture")
    parser.add_argument("--init", help="state of an earlier run of this stage")
    parser.add_argument("--symbols", help="state of stage 1")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    words = Words(vocabulary(options.scenes))
    model = build(len(words.tokens) - 5)
    width = model.config.vision_config.hidden_size
    modules = dict(
        vision=model.model.vision_tower, projector=model.model.multi_modal_projector, heads=Heads(width)
    )
    if options.init:
        state = torch.load(options.init, weights_only=True)["modules"]
        for name, module in modules.items():
            module.load_state_dict(state[name])
    symbols = None
    if options.symbols:
        symbols = Symbols(model.config.text_config.hidden_size)
        symbols.load_state_dict(torch.load(options.symbols, weights_only=True)["modules"]["symbols"])
    run = Run(options, modules)
    rng = np.random.default_rng(options.seed + run.step)
    source = stream(options.scenes, options.seed + 1000, 0, first=run.seen)
    while run.unfinished():
        pixels, labels, places = crops([next(source) for _ in range(options.batch)], options.side, rng)
        features = tower(model, normalise(pixels), places)
        loss, parts = seeing(modules["heads"], features, labels, places)
        if symbols is not None:
            parts["match"] = matching(model, symbols, features, labels, places)
            loss = 0.5 * loss + 4.0 * parts["match"]
        run.update(loss, dict(loss=loss) | parts)


if __name__ == "__main__":
    main()
