"""Stage 1: the decoder learns to bind attributes to objects, on symbols in place of pictures."""

import argparse

import numpy as np
import torch

from model import Words, build
from packing import answers, pack
from run import Run, arguments
from scenes import focus, patch_labels, stream, vocabulary
from symbols import Symbols, sample


def main():
    parser = arguments(argparse.ArgumentParser(description=__doc__))
    parser.add_argument("--patches", type=int, default=40, help="visual tokens per scene; 576 for all")
    parser.add_argument("--init", help="state of an earlier run of this stage")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    words = Words(vocabulary(options.scenes))
    model = build(len(words.tokens) - 5)
    table = model.model.language_model.embed_tokens
    symbols = Symbols(words, table)
    modules = dict(language=model.model.language_model, head=model.lm_head, symbols=symbols)
    if options.init:
        state = torch.load(options.init, weights_only=True)["modules"]
        for name, module in modules.items():
            module.load_state_dict(state[name])
    run = Run(options, modules)
    rng = np.random.default_rng(options.seed + run.step)
    source = stream(options.scenes, options.seed, options.questions, pixels=False, first=run.seen)
    while run.unfinished():
        scenes = [focus(next(source), options.focus, rng) for _ in range(options.batch)]
        labels = [patch_labels(scene) for scene in scenes]
        places = np.stack([sample(each, options.patches, rng) for each in labels])
        chosen = torch.from_numpy(np.stack([each[place] for each, place in zip(labels, places)]))
        places = torch.from_numpy(places)
        visual = symbols(chosen, places, table)
        loss, tally = answers(model, words, visual, places, pack(scenes, words))
        run.update(loss, dict(loss=loss), tally)


if __name__ == "__main__":
    main()
