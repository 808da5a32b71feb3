"""Scenes from the generator (`crates/mico-scenes`), as arrays."""

import json
import struct
import subprocess
from dataclasses import dataclass

import numpy as np

SIDE = 336
GRID = 24
PATCH = SIDE // GRID
SHAPES = ["circle", "square", "triangle", "star", "cross", "diamond"]
COLOURS = ["red", "green", "blue", "yellow", "purple", "orange", "white", "black"]
CHARACTERS = list("ACEHKPTX2457")
KINDS = ["existence", "colour", "shape", "compare", "count", "read", "region", "locate", "relation"]


def vocabulary(binary):
    """The words of all questions and answers, in the generator's order."""
    return subprocess.run([binary, "vocabulary"], check=True, capture_output=True, text=True).stdout.split()


@dataclass
class Scene:
    """One scene: per-patch labels (0 is the background or no character) and its questions."""

    object: np.ndarray  # [576] index of the object on the patch, -1 for none
    shape: np.ndarray  # [objects] 1-based
    colour: np.ndarray
    character: np.ndarray  # 0 for none
    large: np.ndarray  # 0 or 1
    cell: np.ndarray  # [objects, 2] column and row of the patch under the centre
    questions: list  # (kind, text, answer)
    pixels: np.ndarray | None


def stream(binary, seed, questions, pixels=True, first=0, count=1 << 40):
    """Endless scenes of the training split."""
    command = [binary, "stream", str(seed), str(first), str(count), str(questions)]
    if not pixels:
        command.append("--no-pixels")
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=1 << 22) as process:
        try:
            while head := process.stdout.read(4):
                contents = json.loads(process.stdout.read(struct.unpack("<I", head)[0]))
                image = None
                if pixels:
                    raw = process.stdout.read(SIDE * SIDE * 3)
                    image = np.frombuffer(raw, np.uint8).reshape(SIDE, SIDE, 3)
                yield parse(contents, image)
        finally:
            process.kill()


def parse(contents, pixels):
    objects = contents["objects"]
    return Scene(
        object=np.array(contents["patches"], np.int64),
        shape=np.array([1 + SHAPES.index(o["shape"]) for o in objects]),
        colour=np.array([1 + COLOURS.index(o["colour"]) for o in objects]),
        character=np.array([1 + CHARACTERS.index(o["character"]) if o["character"] else 0 for o in objects]),
        large=np.array([int(o["large"]) for o in objects]),
        cell=np.array([[int(o["x"]) // PATCH, int(o["y"]) // PATCH] for o in objects]),
        questions=[(q["kind"], q["text"], q["answer"]) for q in contents["questions"]],
        pixels=pixels,
    )


def patch_labels(scene):
    """Columns shape, colour, character, large (1 or 2), centre column, centre row (1-based), is-centre: [576, 7]."""
    labels = np.zeros((GRID * GRID, 7), np.int64)
    on = scene.object >= 0
    which = scene.object[on]
    labels[on, 0] = scene.shape[which]
    labels[on, 1] = scene.colour[which]
    labels[on, 2] = scene.character[which]
    labels[on, 3] = 1 + scene.large[which]
    labels[on, 4:6] = 1 + scene.cell[which]
    centres = scene.cell[:, 1] * GRID + scene.cell[:, 0]
    labels[centres, 6] = on[centres]
    return labels


def focus(scene, kinds, rng):
    """Drops two thirds of the questions that are of none of the given kinds."""
    if kinds:
        scene.questions = [q for q in scene.questions if q[0] in kinds or rng.random() < 1 / 3]
    return scene
