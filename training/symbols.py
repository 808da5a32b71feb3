"""Pictures replaced by their truth: the sum of learned vectors for what a patch shows and where."""

import numpy as np
import torch

from scenes import CHARACTERS, COLOURS, GRID, SHAPES

SIZES = [1 + len(SHAPES), 1 + len(COLOURS), 1 + len(CHARACTERS), 3, 1 + GRID, 1 + GRID, 2]


class Symbols(torch.nn.Module):
    """Vectors of a patch's labels and of its own place; shapes, colours and characters are the words' own."""

    def __init__(self, words, table):
        super().__init__()
        width = table.weight.shape[1]
        self.labels = torch.nn.ModuleList([torch.nn.Embedding(size, width) for size in SIZES])
        self.row = torch.nn.Embedding(GRID, width)
        self.column = torch.nn.Embedding(GRID, width)
        for vectors in self.parameters():
            torch.nn.init.normal_(vectors, std=0.25)
        self.names = [
            torch.tensor([words.index[name] for name in names]) for names in (SHAPES, COLOURS, CHARACTERS)
        ]

    def forward(self, labels, places, table):
        total = self.row(places // GRID) + self.column(places % GRID)
        for index, own in enumerate(self.labels):
            label = labels[..., index]
            total = total + own(label)
            if index < len(self.names):
                word = table(self.names[index][(label - 1).clamp(min=0)])
                total = total + word * (label > 0)[..., None]
        return total


def sample(labels, count, rng):
    """A choice of patches: every centre, some patches of objects, the rest from the background."""
    centres = np.flatnonzero(labels[:, 6])
    others = rng.permutation(np.flatnonzero((labels[:, 0] > 0) & (labels[:, 6] == 0)))
    ground = rng.permutation(np.flatnonzero(labels[:, 0] == 0))
    objects = others[: max(0, rng.integers(count // 4, count // 2 + 1))]
    chosen = np.concatenate([centres, objects, ground])[:count]
    return np.sort(chosen)
