//! Resampling against Pillow and torch.

use mico_vision::Size;
use mico_vision::resample::{ResizeBackend, resize};

use crate::fixture::{cases, check_image, image, noise, number, text};

#[test]
fn equals_pillow_and_torch_to_the_bit() {
    for case in cases("resize") {
        let backend = match text(&case, "backend") {
            "pillow" => ResizeBackend::Pillow,
            "torch" => ResizeBackend::Torch,
            other => panic!("backend {other}"),
        };
        let target = Size::new(number(&case, "width"), number(&case, "height"));
        check_image(&case, &resize(&image(text(&case, "source")), target, backend));
    }
}

#[test]
fn extreme_shapes_work() {
    for (from, to) in [
        ((1, 1), (500, 300)),
        ((1, 4000), (336, 336)),
        ((4000, 1), (336, 336)),
        ((1, 4000), (4000, 1)),
        ((3000, 2), (1, 1)),
        ((2, 2), (0, 5)),
    ] {
        let target = Size::new(to.0, to.1);
        for backend in [ResizeBackend::Pillow, ResizeBackend::Torch] {
            let out = resize(&noise(from.0, from.1), target, backend);
            assert_eq!(out.size(), Size::new(to.0.max(1), to.1), "{from:?} to {to:?}");
        }
    }
}
