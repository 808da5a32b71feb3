//! MMBench's circular evaluation: a question counts only if it is right in every rotation of its options.

use std::collections::{BTreeMap, BTreeSet};

/// The difference between the indices of two rotations of one question.
pub const ROTATION: i64 = 1_000_000;

/// One rotation of a question, marked right or wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The row's index in the file.
    pub index: i64,
    /// The index of the question's base row, which all its rotations share.
    pub group: i64,
    /// Whether this rotation was answered correctly.
    pub right: bool,
}

/// The group of an index, for files that do not state it.
pub fn group_of(index: i64) -> i64 {
    index.rem_euclid(ROTATION)
}

/// For each question, whether all its rotations are right. Rotations without their base row are left out.
pub fn circular(rows: &[Row]) -> BTreeMap<i64, bool> {
    let bases: BTreeSet<i64> =
        rows.iter().filter(|row| row.index == row.group).map(|row| row.group).collect();
    let mut hits = BTreeMap::new();
    for row in rows.iter().filter(|row| bases.contains(&row.group)) {
        *hits.entry(row.group).or_insert(true) &= row.right;
    }
    hits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_rotation_spoils_the_group() {
        let row = |index, right| Row { index, group: group_of(index), right };
        let rows = [
            row(1, true),
            row(1_000_001, true),
            row(2, true),
            row(2_000_002, false),
            row(1_000_003, true),
        ];
        assert_eq!(circular(&rows), BTreeMap::from([(1, true), (2, false)]));
    }
}
