//! Items as requests: the vision side runs once for each picture and way of encoding it, however many
//! settings and questions share it.

use mico_engine::pruner::Pruning;
use mico_engine::{
    EncodedImage, EncodingKey, Engine, Error as EngineError, ErrorKind, GenerationOptions,
    ImageInput, Message, Outcome, Part, Prompt, Request, Role, SessionOptions, Sink,
};
use mico_score::{Fields, Segment};
use mico_select::schedule::Budget;
use mico_vision::layout::VisualLayout;
use serde_json::Value;

use super::Run;
use super::overlays::InputPixels;
use super::runner::{BUDGET_TOLERANCE, MODEL_INPUT, budget_excess, budget_excess_message};
use crate::condition::Condition;
use crate::error::{Error, Result};
use crate::item::{Item, Visual, VisualOptions};
use crate::record::seed;
use crate::source::Source;

/// Whether an error is the item's own, so that the others can still be asked.
fn is_item_error(error: &EngineError) -> bool {
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
pub(crate) struct ItemEncodings<'a> {
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

impl<'a> ItemEncodings<'a> {
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
        Ok((budget_excess(&usage, tokens) >= BUDGET_TOLERANCE)
            .then(|| budget_excess_message(&usage, tokens)))
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
            AskError::Item(reason) => reason,
            AskError::Engine(error) => error.to_string(),
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
    ) -> Result<&[Vec<ImageInput>], AskError> {
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
    ) -> Result<Vec<Vec<ImageInput>>, AskError> {
        let engine = self.engine();
        let visual_options =
            VisualOptions { video: self.run.video, takes_video: engine.takes_video(), blank };
        let encode = |input: &ImageInput| {
            engine.encode_image(input, options, &mut ()).map(ImageInput::Features)
        };
        let mut visuals = Vec::with_capacity(item.visuals.len());
        for visual in &item.visuals {
            let inputs = visual.inputs(&visual_options).map_err(AskError::Item)?;
            let encoded: Result<Vec<_>, EngineError> = inputs.iter().map(encode).collect();
            visuals.push(encoded.map_err(AskError::Engine)?);
        }
        Ok(visuals)
    }

    /// The request of an item; what stands in its way otherwise.
    fn request(
        &mut self,
        item: &Item,
        condition: &Condition,
        most: usize,
    ) -> Result<Request, AskError> {
        let options = self.options(item, condition);
        let options = options.map_err(|error| AskError::Item(error.to_string()))?;
        let segments = self.segments.clone();
        let encoded = self.encoded(item, &options, condition.blank)?;
        let (mut parts, mut images) = (Vec::new(), Vec::new());
        for segment in segments {
            match segment {
                Segment::Text(text) => parts.push(Part::Text(text)),
                Segment::Image(number) => {
                    let inputs = encoded.get(number).ok_or_else(|| {
                        let (number, there) = (number + 1, encoded.len());
                        AskError::Item(format!(
                            "the prompt names image {number}, there are {there}"
                        ))
                    })?;
                    parts.extend(inputs.iter().map(|_| Part::Image));
                    images.extend(inputs.iter().cloned());
                }
            }
        }
        let message = Message { role: Role::User, parts };
        let request = Request::new(images, Prompt::Messages(vec![message]));
        Ok(request.with(options).generating(GenerationOptions::greedy(most)))
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
            .and_then(|request| engine.run(&request, sink).map_err(AskError::Engine));
        match asked {
            Ok(outcome) => Ok(Ok(outcome)),
            Err(AskError::Item(reason)) => Ok(Err(reason)),
            Err(AskError::Engine(error)) if is_item_error(&error) => Ok(Err(error.to_string())),
            Err(AskError::Engine(error)) => Err(Error::item(item)(error)),
        }
    }

    /// The pixels of the prompt's images, one entry for each input of the engine.
    pub(super) fn pixels(&self, item: &Item) -> Vec<InputPixels> {
        let takes_video = self.run.engine.takes_video();
        let mut pixels = Vec::new();
        for segment in &self.segments {
            let Segment::Image(number) = segment else { continue };
            let Some(visual) = item.visuals.get(*number) else { continue };
            // They could be read before; if no more, there is no picture to keep.
            let frames = visual.pixels(&self.run.video).unwrap_or_default();
            match visual {
                Visual::Video(_) if takes_video => pixels.push(InputPixels::Video(frames)),
                _ => pixels.extend(frames.into_iter().map(InputPixels::Image)),
            }
        }
        pixels
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
enum AskError {
    /// Something about the item.
    Item(String),
    /// Something the engine said.
    Engine(EngineError),
}
