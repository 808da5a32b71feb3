"""The letters of MiCo's pictures: DejaVu Sans, cut down to what charts and captions write.

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
MOST_BYTES = 150_000

RANGES = [
    (0x0020, 0x007E),  # Latin: letters, digits, punctuation
    (0x00A0, 0x017F),  # Latin-1, Latin Extended-A
    (0x0192, 0x0192), (0x01CD, 0x01DC), (0x0218, 0x021B),  # florin, pinyin, Romanian
    (0x02C6, 0x02DD),  # spacing accents
    (0x0384, 0x03CE),  # Greek
    (0x0400, 0x045F), (0x0490, 0x0491),  # Cyrillic
    (0x1EA0, 0x1EF9),  # Vietnamese
    (0x2010, 0x2027), (0x2030, 0x205E),  # dashes, quotation marks, bullets, ellipsis, primes
    (0x2070, 0x208E),  # superscripts and subscripts
    (0x20AC, 0x20AC), (0x2116, 0x2116), (0x2122, 0x2122), (0x2126, 0x2126),  # euro, numero, trade mark, ohm
    (0x2150, 0x215E),  # fractions
    (0x2190, 0x2199), (0x21D0, 0x21D4),  # arrows
    (0x2200, 0x222E), (0x2234, 0x2237), (0x223C, 0x223C), (0x2243, 0x224B),  # mathematics
    (0x2260, 0x2265), (0x226A, 0x226B), (0x2282, 0x2287), (0x2295, 0x2297), (0x22A5, 0x22A5), (0x22C5, 0x22C5),
    (0x2308, 0x230B),  # ceiling and floor
    (0x2460, 0x2473),  # circled numbers
    (0x2500, 0x257F), (0x2580, 0x2593),  # boxes and blocks
    (0x25A0, 0x25D1), (0x25E6, 0x25E6),  # geometric shapes
    (0x2605, 0x2606), (0x2610, 0x2612), (0x2639, 0x263B), (0x2660, 0x2667), (0x266A, 0x266F),  # stars, ballot boxes, faces, suits
    (0x2713, 0x2718), (0x2764, 0x2764), (0x27F6, 0x27F6),  # ticks, crosses, heart, long arrow
    (0xFB00, 0xFB04),  # ligatures that texts may hold already
    (0xFFFD, 0xFFFD),  # what stands for a character that is not here
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
    cutter.populate(unicodes=[code for first, last in RANGES for code in range(first, last + 1)])
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
