//! MMBench: a question counts only if it is right in every rotation of its options.

use std::collections::{BTreeMap, BTreeSet};

/// How far apart the rotations of one question are numbered.
pub const ROTATION: i64 = 1_000_000;

/// One judged rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Its number.
    pub index: i64,
    /// The number of the question it is a rotation of.
    pub group: i64,
    /// Whether it was answered right.
    pub right: bool,
}

/// The group an index belongs to where the file names none.
pub fn group_of(index: i64) -> i64 {
    index.rem_euclid(ROTATION)
}

/// Whether each question is right in all its rotations; rotations whose base row is missing are left out.
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
