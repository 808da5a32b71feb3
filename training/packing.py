"""Many questions about one picture in one sequence.

The picture comes once; each question with its answer attends to the prefix (begin, `user`, `:`, picture) and to
itself only, and its positions continue from the picture. That is exactly what a single question sees, at a
fraction of the cost.
"""

from dataclasses import dataclass

import numpy as np
import torch

from model import BOS, EOS
from scenes import GRID, KINDS

IGNORE = -100
PATCHES = GRID * GRID


@dataclass
class Packed:
    """Question tokens of a batch; the visual tokens are put before them."""

    ids: torch.Tensor  # [b, q] question and answer tokens
    labels: torch.Tensor  # [b, q] next token where it is part of an answer
    positions: torch.Tensor  # [b, q]
    segment: torch.Tensor  # [b, q] question number from 1, 0 for padding
    kind: torch.Tensor  # [b, q]


def pack(scenes, words):
    start = 3 + PATCHES
    rows = []
    for scene in scenes:
        ids, labels, positions, segment, kinds = [], [], [], [], []
        for number, (kind, text, answer) in enumerate(scene.questions, 1):
            prompt = words.question(text) + [words.index["assistant"], words.index[":"]]
            reply = words.answer(answer) + [EOS]
            ids += prompt + reply
            labels += [IGNORE] * (len(prompt) - 1) + reply + [IGNORE]
            length = len(prompt) + len(reply)
            positions += range(start, start + length)
            segment += [number] * length
            kinds += [KINDS.index(kind)] * length
        rows.append((ids, labels, positions, segment, kinds))
    width = max(len(row[0]) for row in rows)
    fills = (EOS, IGNORE, start, 0, 0)
    columns = [
        torch.from_numpy(np.array([row[i] + [fill] * (width - len(row[i])) for row in rows]))
        for i, fill in enumerate(fills)
    ]
    return Packed(*columns)


def mask(prefix, packed):
    """Additive attention mask [b, 1, n, n] for `prefix` shared tokens followed by the packed ones."""
    batch, width = packed.segment.shape
    total = prefix + width
    segment = torch.cat([torch.zeros(batch, prefix, dtype=torch.long), packed.segment], 1)
    shared = torch.zeros(batch, total, dtype=torch.bool)
    shared[:, :prefix] = True
    same = segment[:, :, None] == segment[:, None, :]
    allowed = (same | shared[:, None, :]) & torch.ones(total, total, dtype=torch.bool).tril()
    out = torch.zeros(batch, 1, total, total)
    return out.masked_fill_(~allowed[:, None], torch.finfo(torch.float32).min)


def answers(model, words, visual, places, packed):
    """Answer loss and, per question kind, right and asked answers. `places` [b, v] are patch numbers."""
    language = model.model.language_model
    batch = visual.shape[0]
    prefix = torch.tensor([BOS, words.index["user"], words.index[":"]])
    head = language.embed_tokens(prefix)[None].expand(batch, -1, -1)
    hidden = torch.cat([head, visual, language.embed_tokens(packed.ids)], 1)
    positions = torch.cat([torch.arange(3)[None].expand(batch, -1), 3 + places, packed.positions], 1)
    shared = 3 + visual.shape[1]
    out = language(
        inputs_embeds=hidden, attention_mask=mask(shared, packed),
        position_ids=positions, use_cache=False,
    ).last_hidden_state[:, shared:]
    wanted = packed.labels != IGNORE
    logits = model.lm_head(out[wanted])
    targets = packed.labels[wanted]
    loss = torch.nn.functional.cross_entropy(logits, targets)
    return loss, tally(logits.argmax(1) == targets, wanted, packed)


def tally(right, wanted, packed):
    """[kinds, 2] answers wholly right, and asked."""
    result = torch.zeros(len(KINDS), 2)
    rows, _ = wanted.nonzero(as_tuple=True)
    key = rows * 64 + packed.segment[wanted]
    _, group = key.unique(return_inverse=True)
    count = int(group.max()) + 1
    whole = torch.ones(count).scatter_reduce(0, group, right.float(), "amin")
    kind = torch.zeros(count, dtype=torch.long).scatter_(0, group, packed.kind[wanted])
    result[:, 0].scatter_add_(0, kind, whole)
    result[:, 1].scatter_add_(0, kind, torch.ones(count))
    return result
