//! The scoring rules of the public toolkits, one module per benchmark or parser.
//!
//! All are pure functions of texts and numbers. An answer that cannot be parsed is wrong and stays
//! in the denominator, unless a rule's documentation says that the public code does otherwise.

pub mod ai2d;
pub mod boxes;
pub mod chartqa;
pub mod diagnostics;
pub mod docvqa;
pub mod gqa;
pub mod grec;
pub mod hallusion;
pub mod lvb;
pub mod mcq;
pub mod missing;
pub mod mlvu;
pub mod mmbench;
pub mod mme;
pub mod mmmu;
pub mod mmmu_open;
pub mod mmstar;
pub mod mvbench;
pub mod ocrbench;
pub mod options;
pub mod pope;
pub mod refcoco;
pub mod seed;
pub mod sqa;
pub mod videomme;
pub mod vqa;
mod vqa_tables;
pub mod vtc;
pub mod yesno;

/// The options of a multiple-choice question, keyed by letter.
pub type Choices = std::collections::BTreeMap<char, String>;

/// `count` out of `of` in percent; 0 if `of` is 0.
pub fn percent(count: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { 100.0 * count as f64 / of as f64 }
}
