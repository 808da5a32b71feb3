"""The letters of MiCo's pictures: DejaVu Sans, cut down to the scripts that are set letter by letter.

Usage: npm pack dejavu-fonts-ttf@2.37.3 && tar xzf dejavu-fonts-ttf-2.37.3.tgz
       pip install fonttools==4.60.1
       python3 crates/mico-chart/font/subset.py package/ttf/DejaVuSans.ttf crates/mico-chart/font/DejaVuSans-subset.ttf

A second run gives the same bytes. Hinting is left out, because letters are drawn as outlines, and so are the tables of complex scripts,
because letters are set one after the other; pairs are kerned by the `kern` table. The licence is in LICENSE beside this script.
"""

import hashlib
import sys
from pathlib import Path

from fontTools import subset, version
from fontTools.ttLib import TTFont

FONTTOOLS = "4.60.1"
SOURCE_SHA256 = "7da195a74c55bef988d0d48f9508bd5d849425c1770dba5d7bfc6ce9ed848954"
MOST_BYTES = 400_000

# Everything but scripts that would need shaping or have too few readers here: those draw as the replacement.
LEFT_OUT = [
    (0x0300, 0x036F),  # combining marks, which are not placed
    (0x0590, 0x07FF),  # Hebrew, Arabic, N'Ko: written from right to left
    (0x1400, 0x16FF),  # Canadian syllabics, Ogham
    (0x1D00, 0x1DFF),  # phonetic letters
    (0x2C60, 0x2C7F), (0x2D30, 0x2D7F), (0x4DC0, 0x4DFF), (0xA000, 0xABFF),  # Tifinagh, hexagrams, Lisu
    (0xE000, 0xF8FF),  # private use
    (0xFB13, 0xFEFE),  # presentation forms of Armenian, Hebrew and Arabic, variation selectors
    (0x10000, 0x10FFFF),  # Old Italic, mathematical letters, dominoes, faces
]


def main(source, target):
    if version != FONTTOOLS:
        sys.exit(f"fonttools {version}: accepted is {FONTTOOLS}")
    data = Path(source).read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != SOURCE_SHA256:
        sys.exit(f"{source}: SHA-256 {found}, expected is {SOURCE_SHA256}")
    options = subset.Options()
    options.hinting = False
    options.layout_features = []
    options.legacy_kern = True
    options.notdef_outline = True
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
    options.name_languages = [0x409]
    options.drop_tables += ["FFTM", "GDEF", "GPOS", "GSUB", "MATH", "gasp"]
    options.recalc_timestamp = False
    font = TTFont(source, recalcTimestamp=False)
    cutter = subset.Subsetter(options)
    left_out = lambda code: any(first <= code <= last for first, last in LEFT_OUT)
    cutter.populate(unicodes=[code for code in font.getBestCmap() if not left_out(code)])
    cutter.subset(font)
    font.save(target)
    size = Path(target).stat().st_size
    print(f"{len(font.getBestCmap())} characters, {size} bytes")
    if size >= MOST_BYTES:
        sys.exit(f"{target}: {size} bytes, at most {MOST_BYTES} are accepted")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
