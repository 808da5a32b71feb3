//! The tensor source of a checkpoint, which reports progress while the model is built.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use candle_core::{DType, Tensor};

use super::Checkpoint;
use super::layout::{Part, candidates, is_ignorable, tower_candidates};
use crate::error::{Error, Result};
use crate::files::ModelFiles;
use crate::weights::{Progress, ProgressFn, TensorSource};

/// A checkpoint being loaded, with the vision tower in a folder of its own if need be.
pub(crate) struct CheckpointSource {
    main: Checkpoint,
    tower: Option<Checkpoint>,
    used: BTreeSet<String>,
    vision_blocks: usize,
    progress: Progress,
    notify: Option<Arc<ProgressFn>>,
}

impl CheckpointSource {
    /// Opens a model folder. `tower` is the folder of a separate vision tower, used only when the
    /// checkpoint itself has none; `vision_blocks` how many of its blocks will be asked for.
    pub(crate) fn open(
        files: ModelFiles<'_>,
        tower: Option<&Path>,
        vision_blocks: usize,
        notify: Option<Arc<ProgressFn>>,
    ) -> Result<Self> {
        let main = Checkpoint::open_files(files)?;
        let own_tower = candidates(Part::Vision, "embeddings.class_embedding")
            .iter()
            .any(|name| main.contains(name));
        let tower = match tower {
            Some(tower) if !own_tower => Some(Checkpoint::open(tower)?),
            _ => None,
        };
        let mut progress = Progress::default();
        for (checkpoint, name) in std::iter::once(&main)
            .chain(&tower)
            .flat_map(|checkpoint| checkpoint.names().map(move |name| (checkpoint, name)))
            .filter(|(_, name)| !is_ignorable(name, vision_blocks))
        {
            progress.tensors_total += 1;
            progress.bytes_total += checkpoint.info(name).map_or(0, |(_, bytes)| bytes as u64);
        }
        Ok(Self { main, tower, used: BTreeSet::new(), vision_blocks, progress, notify })
    }

    /// The tensors that nobody asked for, without those known to be unused.
    pub(crate) fn unexpected(&self) -> Vec<String> {
        self.main
            .names()
            .filter(|name| !self.used.contains(*name) && !is_ignorable(name, self.vision_blocks))
            .map(str::to_owned)
            .collect()
    }

    fn place(&self, part: Part, name: &str) -> (&Checkpoint, Vec<String>) {
        match (&self.tower, part) {
            (Some(tower), Part::Vision) => (tower, tower_candidates(name)),
            _ => (&self.main, candidates(part, name)),
        }
    }
}

impl TensorSource for CheckpointSource {
    fn contains(&self, part: Part, name: &str) -> bool {
        let (checkpoint, names) = self.place(part, name);
        names.iter().any(|name| checkpoint.contains(name))
    }

    fn stored_dtype(&self, part: Part, name: &str) -> Option<DType> {
        let (checkpoint, names) = self.place(part, name);
        names.iter().find_map(|name| checkpoint.dtype(name))
    }

    fn tensor(&mut self, part: Part, name: &str, shape: &[usize]) -> Result<Tensor> {
        let (checkpoint, names) = self.place(part, name);
        let Some(found) = names.iter().find(|name| checkpoint.contains(name)).cloned() else {
            return Err(Error::MissingTensor {
                names,
                shape: shape.to_vec(),
                path: checkpoint.folder().to_path_buf(),
            });
        };
        let tensor = checkpoint.load(&found, shape)?;
        let bytes = checkpoint.info(&found).map_or(0, |(_, bytes)| bytes as u64);
        self.progress.tensors_done += 1;
        self.progress.bytes_done += bytes;
        self.used.insert(found);
        if let Some(notify) = &self.notify
            && notify(self.progress).is_break()
        {
            return Err(Error::Cancelled);
        }
        Ok(tensor)
    }
}
