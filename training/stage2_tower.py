"""Stage 2: the tower learns to see, on windows of 8 x 8 patches around objects and then on whole pictures (24 x 24).

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
    """[b, h, w, 3] of 0..255 to what the tower takes."""
    return ((torch.from_numpy(pixels).float() - MEAN) / STD).permute(0, 3, 1, 2).contiguous()


def whiten(model, source):
    """Sets the patch embedding to the pictures' principal components, each brought to about unit variance.

    Random filters see little but a patch's mean colour; edges and strokes are what shapes and characters are read from.
    """
    pixels, labels, _ = whole([next(source) for _ in range(48)])
    on = (labels[..., 0] > 0).flatten()
    patches = F.unfold(pixels, PATCH, stride=PATCH).transpose(1, 2).flatten(0, 1)
    patches = torch.cat([patches[on], patches[~on][:: max(1, int((~on).sum() / on.sum()))]])
    centred = patches - patches.mean(0)
    values, vectors = torch.linalg.eigh(centred.T @ centred / len(centred))
    weight = tower_of(model).embeddings.patch_embedding.weight
    width = weight.shape[0]
    filters = vectors[:, -width:].T / (values[-width:, None] + 0.05).sqrt()
    with torch.no_grad():
        mix = torch.linalg.qr(torch.randn(width, width))[0]
        weight.copy_((mix @ filters).view_as(weight))


def tower_of(model):
    vision = model.model.vision_tower
    return getattr(vision, "vision_model", vision)


class Heads(torch.nn.Module):
    """What is read off the tower while it learns."""

    def __init__(self, width):
        super().__init__()
        self.patch = torch.nn.ModuleList([torch.nn.Linear(width, SIZES[i]) for i in CLASSES])
        self.offset = torch.nn.Linear(width, 2)
        self.picture = torch.nn.Linear(width, SIZES[0] + SIZES[1] + SIZES[2] - 3)


def tower(model, pixels, places):
    """Features of the selected block, [b, 1 + patches, d]; `places` [b, patches] are numbers in the 24 x 24 raster."""
    vision = tower_of(model)
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


def whole(scenes):
    """Pixels, labels and places of whole pictures."""
    pixels = np.stack([scene.pixels for scene in scenes])
    labels = np.stack([patch_labels(scene) for scene in scenes])
    return normalise(pixels), torch.from_numpy(labels), torch.arange(GRID * GRID)[None].expand(len(scenes), -1)


def windows(scenes, side, rng):
    """The same of one window of `side` x `side` patches around each object, which it lies anywhere in."""
    numbers = np.arange(GRID * GRID).reshape(GRID, GRID)
    pixels, labels, places = [], [], []
    for scene in scenes:
        truth = patch_labels(scene)
        for column, row in scene.cell:
            left, top = (int(np.clip(at - rng.integers(2, side - 2), 0, GRID - side)) for at in (column, row))
            chosen = numbers[top : top + side, left : left + side].flatten()
            pixels.append(scene.pixels[top * PATCH : (top + side) * PATCH, left * PATCH : (left + side) * PATCH])
            labels.append(truth[chosen])
            places.append(chosen)
    return normalise(np.stack(pixels)), torch.from_numpy(np.stack(labels)), torch.from_numpy(np.stack(places))


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
    own = torch.stack([places % GRID, places // GRID], -1).float()
    offset = (labels[..., 4:6] - 1 - own) / 4
    total = total + F.smooth_l1_loss(heads.offset(patches)[on], offset[on])
    present = torch.cat([F.one_hot(labels[..., i], SIZES[i])[:, :, 1:].amax(1) for i in (0, 1, 2)], -1)
    total = total + F.binary_cross_entropy_with_logits(heads.picture(features[:, 0]), present.float())
    return total, parts


def matching(model, symbols, features, labels, places):
    """Distance of the projected patches from the symbols, as a share of the symbols' variance."""
    with torch.no_grad():
        target = symbols(labels, places, model.model.language_model.embed_tokens)
    found = model.model.multi_modal_projector(features[:, 1:])
    error = (found - target).pow(2).mean(-1) / target.var()
    return weighted(error, labels[..., 0] > 0)


def main():
    parser = arguments(argparse.ArgumentParser(description=__doc__))
    parser.add_argument("--window", type=int, default=GRID, help="patches per side of the windows; whole pictures if left out")
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
    else:
        whiten(model, stream(options.scenes, options.seed + 500, 0))
    symbols = None
    if options.symbols:
        state = torch.load(options.symbols, weights_only=True)["modules"]
        model.model.language_model.load_state_dict(state["language"])
        symbols = Symbols(words, model.model.language_model.embed_tokens)
        symbols.load_state_dict(state["symbols"])
    run = Run(options, modules)
    rng = np.random.default_rng(options.seed + run.step)
    source = stream(options.scenes, options.seed + 1000, 0, first=run.seen)
    while run.unfinished():
        scenes = [next(source) for _ in range(options.batch)]
        pixels, labels, places = whole(scenes) if options.window == GRID else windows(scenes, options.window, rng)
        features = tower(model, pixels, places)
        loss, parts = seeing(modules["heads"], features, labels, places)
        if symbols is not None:
            parts["match"] = matching(model, symbols, features, labels, places)
            loss = 0.5 * loss + 4.0 * parts["match"]
        run.update(loss, dict(loss=loss) | parts)


if __name__ == "__main__":
    main()
