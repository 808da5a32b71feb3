//! The InternVL processor against transformers, its layout, and what is refused.

use mico_vision::Size;
use mico_vision::internvl::{InternVl, TileLimits, TileShape};
use mico_vision::layout::{GroupKind, Region};
use mico_vision::normalize::Normalize;
use mico_vision::preprocessor_config::{PreprocessorConfig, TileCount};
use mico_vision::resample::ResizeBackend;

use crate::fixture::{cases, check_floats, config, image, noise, number, shape, text};

const TOY: TileShape = TileShape { side: 28, patch: 7, shuffle: 2 };

fn toy(limits: TileLimits, thumbnail: bool) -> InternVl {
    InternVl::from_config(&PreprocessorConfig::internvl(28), TOY, limits, thumbnail).unwrap()
}

#[test]
fn pixels_equal_transformers_to_the_bit() {
    for case in cases("internvl") {
        let config = config(&case);
        let side = u32::try_from(shape(&case)[2]).unwrap();
        let (patch, shuffle) = (number(&case, "patch"), number(&case, "shuffle"));
        let limits = TileLimits::PROCESSOR.unless_stated(config.tiles);
        let shape_of_tiles = TileShape { side, patch, shuffle };
        let processor = InternVl::from_config(&config, shape_of_tiles, limits, true).unwrap();
        let out = processor.process(&image(text(&case, "source"))).unwrap();
        assert_eq!(shape(&case), out.shape, "{case}");
        check_floats(&case, &out.pixels);
        assert_eq!(out.layout.len(), number(&case, "tokens") as usize, "{case}");
        assert_eq!(out.layout.groups().len(), out.shape[0], "{case}");
    }
}

#[test]
fn grids_equal_transformers_also_where_two_fit_alike() {
    let mut counted = 0;
    for case in cases("internvl_grids") {
        let numbers: Vec<u32> = case
            .as_array()
            .unwrap()
            .iter()
            .map(|number| u32::try_from(number.as_u64().unwrap()).unwrap())
            .collect();
        let [max, min, side, width, height, columns, rows] = numbers[..] else { panic!("{case}") };
        let shape = TileShape { side, patch: side / 4, shuffle: 4 };
        let config = PreprocessorConfig::internvl(side);
        let limits = TileLimits { min, max };
        let processor = InternVl::from_config(&config, shape, limits, false).unwrap();
        let layout = processor.layout(Size::new(width, height)).unwrap();
        // One token per tile: the last tile tells the size of the grid.
        let last = layout.groups().last().map(|group| group.kind).unwrap();
        let found = match last {
            GroupKind::Whole => (1, 1),
            GroupKind::Tile { row, column } => (column + 1, row + 1),
            other => panic!("{other:?}"),
        };
        assert_eq!(found, (columns as usize, rows as usize), "{case}");
        assert_eq!(layout.len(), (columns * rows) as usize, "{case}");
        counted += 1;
    }
    assert!(counted > 500);
}

#[test]
fn tiles_come_row_by_row_and_the_thumbnail_last() {
    let layout = toy(TileLimits::PAPER, true).layout(Size::new(300, 200)).unwrap();
    let kinds: Vec<GroupKind> = layout.groups().iter().map(|group| group.kind).collect();
    let tile = |row, column| GroupKind::Tile { row, column };
    let tiles = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)].map(|(r, c)| tile(r, c));
    assert_eq!(kinds, [&tiles[..], &[GroupKind::Thumbnail]].concat());
    assert_eq!(layout.group_sizes(), [4; 7]);
    // Tokens are 50 x 50 in a tile of 100 x 100, and 150 x 100 in the thumbnail.
    let first = Region { x0: 0.0, y0: 0.0, x1: 50.0, y1: 50.0 };
    assert_eq!(layout.region(0), first);
    assert_eq!(layout.region(5), Region { x0: 150.0, y0: 0.0, x1: 200.0, y1: 50.0 });
    assert_eq!(layout.region(23), Region { x0: 250.0, y0: 150.0, x1: 300.0, y1: 200.0 });
    assert_eq!(layout.region(27), Region { x0: 150.0, y0: 100.0, x1: 300.0, y1: 200.0 });
    let without = toy(TileLimits::PAPER, false).layout(Size::new(300, 200)).unwrap();
    assert_eq!(without.groups().len(), 6);
}

#[test]
fn a_single_tile_is_the_whole_image() {
    for image in [Size::new(28, 28), Size::new(1, 1)] {
        let layout = toy(TileLimits::PROCESSOR, true).layout(image).unwrap();
        assert_eq!((layout.groups().len(), layout.groups()[0].kind), (1, GroupKind::Whole));
    }
    let one = TileLimits { min: 1, max: 1 };
    assert_eq!(toy(one, true).process(&noise(90, 30)).unwrap().shape, [1, 3, 28, 28]);
}

#[test]
fn published_counts() {
    let shape = TileShape { side: 448, patch: 14, shuffle: 2 };
    let config = PreprocessorConfig::internvl(448);
    let tokens = |limits| {
        let processor = InternVl::from_config(&config, shape, limits, true).unwrap();
        processor.layout(Size::new(640, 480)).unwrap().len()
    };
    assert_eq!(tokens(TileLimits::PROCESSOR), 13 * 256);
    assert_eq!(tokens(TileLimits::PAPER), 7 * 256);
}

#[test]
fn a_files_limits_are_heard() {
    let text = r#"{"min_patches": 2, "max_patches": 3}"#;
    let stated = PreprocessorConfig::parse(text).unwrap().tiles;
    let limits = TileLimits::PROCESSOR.unless_stated(stated);
    assert_eq!(limits, TileLimits { min: 2, max: 3 });
    assert_eq!(TileLimits::PAPER.unless_stated(TileCount::default()), TileLimits::PAPER);
    let layout = toy(limits, true).layout(Size::new(1, 1)).unwrap();
    assert_eq!(layout.groups().len(), 3, "two tiles at least, and the thumbnail");
}

#[test]
fn wrong_parameters_are_named() {
    let new = |shape, limits| {
        let backend = ResizeBackend::Pillow;
        InternVl::new(shape, limits, true, Normalize::IMAGENET, backend).unwrap_err().to_string()
    };
    let limits = TileLimits::PAPER;
    let cases = [
        (TileShape { side: 0, ..TOY }, "image_size is 0: accepted is 1 to 4096"),
        (TileShape { patch: 0, ..TOY }, "patch_size is 0: accepted is what divides"),
        (
            TileShape { patch: 9, ..TOY },
            "patch_size is 9: accepted is what divides the tile side 28",
        ),
        (
            TileShape { shuffle: 3, ..TOY },
            "pixel shuffle is 3: accepted is what divides the 4 patches",
        ),
        (TileShape { shuffle: 0, ..TOY }, "pixel shuffle is 0"),
    ];
    for (shape, expected) in cases {
        let found = new(shape, limits);
        assert!(found.starts_with(expected), "{found}");
    }
    for (min, max, expected) in [
        (1, 0, "max_patches is 0: accepted is 1 to 128"),
        (1, 129, "max_patches is 129: accepted is 1 to 128"),
        (0, 6, "min_patches is 0: accepted is 1 to max_patches = 6"),
        (7, 6, "min_patches is 7: accepted is 1 to max_patches = 6"),
    ] {
        assert_eq!(new(TOY, TileLimits { min, max }), expected);
    }
    let large = TileShape { side: 4096, patch: 1024, shuffle: 2 };
    let backend = ResizeBackend::Pillow;
    let many = TileLimits { min: 1, max: 6 };
    let large = InternVl::new(large, many, true, Normalize::IMAGENET, backend).unwrap();
    assert!(large.layout(Size::new(100, 100)).is_ok());
    let error = large.process(&noise(300, 200)).unwrap_err().to_string();
    assert_eq!(error, "max_patches is 6: accepted is what gives at most 268435456 pixel values");
}

#[test]
fn files_that_describe_something_else_are_refused() {
    for (text, parameter) in [
        (r#"{"size": {"height": 30, "width": 28}}"#, "size"),
        (r#"{"size": 28, "crop_size": 24}"#, "crop_size"),
        (r#"{"size": {"height": 28, "width": 28}, "do_resize": false}"#, "do_resize"),
        (r#"{"size": {"height": 28, "width": 28}, "do_pad": true}"#, "do_pad"),
        (r#"{"size": {"height": 28, "width": 28}, "patch_size": 14}"#, "patch_size"),
        (r#"{"size": {"shortest_edge": 56, "longest_edge": 9999}}"#, "min_pixels"),
        (
            r#"{"size": {"height": 28, "width": 28}, "image_grid_pinpoints": [[28, 56]]}"#,
            "image_grid_pinpoints",
        ),
    ] {
        let config = PreprocessorConfig::parse(text).unwrap();
        let error = InternVl::from_config(&config, TOY, TileLimits::PAPER, true).unwrap_err();
        assert_eq!(error.parameter, parameter, "{error}");
    }
}
