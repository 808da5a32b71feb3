//! Benchmark files as people have them on disk, read as a stream.
//!
//! Rows come one at a time; what is in memory at once does not grow with the file. A damaged row is an
//! error that names file and row, and the rows after it still come.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dataset = mico_data::open("LMUData".as_ref(), "pope".parse()?)?;
//! let mut samples = dataset.samples()?;
//! for sample in samples.by_ref().take(10) {
//!     match sample {
//!         Ok(sample) => println!("{}: {}", sample.id, sample.fields["question"]),
//!         Err(damaged) => eprintln!("{damaged}"),
//!     }
//! }
//! eprintln!("{} damaged, {} without image", samples.damaged(), samples.dropped());
//! # Ok(())
//! # }
//! ```
//!
//! # What is looked for
//!
//! Under the folder given to [`open`], in this order; the first layout found is taken, [`open_as`] forces one.
//!
//! 1. **VLMEvalKit tables**: `<Dataset>.tsv`, then `<Dataset>_local.tsv` (`MMBench_DEV_EN`, `AI2D_TEST`,
//!    `POPE`, ...). Images of a localised table: `image_path` as it stands if absolute, else under
//!    `images/<Dataset>/` or `images/<Dataset up to its first "_">/`; for MMBench the shared `images/MMBench/`
//!    first. `RefCOCO.tsv` may hold all three sets: a `split` such as `refcoco+_testA` tells them apart.
//! 2. **LLaVA's evaluation folders**: `gqa`, `scienceqa`, `textvqa`, `pope`, `MME`, `mmbench`, `mmbench_cn`,
//!    `seed_bench`, in the folder itself, in its `playground/data/eval`, or the folder is the track's own.
//!    Gold is read whole: it is text.
//! 3. **Parquet** with the columns of lmms-eval: `*.parquet` at any depth below a folder with the dataset's
//!    name (`GQA`, `Video-MME`, ...) or the track's, in any case. Only the track's split counts where file
//!    names tell splits. Videos: `videos/`, `video/`, `data/` or the folder itself, with or without ending.
//!    In memory: one page of every column read, which is what the format lets a reader fetch.
//! 4. **gRefCOCO**: `grefcoco/grefs(unc).json` with `instances.json`; images in `train2014`, `images/train2014`
//!    or `images`.
//!
//! # What a file may name
//!
//! Paths of images and videos are used as the data's owner wrote them, absolute or climbing with `..`. Files
//! of strangers should be looked at before they are read on a machine that holds secrets.
//!
//! # Ids
//!
//! The dataset's own (`index`, `question_id`, ...). Where that repeats, as for the two questions about one
//! picture of MME, the second is `id#2` and the field `question_id` keeps the original. Samples from
//! parquet files carry `doc_id`, their number in lmms-eval's order.
//!
//! # Features
//!
//! `parquet` (the third layout above) and `xlsx` (workbooks of predictions) are on by default. Without them
//! such files are found and refused by name, and their decoders are not compiled; `parquet` is the one part
//! that needs a C compiler, for its zstd.
//!
//! # Panics
//!
//! None reach the caller. The decoders of parquet files and workbooks panic on some damaged files; that is
//! caught and becomes an error. The process's panic hook is not touched, so it sees such a panic first and
//! may print it; see [`is_catching_panic`].

#![forbid(unsafe_code)]

mod coco;
mod dataset;
mod error;
mod fields;
mod ids;
mod json;
mod literal;
mod llava;
mod missing;
mod names;
mod panics;
mod predictions;
mod sample;
mod samples;
mod shards;
mod tsv;

pub use dataset::{Dataset, Layout, open, open_as};
pub use error::{Damaged, Error};
pub use panics::is_catching_panic;
pub use predictions::{Form, Prediction, Predictions, predictions};
pub use sample::{Sample, Visual};
pub use samples::Samples;
