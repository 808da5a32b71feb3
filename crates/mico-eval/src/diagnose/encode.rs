//! Pictures through the engine, some at a time.

use std::sync::atomic::{AtomicUsize, Ordering};

use mico_engine::pruner::Pruning;
use mico_engine::{EncodedImage, Error, Features, ImageInput, SessionOptions};
use mico_select::schedule::Budget;
use mico_vision::RgbImage;
use mico_vision::layout::VisualLayout;
use rayon::prelude::*;

use super::error::{DiagnoseError, Result};
use super::source::DamagedImage;
use super::{Diagnose, Progress};
use crate::run::unless_stopped;

/// Pictures under way at once, per thread.
const PER_THREAD: usize = 4;

/// Why a picture gives nothing.
pub(super) enum PictureError {
    /// It is to be named and left out.
    Damaged(String),
    /// The check cannot go on.
    Stop(DiagnoseError),
}

impl From<String> for PictureError {
    fn from(reason: String) -> Self {
        Self::Damaged(reason)
    }
}

impl From<Error> for PictureError {
    fn from(error: Error) -> Self {
        match error {
            Error::Image { .. } | Error::Unfit { .. } | Error::TooLong { .. } => {
                Self::Damaged(error.to_string())
            }
            other => Self::Stop(other.into()),
        }
    }
}

/// What pictures gave, in their order, and those that gave nothing.
pub(super) struct PictureResults<T> {
    pub(super) found: Vec<T>,
    pub(super) damaged: Vec<DamagedImage>,
}

impl Diagnose<'_> {
    /// Puts pictures through `f`, several at once; what comes out does not depend on how many.
    pub(super) fn gather<T: Send>(
        &self,
        pictures: &[usize],
        progress: &Progress<'_>,
        f: impl Fn(usize) -> std::result::Result<T, PictureError> + Sync,
    ) -> Result<PictureResults<T>> {
        let mut results = PictureResults { found: Vec::new(), damaged: Vec::new() };
        let done = AtomicUsize::new(0);
        unless_stopped(progress(0, pictures.len()))?;
        for batch in pictures.chunks(PER_THREAD * rayon::current_num_threads().max(1)) {
            let outcomes: Vec<_> = batch
                .par_iter()
                .map(|&picture| {
                    let outcome = f(picture);
                    let known = done.fetch_add(1, Ordering::Relaxed) + 1;
                    let go_on = unless_stopped(progress(known, pictures.len()));
                    (picture, go_on.map_err(PictureError::from).and(outcome))
                })
                .collect();
            for (picture, outcome) in outcomes {
                match outcome {
                    Ok(found) => results.found.push(found),
                    Err(PictureError::Damaged(reason)) => {
                        let picture = self.source.title(picture);
                        results.damaged.push(DamagedImage { picture, reason });
                    }
                    Err(PictureError::Stop(error)) => return Err(error),
                }
            }
        }
        Ok(results)
    }

    /// A picture as Stage 1 sees it.
    pub(super) fn encode(
        &self,
        image: RgbImage,
    ) -> std::result::Result<EncodedPicture, PictureError> {
        let image = ImageInput::Decoded(image);
        Ok(EncodedPicture(self.engine.encode_image(&image, &self.options(), &mut ())?))
    }

    /// MiCo at the budget, as the relevance is observed.
    pub(super) fn options(&self) -> SessionOptions {
        let mut options = self.base.clone();
        options.pruning = Pruning::mico(Budget::Tokens(self.budget));
        options
    }
}

/// A picture as Stage 1 sees it.
pub(super) struct EncodedPicture(pub(super) EncodedImage);

impl EncodedPicture {
    pub(super) fn layout(&self) -> &VisualLayout {
        self.0.layout()
    }

    pub(super) fn features(&self) -> std::result::Result<&Features, PictureError> {
        self.0.features().ok_or_else(|| PictureError::Damaged("Stage 1 saw no features".into()))
    }

    /// The feature's length at a token.
    pub(super) fn norm(&self, token: usize) -> std::result::Result<f64, PictureError> {
        Ok(norm(self.features()?.row(token)))
    }

    /// The reliability signal at a token.
    pub(super) fn reliability(&self, token: usize) -> std::result::Result<f64, PictureError> {
        let all = self.0.reliability();
        let all = all.ok_or_else(|| PictureError::Damaged("Stage 1 saw no attention".into()))?;
        Ok(all.get(token).copied().map_or(0.0, f64::from))
    }
}

/// The Euclidean (L2) norm of a feature vector.
pub(super) fn norm(row: &[f32]) -> f64 {
    row.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt()
}
