//! One module for every rule by which an answer is read and judged.
