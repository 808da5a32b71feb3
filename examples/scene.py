"""Makes `scene.png` and `patches.safetensors`: a picture, and features of its 24 x 24 patches.

The features are plain pixels (each 14 x 14 patch averaged to 4 x 4 colours, mean removed), the
reliability is the patch's share of edge energy: no model is involved, only what the selector needs.

    pip install pillow==11.3.0 numpy==2.4.6 safetensors
    python examples/scene.py
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter
from safetensors.numpy import save_file

HERE = Path(__file__).parent
SIDE, PATCH, GRID = 336, 14, 24


def picture() -> Image.Image:
    rng = np.random.default_rng(7)
    coarse = rng.uniform(0.75, 1.0, (12, 12, 3)) * np.array([150, 175, 190])
    sky = Image.fromarray(coarse.astype(np.uint8)).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(sky)
    draw.rectangle((0, 236, SIDE, SIDE), fill=(96, 122, 74))
    draw.ellipse((36, 28, 92, 84), fill=(244, 208, 92))
    draw.polygon([(168, 236), (238, 96), (308, 236)], fill=(120, 92, 84))
    draw.polygon([(215, 142), (238, 96), (261, 142), (246, 134), (236, 146), (226, 134)], fill=(240, 240, 244))
    draw.rectangle((60, 178, 138, 250), fill=(186, 74, 58))
    draw.polygon([(50, 178), (99, 138), (148, 178)], fill=(92, 48, 46))
    draw.rectangle((88, 210, 110, 250), fill=(64, 44, 36))
    for x in (70, 116):
        draw.rectangle((x, 190, x + 14, 204), fill=(236, 226, 160))
    draw.ellipse((196, 268, 226, 298), fill=(230, 92, 160))
    draw.ellipse((250, 284, 290, 324), fill=(72, 108, 214))
    return sky.filter(ImageFilter.GaussianBlur(0.6))


def patches(image: Image.Image) -> dict[str, np.ndarray]:
    pixels = np.asarray(image, dtype=np.float32) / 255
    grey = pixels.mean(axis=2)
    edges = np.abs(np.diff(grey, axis=0, prepend=grey[:1])) + np.abs(np.diff(grey, axis=1, prepend=grey[:, :1]))
    small = np.asarray(image.resize((GRID * 4, GRID * 4), Image.Resampling.BOX), dtype=np.float32) / 255
    blocks = small.reshape(GRID, 4, GRID, 4, 3).transpose(0, 2, 1, 3, 4).reshape(GRID * GRID, 48)
    energy = edges.reshape(GRID, PATCH, GRID, PATCH).sum(axis=(1, 3)).reshape(-1)
    reliability = (energy + 0.2 * energy.mean()) / (energy + 0.2 * energy.mean()).sum()
    return {
        "features": (blocks - blocks.mean(axis=0)).astype(np.float16),
        "reliability": reliability.astype(np.float32),
    }


if __name__ == "__main__":
    scene = picture()
    scene.save(HERE / "scene.png", optimize=True)
    save_file(patches(scene), HERE / "patches.safetensors")
