"""What every stage shares: threads, schedule, checkpoints that survive an interruption, a log."""

import json
import math
import os
import time
from pathlib import Path

import torch

from scenes import KINDS


def arguments(parser):
    parser.add_argument("--scenes", required=True, help="the generator's binary")
    parser.add_argument("--out", required=True, help="folder for checkpoints and the log")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True, help="pictures per step")
    parser.add_argument("--questions", type=int, default=16, help="questions per picture")
    parser.add_argument("--focus", nargs="*", default=[], help="kinds of questions of which none is left out")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=100)
    parser.add_argument("--final", type=float, default=0.05, help="last learning rate as a share of the first")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--every", type=int, default=50, help="steps between log lines")
    return parser


class Run:
    """Optimiser, schedule and checkpoint of one stage."""

    def __init__(self, options, modules, rates=None):
        torch.set_num_threads(options.threads)
        self.options, self.modules = options, modules
        self.folder = Path(options.out)
        self.folder.mkdir(parents=True, exist_ok=True)
        groups = []
        for name, module in modules.items():
            rate = (rates or {}).get(name, 1.0)
            for decay in (0.02, 0.0):
                chosen = [p for p in module.parameters() if p.requires_grad and (p.dim() >= 2) == (decay > 0)]
                groups.append(dict(params=chosen, weight_decay=decay, scale=rate))
        self.optimiser = torch.optim.AdamW(groups, lr=options.rate, betas=(0.9, 0.98))
        self.step, self.sums, self.tallies, self.since = 0, {}, torch.zeros(len(KINDS), 2), time.time()
        if self.path.exists():
            state = torch.load(self.path, weights_only=True)
            for name, module in modules.items():
                module.load_state_dict(state["modules"][name])
            self.optimiser.load_state_dict(state["optimiser"])
            self.step = state["step"]

    @property
    def path(self):
        return self.folder / "state.pt"

    @property
    def seen(self):
        """Pictures used so far: where the stream of scenes goes on."""
        return self.step * self.options.batch

    def unfinished(self):
        return self.step < self.options.steps

    def update(self, loss, parts, tally=None):
        o = self.options
        progress = self.step / o.steps
        rate = o.rate * min(1, (self.step + 1) / o.warmup)
        rate *= o.final + (1 - o.final) * 0.5 * (1 + math.cos(math.pi * progress))
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["scale"]
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        parameters = [p for group in self.optimiser.param_groups for p in group["params"]]
        norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        if torch.isfinite(norm):
            self.optimiser.step()
        self.step += 1
        for name, value in parts.items():
            self.sums[name] = self.sums.get(name, 0.0) + float(value.detach())
        if tally is not None:
            self.tallies += tally
        if self.step % o.every == 0:
            self.log(rate)
        if self.step % (10 * o.every) == 0 or self.step == o.steps:
            self.save()

    def log(self, rate):
        o = self.options
        line = dict(step=self.step, rate=round(rate, 6), seconds=round((time.time() - self.since) / o.every, 3))
        line |= {name: round(value / o.every, 4) for name, value in self.sums.items()}
        if self.tallies[:, 1].sum() > 0:
            share = self.tallies[:, 0] / self.tallies[:, 1].clamp(min=1)
            line |= {kind: round(float(value), 3) for kind, value in zip(KINDS, share)}
        print(json.dumps(line), flush=True)
        with open(self.folder / "log.jsonl", "a") as log:
            log.write(json.dumps(line) + "\n")
        self.sums, self.tallies, self.since = {}, torch.zeros(len(KINDS), 2), time.time()

    def save(self):
        state = dict(
            modules={name: module.state_dict() for name, module in self.modules.items()},
            optimiser=self.optimiser.state_dict(), step=self.step,
        )
        torch.save(state, self.path.with_suffix(".new"))
        os.replace(self.path.with_suffix(".new"), self.path)
