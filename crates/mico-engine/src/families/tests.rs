//! What every family must keep to, and where they differ.

use mico_model::ARCHITECTURES;
use mico_vision::RgbImage;
use mico_vision::llava::NextPacking;
use mico_vision::llava_video::RowEnd;

use super::*;
use crate::preprocess::{ImageLimits, Preprocessor};
use crate::schedule::ModelSchedule;
use crate::switches::SWITCHES;

fn spec(name: &str) -> &'static FamilySpec {
    FAMILIES.iter().copied().find(|spec| spec.name() == name).unwrap()
}

/// A family's processor for its first published model.
fn processor(spec: &FamilySpec, switches: &str, limits: ImageLimits) -> Result<Preprocessor> {
    let config = spec.architecture.presets[0].config();
    let preprocessing = spec.default_preprocessing(&config).unwrap();
    Preprocessor::new(spec, &config, &preprocessing, &switches.parse().unwrap(), &limits)
}

#[test]
fn every_architecture_has_its_family_and_every_name_is_one() {
    for architecture in ARCHITECTURES {
        assert!(FamilySpec::find(Family::of(architecture)).is_ok(), "{architecture:?}");
    }
    for (index, spec) in FAMILIES.iter().enumerate() {
        assert!(FAMILIES[..index].iter().all(|other| other.name() != spec.name()), "{spec:?}");
    }
    for preset in FamilySpec::presets() {
        assert_eq!(FamilySpec::preset(preset.name).unwrap().0.name(), preset.family().name());
    }
}

#[test]
fn a_layout_needs_no_pixels() {
    for spec in FAMILIES {
        let processor = processor(spec, "", ImageLimits::default()).unwrap();
        let frames = if spec.traits().takes_video { 3 } else { 1 };
        for size in [Size::new(640, 480), Size::new(97, 311), Size::new(1, 1)] {
            let pictures = vec![RgbImage::filled(size, [7, 70, 200]); frames];
            for prunes in [false, true] {
                let packing = spec.packing(&Switches::default(), prunes);
                let processed = processor.process(&pictures, packing).unwrap().layout;
                let layout = processor.layout(&vec![size; frames], packing).unwrap();
                assert_eq!(layout, processed, "{spec:?} {size}");
            }
        }
    }
}

#[test]
fn pictures_come_one_by_one_but_for_video() {
    for spec in FAMILIES {
        let processor = processor(spec, "", ImageLimits::default()).unwrap();
        let two = processor.layout(&[Size::square(64); 2], Packing::PLAIN);
        assert_eq!(two.is_ok(), spec.traits().takes_video, "{spec:?}");
    }
}

#[test]
fn every_switch_and_limit_is_some_familys_and_refused_by_the_others() {
    for switch in SWITCHES {
        let other = switch.words()[1];
        let set = format!("{}={other}", switch.name);
        let mut owners = 0;
        for spec in FAMILIES {
            let owns = switch.is_common || spec.switches.iter().any(|s| s.name == switch.name);
            owners += usize::from(owns);
            match processor(spec, &set, ImageLimits::default()) {
                Ok(_) => assert!(owns, "{spec:?} {set}"),
                Err(error) => {
                    let message = error.to_string();
                    let words = format!(
                        "{} is {other}, accepted: nothing, the family {} knows no such switch",
                        switch.name,
                        spec.name()
                    );
                    assert_eq!((owns, message), (false, words));
                }
            }
        }
        assert!(owners > 0, "{set}");
    }
    for spec in FAMILIES {
        let pixels = ImageLimits { max_pixels: Some(1 << 20), ..ImageLimits::default() };
        let tiles = ImageLimits { max_tiles: Some(4), ..ImageLimits::default() };
        for (limits, kind) in [(pixels, LimitKind::Pixels), (tiles, LimitKind::Tiles)] {
            let known = spec.images.limits.contains(&kind);
            let found = processor(spec, "", limits);
            assert_eq!(found.is_ok(), known, "{spec:?} {kind:?}");
            if let Err(error) = found {
                assert!(error.to_string().contains("knows no such limit"), "{error}");
            }
        }
    }
}

#[test]
fn packings_differ_where_they_say_so() {
    let plain = Switches::default();
    let next = |switches: &Switches, prunes| spec("llava_next").packing(switches, prunes).next;
    assert_eq!(next(&plain, false), NextPacking::SpatialUnpad);
    assert_eq!(next(&plain, true), NextPacking::Spatial);
    assert_eq!(next(&"next_packing=spatial".parse().unwrap(), false), NextPacking::Spatial);
    let rows = |switches: &Switches, prunes| spec("llava_video").packing(switches, prunes).row_end;
    assert_eq!((rows(&plain, true), rows(&plain, false)), (RowEnd::None, RowEnd::Newline));
    assert_eq!(rows(&"video_newline=grid".parse().unwrap(), true), RowEnd::Newline);
    for spec in FAMILIES.iter().filter(|s| !["llava_next", "llava_video"].contains(&s.name())) {
        assert_eq!(spec.packing(&plain, false), spec.packing(&plain, true), "{spec:?}");
    }
}

#[test]
fn schedules_are_those_of_the_paper() {
    let of = |name: &str| {
        let config = Preset::find(name).unwrap().config();
        ModelSchedule::of(FamilySpec::find(config.family).unwrap(), &config)
    };
    for preset in FamilySpec::presets() {
        let schedule = of(preset.name);
        assert_eq!(schedule.preset, Some(preset.name));
        assert_eq!(schedule.policy.refine_layer, preset.refine_layer);
        assert_eq!(schedule.policy.layers, preset.config().decoder.blocks);
        assert_eq!(schedule.per_frame, preset.name == "llava-video-7b");
        let nominal = ["qwen2.5-vl-7b", "internvl3-8b"].contains(&preset.name);
        assert_eq!(schedule.policy.basis == PoolBasis::Nominal, nominal, "{}", preset.name);
        let first = schedule.policy.remainder == Remainder::First;
        assert_eq!(first, preset.name == "internvl3-8b");
        let hybrid = preset.name == "qwen3.5-9b";
        assert_eq!(schedule.policy.out_of_range == OutOfRange::Refuse, hybrid);
        assert_eq!(schedule.relevance == Normalization::VisualOnly, hybrid);
    }
}

#[test]
fn usual_inputs_give_the_tokens_they_stand_for() {
    for (preset, paper, photo) in [
        ("llava-1.5-7b", 576, 576),
        ("llava-next-7b", 5 * 576, 5 * 576),
        ("qwen2.5-vl-7b", 1296, 1280),
        ("qwen3-vl-8b", 1296, 1280),
        ("qwen3.5-9b", 1296, 1280),
        ("internvl3-8b", 7 * 256, 7 * 256),
        ("llava-video-7b", 169, 169),
    ] {
        let config = Preset::find(preset).unwrap().config();
        let spec = FamilySpec::find(config.family).unwrap();
        let switches = Switches { image_limits: spec.usual.limits, ..Switches::default() };
        let preprocessing = spec.default_preprocessing(&config).unwrap();
        let limits = ImageLimits::default();
        let processor = Preprocessor::new(spec, &config, &preprocessing, &switches, &limits);
        let processor = processor.unwrap();
        for (size, tokens) in [(spec.usual.paper_size, paper), (spec.usual.photo_size, photo)] {
            let layout = processor.layout(&[size(&config).unwrap()], Packing::PLAIN).unwrap();
            assert_eq!(layout.len(), tokens, "{preset}");
        }
    }
}

#[test]
fn prompt_styles_are_read_by_name() {
    let known =
        "template, vicuna, mistral, qwen2.5-vl, qwen3-vl, qwen3.5, internvl, llava-video, plain";
    for name in known.split(", ") {
        assert_eq!(name.parse::<PromptStyle>().unwrap().name(), name);
    }
    let error = "chatgpt".parse::<PromptStyle>().unwrap_err().to_string();
    assert!(error.ends_with(known), "{error}");
}
