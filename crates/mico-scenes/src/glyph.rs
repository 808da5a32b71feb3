//! Bitmap font for the characters printed on objects.

use font8x8::UnicodeFonts as _;

/// The number of cells per side of a character's bitmap.
pub(crate) const CELLS: usize = 8;

/// Whether the character's bitmap is set at a point, given in cells from its upper left corner.
pub(crate) fn ink(character: char, x: f32, y: f32) -> bool {
    if x < 0.0 || y < 0.0 || x >= CELLS as f32 {
        return false;
    }
    let rows = font8x8::BASIC_FONTS.get(character);
    let row = rows.and_then(|rows| rows.get(y as usize).copied());
    row.is_some_and(|row| row >> (x as u32) & 1 == 1)
}
