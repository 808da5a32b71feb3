"""Stage 3: tower, projector and decoder together, on pictures with all their patches."""

import argparse

import numpy as np
import torch

from model import Words, build
from packing import PATCHES, answers, pack
from run import Run, arguments
from scenes import focus, stream, vocabulary
from stage2_tower import Heads, seeing, tower, whole


def main():
    parser = arguments(argparse.ArgumentParser(description=__doc__))
    parser.add_argument("--language", required=True, help="state with the decoder: stage 1, or an earlier stage 3")
    parser.add_argument("--vision", required=True, help="state with the tower: stage 2, or an earlier stage 3")
    parser.add_argument("--seeing", type=float, default=0.1, help="weight of stage 2's losses, which keep the tower sharp")
    parser.add_argument("--tower-rate", type=float, default=1.0, help="the tower's share of the learning rate")
    parser.add_argument("--decoder-rate", type=float, default=1.0, help="the decoder's share of the learning rate")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    words = Words(vocabulary(options.scenes))
    model = build(len(words.tokens) - 5)
    heads = Heads(model.config.vision_config.hidden_size)
    modules = dict(
        language=model.model.language_model, head=model.lm_head, vision=model.model.vision_tower,
        projector=model.model.multi_modal_projector, heads=heads,
    )
    for path, names in ((options.language, ("language", "head")), (options.vision, ("vision", "projector", "heads"))):
        state = torch.load(path, weights_only=True)["modules"]
        for name in names:
            modules[name].load_state_dict(state[name])
    rates = dict(vision=options.tower_rate, language=options.decoder_rate, head=options.decoder_rate)
    run = Run(options, modules, rates)
    rng = np.random.default_rng(options.seed + run.step)
    source = stream(options.scenes, options.seed + 2000, options.questions, first=run.seen)
    every = torch.arange(PATCHES)[None].expand(options.batch, -1)
    while run.unfinished():
        scenes = [focus(next(source), options.focus, rng) for _ in range(options.batch)]
        pixels, labels, places = whole(scenes)
        features = tower(model, pixels, places)
        visual = model.model.multi_modal_projector(features[:, 1:])
        loss, tally = answers(model, words, visual, every, pack(scenes, words))
        aside, parts = seeing(heads, features, labels, places)
        run.update(loss + options.seeing * aside, dict(loss=loss, seeing=aside) | parts, tally)


if __name__ == "__main__":
    main()
