//! The tensors that a selector reads, from files that were made for it and from dumps of `mico trace`.

use std::io::{Read, Seek};

use mico_select::{Inputs, Matrix, Selection, Selector, Signal, SignalSet};
use mico_tensors::TensorFile;
use mico_util::text::quoted;

/// The tensor that says which group each token belongs to.
const GROUP: &str = "group";
/// The tensor of a dump that says which token of the whole sequence each row is of.
const TOKEN: &str = "token";
/// The tensor of a dump that holds the features after the projector.
const EMBEDS: &str = "visual_embeds";

/// What to read, for whom, and how much of it.
pub(super) struct Source<'a> {
    /// The stage of a dump; `None` for the plain names, or for the first stage where there are none.
    pub(super) stage: Option<u8>,
    pub(super) selector: &'a dyn Selector,
    pub(super) memory: usize,
}

/// The tensors of a file that a selector reads.
#[derive(Debug)]
pub(super) struct Tensors {
    floats: Vec<(Signal, Vec<f32>, Vec<usize>)>,
    groups: Option<Vec<i64>>,
    /// Where the rows stand in the whole sequence; `None` if they are all of it.
    tokens: Option<Vec<usize>>,
    /// Tokens of the file, whether they can be chosen or not.
    count: usize,
    bytes: usize,
}

/// By what names a file has its tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Plain,
    /// Those of one stage of a dump.
    Stage(u8),
}

impl Names {
    fn of<R: Read + Seek>(file: &TensorFile<R>, stage: Option<u8>) -> Result<Self, String> {
        let has = |stage: u8| {
            let names = Self::Stage(stage);
            Signal::ALL
                .into_iter()
                .any(|signal| signal != Signal::Projected && file.contains(&names.signal(signal)))
        };
        let plain = Signal::ALL.into_iter().any(|signal| file.contains(signal.name()));
        match stage {
            Some(stage) if has(stage) => Ok(Self::Stage(stage)),
            Some(stage) => Err(format!(
                "--stage {stage}, but the file has no tensor 'stage{stage}.*', accepted: a dump of \
                 mico trace whose request had that stage"
            )),
            None if !plain && has(1) => Ok(Self::Stage(1)),
            None => Ok(Self::Plain),
        }
    }

    fn signal(self, signal: Signal) -> String {
        match self {
            // Both stages choose among the same embeddings only before the decoder.
            Self::Stage(1) if signal == Signal::Projected => EMBEDS.to_owned(),
            _ => self.tensor(signal.name()),
        }
    }

    fn tensor(self, name: &str) -> String {
        match self {
            Self::Plain => name.to_owned(),
            Self::Stage(stage) => format!("stage{stage}.{name}"),
        }
    }
}

impl Tensors {
    pub(super) fn load<R: Read + Seek>(reader: R, source: &Source<'_>) -> Result<Self, String> {
        let mut file = TensorFile::open(reader).map_err(|error| error.to_string())?;
        let names = Names::of(&file, source.stage)?;
        let present: Vec<Signal> = Signal::ALL
            .into_iter()
            .filter(|&signal| file.contains(&names.signal(signal)))
            .collect();
        let read = source.selector.reads(SignalSet::of(&present));
        let read = read.map_err(|error| error.to_string())?;
        let mut left = source.memory;
        let mut floats = Vec::new();
        for signal in read.iter() {
            let name = names.signal(signal);
            let tensor = file.floats(&name, left as u64);
            let (values, shape) = tensor.map_err(|error| error.to_string())?;
            check_axes(&name, &shape, if signal.is_vector() { 1 } else { 2 })?;
            left -= size_of_val(values.as_slice());
            floats.push((signal, values, shape));
        }
        let groups = integers(&mut file, &names.tensor(GROUP), &mut left)?;
        let tokens = match names {
            Names::Plain => None,
            Names::Stage(_) => integers(&mut file, &names.tensor(TOKEN), &mut left)?,
        };
        let bytes = source.memory - left;
        let mut tensors = Self { floats, groups, tokens: None, count: 0, bytes };
        tensors.count = tensors.rows();
        tensors.tokens = tokens.map(|tokens| places(&tokens, tensors.count)).transpose()?;
        if names != Names::Plain {
            tensors.leave_out_ungrouped();
        }
        Ok(tensors)
    }

    /// Number of visual tokens.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The memory that the tensors take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Rows of the tensors that have one for each token.
    fn rows(&self) -> usize {
        let with_tokens = self.floats.iter().find(|(signal, ..)| signal.counts_tokens());
        with_tokens.map_or(
            0,
            |(signal, _, shape)| {
                if *signal == Signal::TextAttention { shape[1] } else { shape[0] }
            },
        )
    }

    /// Tokens that a dump puts into no group, such as newlines, are never chosen.
    fn leave_out_ungrouped(&mut self) {
        let count = self.count;
        // Labels of another number of tokens are refused where they are used.
        let labels = self.groups.as_mut().filter(|labels| labels.len() == count);
        let Some(groups) = labels.filter(|labels| labels.iter().any(|&group| group < 0)) else {
            return;
        };
        let stays: Vec<usize> = (0..groups.len()).filter(|&token| groups[token] >= 0).collect();
        for (signal, values, shape) in &mut self.floats {
            if !signal.counts_tokens() || shape[0] != groups.len() {
                continue;
            }
            let columns = shape.get(1).copied().unwrap_or(1);
            let row =
                |&token: &usize| values[token * columns..(token + 1) * columns].iter().copied();
            *values = stays.iter().flat_map(row).collect();
            shape[0] = stays.len();
        }
        groups.retain(|&group| group >= 0);
        self.tokens = Some(match &self.tokens {
            Some(tokens) => stays.iter().map(|&token| tokens[token]).collect(),
            None => stays,
        });
    }

    pub(super) fn inputs(&self) -> mico_select::Result<Inputs<'_>> {
        let mut inputs = Inputs::new();
        for (signal, values, shape) in &self.floats {
            let cols = shape.get(1).copied().unwrap_or(1);
            inputs = inputs.with(*signal, Matrix::from_f32(values, shape[0], cols)?);
        }
        Ok(match &self.groups {
            Some(groups) => inputs.with_groups(groups),
            None => inputs,
        })
    }

    /// A selection of rows with their places in the whole sequence.
    pub(super) fn in_sequence(&self, mut selection: Selection) -> Selection {
        let Some(tokens) = &self.tokens else { return selection };
        let renumber = |rows: &mut Vec<usize>| rows.iter_mut().for_each(|row| *row = tokens[*row]);
        renumber(&mut selection.kept);
        selection.kept.sort_unstable();
        renumber(&mut selection.order);
        for merge in &mut selection.merges {
            merge.target = tokens[merge.target];
            renumber(&mut merge.sources);
        }
        for replaced in &mut selection.replaced {
            replaced.position = tokens[replaced.position];
            replaced.token = tokens[replaced.token];
        }
        selection
    }
}

/// A tensor of whole numbers, if the file has it.
fn integers<R: Read + Seek>(
    file: &mut TensorFile<R>,
    name: &str,
    left: &mut usize,
) -> Result<Option<Vec<i64>>, String> {
    if !file.contains(name) {
        return Ok(None);
    }
    let (values, shape) = file.integers(name, *left as u64).map_err(|error| error.to_string())?;
    check_axes(name, &shape, 1)?;
    *left -= size_of_val(values.as_slice());
    Ok(Some(values))
}

/// The tokens of a dump's rows; one number for each of them.
fn places(tokens: &[i64], rows: usize) -> Result<Vec<usize>, String> {
    let places: Option<Vec<usize>> =
        tokens.iter().map(|&token| usize::try_from(token).ok()).collect();
    places.filter(|places| places.len() == rows).ok_or_else(|| {
        format!("tensor 'stage2.{TOKEN}' has {} numbers, expected one of 0 or more for each of {rows} rows", tokens.len())
    })
}

fn check_axes(name: &str, shape: &[usize], expected: usize) -> Result<(), String> {
    if shape.len() == expected {
        return Ok(());
    }
    let axes = if expected == 1 { "one axis" } else { "two axes" };
    Err(format!("tensor '{}' has shape {shape:?}, expected {axes}", quoted(name)))
}
