//! Readers for the benchmark files of the public toolkits, and for prediction files made by them.
//!
//! Rows are streamed, so memory use does not grow with the file. A damaged row is an error that
//! names file and row, and reading continues after it.
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
//! # Search order
//!
//! [`open`] searches the given folder for these layouts in order and takes the first one found; [`open_as`]
//! selects one of them.
//!
//! 1. **VLMEvalKit tables**: `<Dataset>.tsv`, then `<Dataset>_local.tsv` (`MMBench_DEV_EN`, `AI2D_TEST`,
//!    `POPE`, ...). Images of a `_local` table: `image_path` unchanged if absolute, otherwise under
//!    `images/<Dataset>/` or `images/<Dataset up to its first "_">/`; for MMBench the shared `images/MMBench/`
//!    first. `RefCOCO.tsv` may hold all three datasets, distinguished by a `split` such as `refcoco+_testA`.
//! 2. **LLaVA's evaluation folders**: `gqa`, `scienceqa`, `textvqa`, `pope`, `MME`, `mmbench`, `mmbench_cn`,
//!    `seed_bench`, in the folder itself, in its `playground/data/eval`, or the folder is the track's own.
//!    Gold answers are read into memory, since they are text.
//! 3. **Parquet** with the columns of lmms-eval: `*.parquet` at any depth below a folder with the dataset's
//!    name (`GQA`, `Video-MME`, ...) or the track's, in any case. If file
//!    names state the split, only the track's split is read. Videos: in `videos/`, `video/`, `data/` or the
//!    folder itself, with or without file ending. One page of every column read is in memory at a time, the
//!    smallest unit that the format allows.
//! 4. **gRefCOCO**: `grefcoco/grefs(unc).json` with `instances.json`; images in `train2014`, `images/train2014`
//!    or `images`.
//!
//! # Security
//!
//! Paths of images and videos in a dataset are used unchanged, even if they are absolute or contain `..`.
//! Inspect files from untrusted sources before reading them on a machine that holds secrets.
//!
//! # Ids
//!
//! A sample's id is the dataset's own (`index`, `question_id`, ...). If that repeats, as for the two questions
//! about one image of MME, the second becomes `id#2` and the field `question_id` keeps the original. Samples
//! from parquet files have a field `doc_id`, their number in lmms-eval's order.
//!
//! # Features
//!
//! `parquet` (the third layout above) and `xlsx` (workbooks of predictions) are on by default. Without them
//! such files are found but rejected with an error that names them, and their decoders are not compiled;
//! `parquet` is the only part that needs a C compiler, for zstd.
//!
//! # Panics
//!
//! No panic reaches the caller. The decoders of parquet files and workbooks panic on some damaged files; such
//! a panic is caught and becomes an error. The process's panic hook is not replaced, so it is called first and
//! may print a message; see [`mico_util::is_catching_panic`].

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
mod predictions;
mod sample;
mod samples;
mod shards;
mod tsv;

pub use dataset::{Dataset, Layout, open, open_as};
pub use error::{Damaged, Error};
pub use predictions::{Form, Prediction, Predictions, predictions};
pub use sample::{Sample, Visual};
pub use samples::Samples;
