//! Reads the parity cases of `fixtures/data` and compares tensors.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};
use mico_model::config::QwenVision;
use mico_model::{Grid, LoadOptions, Model, Pixels, VisionTaps};
use serde_json::Value;

/// Folders of `fixtures/data` that hold parity cases.
const KINDS: [&str; 4] = ["llava", "qwen", "internvl", "llava_video"];

pub(crate) fn folder(case: &str) -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data");
    let places = KINDS.iter().map(|kind| data.join(kind).join(case));
    places.into_iter().find(|place| place.is_dir()).unwrap_or_else(|| panic!("no case {case}"))
}

/// A model and what transformers computed with the same weights.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) model: Model,
    pub(crate) expected: Value,
    tensors: HashMap<String, Tensor>,
}

impl Case {
    pub(crate) fn load(name: &'static str) -> Self {
        Self::load_with(name, &LoadOptions::default())
    }

    pub(crate) fn load_with(name: &'static str, options: &LoadOptions) -> Self {
        let (model, report) = Model::load(&folder(name), options).unwrap();
        assert_eq!(report.unexpected, Vec::<String>::new(), "{name}");
        let own = json(&folder(name).join("expected.json"));
        let source = match own.get("same_weights_as") {
            Some(other) => folder(other.as_str().unwrap()),
            None => folder(name),
        };
        let tensors =
            candle_core::safetensors::load(source.join("expected.safetensors"), &Device::Cpu);
        let expected = json(&source.join("expected.json"));
        Self { name, model, expected, tensors: tensors.unwrap() }
    }

    pub(crate) fn tensor(&self, name: &str) -> &Tensor {
        self.tensors.get(name).unwrap_or_else(|| panic!("{}: no {name}", self.name))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    pub(crate) fn images(&self) -> Vec<String> {
        self.expected["images"].as_object().unwrap().keys().cloned().collect()
    }

    /// An image as the tower takes it.
    pub(crate) fn pixels(&self, image: &str) -> Pixels {
        let values = self.tensor(&format!("{image}.pixel_values")).clone();
        let Some(patches) = self.expected["images"][image].get("grid_thw") else {
            return self.views(values);
        };
        let Some(vision) = self.model.config().vision.get::<QwenVision>() else {
            panic!("{image} of {} has a grid of its own", self.name)
        };
        let patches = usizes(patches);
        let (rows, columns) = (patches[1] / vision.merge, patches[2] / vision.merge);
        Pixels { values, grids: vec![Grid { rows, columns }] }
    }

    /// Views with the tower's grid.
    pub(crate) fn views(&self, values: Tensor) -> Pixels {
        let side = self.model.config().vision.tokens_per_view().unwrap().isqrt();
        let grids = vec![Grid { rows: side, columns: side }; values.dim(0).unwrap()];
        Pixels { values, grids }
    }

    /// Projected visual tokens of an image in the order of the prompt, without newlines.
    pub(crate) fn visual_embeds(&self, image: &str) -> Tensor {
        let seen = self.model.encode(self.pixels(image), VisionTaps::default()).unwrap();
        assert!(seen.features.is_none() && seen.reliability.is_none());
        let projected = self.model.embed(&seen).unwrap().embeds;
        let Some(order) = self.expected["images"][image].get("token_of_view") else {
            return projected;
        };
        let places: Vec<usize> = order.as_array().unwrap().iter().flat_map(usizes).collect();
        let mut rows = vec![0_u32; places.len()];
        for (row, place) in places.into_iter().enumerate() {
            rows[place] = row as u32;
        }
        select(&projected, &rows)
    }

    /// Holds `found` against the stored tensor, relative to its largest magnitude.
    pub(crate) fn check(&self, name: &str, found: &Tensor, tolerance: f32) {
        let expected = self.tensor(name);
        assert_eq!(found.dims(), expected.dims(), "{}: {name}", self.name);
        let difference = largest(&(found - expected).unwrap());
        let scale = largest(expected);
        assert!(
            difference <= tolerance * scale,
            "{}: {name} differs by {difference} of {scale}",
            self.name
        );
    }
}

pub(crate) fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

pub(crate) fn usizes(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as usize).collect()
}

pub(crate) fn u32s(value: &Value) -> Vec<u32> {
    usizes(value).into_iter().map(|v| v as u32).collect()
}

pub(crate) fn select(tensor: &Tensor, rows: &[u32]) -> Tensor {
    tensor.index_select(&Tensor::new(rows, &Device::Cpu).unwrap(), 0).unwrap()
}

pub(crate) fn largest(tensor: &Tensor) -> f32 {
    tensor.abs().unwrap().max_all().unwrap().to_scalar().unwrap()
}
