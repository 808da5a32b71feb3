//! What a vision side holds in memory while it works on one image, as an upper bound from sizes alone.

use super::vit::VitConfig;
use crate::vision::vit::VIEWS_AT_ONCE;

/// Rows whose activations a packed product repacks at a time.
const SLAB_ROWS: usize = crate::matmul::SLAB_ROWS;

/// The sizes that decide what a vision side holds while it encodes one image or video.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VisionWork {
    /// Values of the tower's input.
    pub pixels: usize,
    /// Rows (patches and class tokens) of the whole image.
    pub rows: usize,
    /// Those that go through the tower's blocks together.
    pub rows_at_once: usize,
    /// Width of the tower's residual stream.
    pub width: usize,
    /// Inner width of the tower's MLP.
    pub inner: usize,
    /// Rows that the projector takes.
    pub projected: usize,
    /// Width of a row that the projector takes.
    pub joined: usize,
    /// Embeddings per visual token: one, and one for each layer that is added inside the decoder.
    pub outputs: usize,
}

impl VisionWork {
    /// The work of a tower with a fixed input size on so many views, before a projector that takes
    /// `projected` rows of `joined` values.
    pub fn of_views(tower: &VitConfig, views: usize, projected: usize, joined: usize) -> Self {
        Self {
            pixels: views * 3 * tower.image_size.pow(2),
            rows: views * tower.tokens(),
            rows_at_once: views.min(VIEWS_AT_ONCE) * tower.tokens(),
            width: tower.hidden_size,
            inner: tower.intermediate_size,
            projected,
            joined,
            outputs: 1,
        }
    }

    /// Bytes that exist at most while the image is encoded and projected to `output` values per token, pixels
    /// and results included, in f32: the largest of three moments.
    ///
    /// When patches are embedded: pixels, a copy of them in patches, and the embeddings. In a block: the residual
    /// stream, its norm, queries, keys and values before and after they are split into heads, packed keys and two
    /// copies of the result; or the stream twice, norm, result and the MLP's inner values twice; beside that the
    /// features of all views, and the pixels of those that still wait. In the projector: features, joined
    /// rows, inner and output values.
    pub fn bytes(&self, output: usize) -> u64 {
        let Self { pixels, rows, rows_at_once, width, inner, projected, joined, outputs } = *self;
        let waiting = if rows_at_once < rows { pixels } else { 0 };
        let embedding = pixels + waiting + 2 * rows_at_once * width;
        let slab = |rows: usize, width: usize| SLAB_ROWS.min(rows) * width;
        let row = (11 * width).max(5 * width + 2 * inner);
        let block = rows_at_once * row + slab(rows_at_once, inner.max(width));
        let blocks = waiting + block + outputs * rows * width;
        let joining = projected * (joined + joined.max(output) + outputs * output);
        let projector =
            (outputs + 1) * rows * width + joining + slab(projected, joined.max(output));
        (size_of::<f32>() * embedding.max(blocks).max(projector)) as u64
    }
}
