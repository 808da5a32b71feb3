//! One source, put to the engine under every setting.

use std::sync::Arc;

use mico_engine::Usage;
use mico_score::Segment;

use super::encodings::ItemEncodings;
use super::{Advance, Run, Stoppable, unless_stopped};
use crate::condition::Condition;
use crate::error::Result;
use crate::item::Item;
use crate::journal::Journal;
use crate::record::{Record, RunKey};
use crate::source::Source;

/// How far the realised layer average may be from the budget: what rounding can cause.
pub(crate) const BUDGET_TOLERANCE: f64 = 0.5;

/// The field with width and height of what the model saw.
pub(crate) const MODEL_INPUT: &str = "model_input";

/// Puts the items of one source to the engine and writes each answer to the journal.
pub(crate) struct SourceRunner<'a> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) source: &'a dyn Source,
    pub(crate) run_key: RunKey,
    pub(crate) journal: &'a Journal,
    /// Called with the number of answers that have become known since the last call.
    pub(crate) progress: &'a Advance<'a>,
}

impl SourceRunner<'_> {
    /// Asks what the journal lacks about one picture, given as the items that show it. Returns the number
    /// of new answers.
    pub(crate) fn answer(&self, batch: &[Item]) -> Result<usize> {
        let (mut encodings, mut visuals, mut asked) = (None::<ItemEncodings<'_>>, None, 0);
        for item in batch {
            let segments = self.source.prompt(item)?;
            let prompt = prompt_text(&segments);
            // Questions about one picture share what the vision side saw, if they show the same.
            if visuals != Some(&item.visuals) {
                (encodings, visuals) = (None, Some(&item.visuals));
            }
            let encodings = encodings
                .get_or_insert_with(|| ItemEncodings::new(self.run, self.source, Vec::new()));
            encodings.segments = segments;
            for setting in self.run.settings {
                if !self.journal.has(&self.run_key.of(item, &prompt, setting)) {
                    let track = &self.source.tracks()[item.track].name;
                    let mut record =
                        Record::unanswered(&self.run_key, track, item, &prompt, setting);
                    self.ask(item, setting, encodings, &mut record)?;
                    self.journal.append(record)?;
                    asked += 1;
                }
                unless_stopped((self.progress)(1))?;
            }
        }
        Ok(asked)
    }

    fn ask(
        &self,
        item: &Item,
        setting: &Condition,
        encodings: &mut ItemEncodings<'_>,
        record: &mut Record,
    ) -> Result<()> {
        let mut sink = Stoppable { sink: (), advance: self.progress };
        match encodings.ask(item, setting, self.source.max_new_tokens(), &mut sink)? {
            Ok(outcome) => {
                record.set_outcome(Ok(&outcome));
                if let Some(overlays) =
                    self.run.overlays.filter(|overlays| overlays.includes(item, setting))
                {
                    let pixels = encodings.pixels(item);
                    overlays.save(&record.key, &pixels, &outcome)?;
                }
                record.fields = Arc::new(encodings.fields(item));
            }
            Err(failure) => record.set_outcome(Err(failure)),
        }
        Ok(())
    }
}

/// The prompt as one text, for records and keys.
fn prompt_text(segments: &[Segment]) -> String {
    let texts = segments.iter().map(|segment| match segment {
        Segment::Text(text) => text.as_str(),
        Segment::Image(_) => "<image>",
    });
    texts.collect()
}

/// Visual tokens per block beyond the budget, or all there are.
pub(crate) fn budget_excess(usage: &Usage, tokens: usize) -> f64 {
    usage.layer_average - tokens.min(usage.visual_tokens) as f64
}

/// Says by how much a setting would miss its budget.
pub(crate) fn budget_excess_message(usage: &Usage, tokens: usize) -> String {
    format!("its layer average would be {:.1} in place of {tokens}", usage.layer_average)
}
