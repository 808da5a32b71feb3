//! One item under one setting.

use std::sync::Arc;

use mico_engine::pruner::Pruning;
use mico_engine::{
    EncodedImage, EncodingKey, Engine, Error as EngineError, ErrorKind, Generation, ImageInput,
    Message, Outcome, Part, Prompt, Request, Role, SessionOptions, Sink, Usage,
};
use mico_score::{Fields, Segment};
use mico_select::schedule::Budget;
use mico_vision::layout::VisualLayout;
use serde_json::Value;

use super::Run;
use super::album::Frames;
use crate::condition::Condition;
use crate::error::{Error, Result};
use crate::item::{Item, Looking, Shown};
use crate::journal::Journal;
use crate::record::{Keys, Record, Spent, seed};
use crate::source::Source;

/// How far the realised layer average may be from the budget: what rounding can cause.
pub(crate) const ROUNDING: f64 = 0.5;

/// The field with width and height of what the model saw.
pub(crate) const MODEL_INPUT: &str = "model_input";

/// One source being asked.
pub(crate) struct Asking<'a> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) source: &'a dyn Source,
    pub(crate) keys: Keys,
    pub(crate) journal: &'a Journal,
    /// Told how many answers there are more.
    pub(crate) tell: &'a (dyn Fn(usize) + Sync),
}

impl Asking<'_> {
    /// Everything that is missing about one picture; how many answers were given.
    pub(crate) fn answer(&self, batch: &[Item]) -> Result<usize> {
        let (mut looks, mut shown, mut asked) = (None::<Looks<'_>>, None, 0);
        for item in batch {
            let segments = self.source.prompt(item)?;
            let prompt = rendered(&segments);
            // Questions about one picture share what the vision side saw, if they show the same.
            if shown != Some(&item.visuals) {
                (looks, shown) = (None, Some(&item.visuals));
            }
            let looks = looks.get_or_insert_with(|| Looks::new(self.run, self.source, Vec::new()));
            looks.segments = segments;
            for setting in self.run.settings {
                let key = self.keys.of(item, &prompt, setting);
                if !self.journal.has(&key) {
                    let mut record = Record {
                        key,
                        run: self.keys.clone(),
                        track: self.source.tracks()[item.track].name.clone(),
                        item: item.id.clone(),
                        position: item.position,
                        cluster: item.cluster.clone(),
                        setting: setting.key(),
                        prompt: prompt.clone(),
                        answer: String::new(),
                        finish: String::new(),
                        failure: None,
                        fields: Arc::new(item.fields.clone()),
                        visual: [0; 3],
                        layer_average: 0.0,
                        seconds: Spent::default(),
                    };
                    self.ask(item, setting, looks, &mut record)?;
                    self.journal.append(record)?;
                    asked += 1;
                }
                (self.tell)(1);
            }
        }
        Ok(asked)
    }

    fn ask(
        &self,
        item: &Item,
        setting: &Condition,
        looks: &mut Looks<'_>,
        record: &mut Record,
    ) -> Result<()> {
        match looks.ask(item, setting, self.source.max_new_tokens(), &mut ())? {
            Ok(outcome) => {
                record.take(Ok(&outcome));
                if let Some(album) = self.run.album.filter(|album| album.wants(item, setting)) {
                    let shown = looks.shown(item);
                    album.keep(&record.key, &shown, &outcome)?;
                }
                record.fields = Arc::new(looks.fields(item));
            }
            Err(failure) => record.take(Err(failure)),
        }
        Ok(())
    }
}

/// The prompt as one text, for records and keys.
fn rendered(segments: &[Segment]) -> String {
    let texts = segments.iter().map(|segment| match segment {
        Segment::Text(text) => text.as_str(),
        Segment::Image(_) => "<image>",
    });
    texts.collect()
}

/// Visual tokens per block beyond the budget, or all there are.
pub(crate) fn missed(usage: &Usage, tokens: usize) -> f64 {
    usage.layer_average - tokens.min(usage.visual_tokens) as f64
}

/// That a budget is not met, in words.
pub(crate) fn missing_it(usage: &Usage, tokens: usize) -> String {
    format!("its layer average would be {:.1} in place of {tokens}", usage.layer_average)
}

/// Whether an error is the item's own, so that the others can still be asked.
fn item_fault(error: &EngineError) -> bool {
    let own = matches!(
        error,
        EngineError::Image { .. }
            | EngineError::Unfit { .. }
            | EngineError::TooLong { .. }
            | EngineError::SpecialInText { .. }
            | EngineError::NotFinite { .. }
    );
    let method = matches!(error, EngineError::Select(_)) && error.kind() == ErrorKind::Refused;
    own || method
}

/// The pictures last shown as the vision side encoded them, once for each way of encoding that a setting
/// asked for.
pub(crate) struct Looks<'a> {
    run: &'a Run<'a>,
    source: &'a dyn Source,
    pub(crate) segments: Vec<Segment>,
    encoded: Vec<Encoded>,
}

/// The pictures of an item, encoded; one list for each of its visuals.
struct Encoded {
    key: EncodingKey,
    blank: bool,
    visuals: Vec<Vec<ImageInput>>,
}

impl<'a> Looks<'a> {
    pub(crate) fn new(run: &'a Run<'a>, source: &'a dyn Source, segments: Vec<Segment>) -> Self {
        Self { run, source, segments, encoded: Vec::new() }
    }

    fn engine(&self) -> &'a Engine {
        self.run.engine
    }

    /// What the engine is asked under. Chance draws anew for each picture.
    fn options(&self, item: &Item, condition: &Condition) -> Result<SessionOptions, EngineError> {
        let mut options = condition.setting.seeded(seed(&item.cluster)).options()?;
        if let Some(limits) = self.source.limits() {
            options.limits = limits;
        }
        Ok(options)
    }

    /// Why a setting cannot be run on an item; `None` if it can.
    pub(super) fn refusal(&mut self, item: &Item, condition: &Condition) -> Result<Option<String>> {
        let engine = self.engine();
        let options = self.options(item, condition)?;
        engine.check(&options)?;
        let layouts = self.layouts_under(item, &options, false).unwrap_or_default();
        let layouts: Vec<&VisualLayout> = layouts.iter().collect();
        match engine.plan(&options, &layouts) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Refused => return Ok(Some(error.to_string())),
            Err(error) => return Err(error.into()),
        }
        let (Some(pruning), Some(tokens)) = (condition.pruning(), condition.tokens()) else {
            return Ok(None);
        };
        if pruning.authors || pruning.refine_layer.is_none() && pruning.pool.is_none() {
            return Ok(None);
        }
        // A block or pool of the caller's may spend more than the budget on the pool alone.
        let Ok(outcome) = self.ask(item, condition, 1, &mut ())? else { return Ok(None) };
        let usage = outcome.usage;
        Ok((missed(&usage, tokens) >= ROUNDING).then(|| missing_it(&usage, tokens)))
    }

    /// The layouts that an item's pictures have in requests that prune.
    pub(crate) fn layouts(&mut self, item: &Item) -> Result<Vec<VisualLayout>, String> {
        let base = Condition::unpruned(self.run.base);
        let mut options = self.options(item, &base).map_err(|error| error.to_string())?;
        options.pruning = Pruning::mico(Budget::Tokens(1));
        self.layouts_under(item, &options, false)
    }

    fn layouts_under(
        &mut self,
        item: &Item,
        options: &SessionOptions,
        blank: bool,
    ) -> Result<Vec<VisualLayout>, String> {
        let encoded = self.encoded(item, options, blank).map_err(|error| match error {
            Fault::Item(reason) => reason,
            Fault::Engine(error) => error.to_string(),
        })?;
        let layouts = encoded.iter().flatten().filter_map(|input| match input {
            ImageInput::Features(image) => Some(image.layout().clone()),
            _ => None,
        });
        Ok(layouts.collect())
    }

    fn encoded(
        &mut self,
        item: &Item,
        options: &SessionOptions,
        blank: bool,
    ) -> Result<&[Vec<ImageInput>], Fault> {
        let engine = self.engine();
        let key = engine.encoding_key(options);
        let known = self.encoded.iter().position(|one| one.key == key && one.blank == blank);
        let place = if let Some(place) = known {
            place
        } else {
            let visuals = self.encode(item, options, blank)?;
            self.encoded.push(Encoded { key, blank, visuals });
            self.encoded.len() - 1
        };
        Ok(&self.encoded[place].visuals)
    }

    /// Runs the vision side on an item's pictures.
    fn encode(
        &self,
        item: &Item,
        options: &SessionOptions,
        blank: bool,
    ) -> Result<Vec<Vec<ImageInput>>, Fault> {
        let engine = self.engine();
        let looking = Looking { video: self.run.video, takes_video: engine.takes_video(), blank };
        let encode = |input: &ImageInput| {
            engine.encode_image(input, options, &mut ()).map(ImageInput::Features)
        };
        let mut visuals = Vec::with_capacity(item.visuals.len());
        for visual in &item.visuals {
            let inputs = visual.inputs(&looking).map_err(Fault::Item)?;
            let encoded: Result<Vec<_>, EngineError> = inputs.iter().map(encode).collect();
            visuals.push(encoded.map_err(Fault::Engine)?);
        }
        Ok(visuals)
    }

    /// The request of an item; what stands in its way otherwise.
    fn request(
        &mut self,
        item: &Item,
        condition: &Condition,
        most: usize,
    ) -> Result<Request, Fault> {
        let options = self.options(item, condition);
        let options = options.map_err(|error| Fault::Item(error.to_string()))?;
        let segments = self.segments.clone();
        let encoded = self.encoded(item, &options, condition.blank)?;
        let (mut parts, mut images) = (Vec::new(), Vec::new());
        for segment in segments {
            match segment {
                Segment::Text(text) => parts.push(Part::Text(text)),
                Segment::Image(number) => {
                    let inputs = encoded.get(number).ok_or_else(|| {
                        let (number, there) = (number + 1, encoded.len());
                        Fault::Item(format!("the prompt names image {number}, there are {there}"))
                    })?;
                    parts.extend(inputs.iter().map(|_| Part::Image));
                    images.extend(inputs.iter().cloned());
                }
            }
        }
        let message = Message { role: Role::User, parts };
        let request = Request::new(images, Prompt::Messages(vec![message]));
        Ok(request.with(options).generating(Generation::greedy(most)))
    }

    /// Asks; an item that cannot be asked says why, anything else ends the run.
    pub(crate) fn ask(
        &mut self,
        item: &Item,
        condition: &Condition,
        most: usize,
        sink: &mut dyn Sink,
    ) -> Result<std::result::Result<Outcome, String>> {
        let engine = self.engine();
        let asked = self
            .request(item, condition, most)
            .and_then(|request| engine.run(&request, sink).map_err(Fault::Engine));
        match asked {
            Ok(outcome) => Ok(Ok(outcome)),
            Err(Fault::Item(reason)) => Ok(Err(reason)),
            Err(Fault::Engine(error)) if item_fault(&error) => Ok(Err(error.to_string())),
            Err(Fault::Engine(error)) => Err(Error::item(item)(error)),
        }
    }

    /// The pixels of the prompt's images, one entry for each input of the engine.
    fn shown(&self, item: &Item) -> Vec<Frames> {
        let takes_video = self.run.engine.takes_video();
        let mut shown = Vec::new();
        for segment in &self.segments {
            let Segment::Image(number) = segment else { continue };
            let Some(visual) = item.visuals.get(*number) else { continue };
            // They could be read before; if no more, there is no picture to keep.
            let frames = visual.pixels(&self.run.video).unwrap_or_default();
            match visual {
                Shown::Video(_) if takes_video => shown.push(Frames::Video(frames)),
                _ => shown.extend(frames.into_iter().map(Frames::Image)),
            }
        }
        shown
    }

    /// An item's fields with what answers in the model's own pixels are relative to.
    pub(crate) fn fields(&self, item: &Item) -> Fields {
        let mut fields = item.fields.clone();
        if let Some(input) = self.model_input() {
            fields.insert(MODEL_INPUT.to_owned(), input);
        }
        fields
    }

    /// Width and height of what the model saw, where answers may be in its pixels.
    fn model_input(&self) -> Option<Value> {
        let encoded = self.encoded.first()?;
        let [ImageInput::Features(seen)] = encoded.visuals.first()?.as_slice() else {
            return None;
        };
        let size = model_input(self.run, seen)?;
        Some(Value::from(size.to_vec()))
    }
}

/// Width and height of the resized picture, for families whose boxes are in its pixels.
fn model_input(run: &Run<'_>, seen: &EncodedImage) -> Option<[u32; 2]> {
    let size_of = run.engine.family().evaluation.model_input?;
    let size = size_of(run.engine.model().config(), seen.layout())?;
    Some([size.width, size.height])
}

/// What stands in the way of an answer.
enum Fault {
    /// Something about the item.
    Item(String),
    /// Something the engine said.
    Engine(EngineError),
}
