"""Writes a training state as a model folder in the published layout."""

import argparse

import torch

from model import Words, build, save
from scenes import vocabulary


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", required=True, help="the generator's binary")
    parser.add_argument("--state", required=True, help="state of stage 3, or of stage 2 with --language")
    parser.add_argument("--language", help="state of stage 1, for a look before stage 3")
    parser.add_argument("--out", required=True, help="the model folder")
    options = parser.parse_args()
    words = vocabulary(options.scenes)
    model = build(len(words))
    state = torch.load(options.state, weights_only=True)["modules"]
    if options.language:
        state |= torch.load(options.language, weights_only=True)["modules"]
    model.model.language_model.load_state_dict(state["language"])
    model.lm_head.load_state_dict(state["head"])
    model.model.vision_tower.load_state_dict(state["vision"])
    model.model.multi_modal_projector.load_state_dict(state["projector"])
    save(model, words, options.out)
    print(sum(parameter.numel() for parameter in model.parameters()), "parameters")


if __name__ == "__main__":
    main()
