//! Items in batches about one picture.

use std::collections::BTreeMap;

use crate::item::{DamagedRow, Item};
use crate::shard::Shard;
use crate::source::Items;

/// The most items that share what the vision side saw.
const TOGETHER: usize = 32;

/// Consecutive items about the same picture, as far as they belong to this part of the run.
pub(super) struct Batches<'a> {
    items: Items<'a>,
    shard: Shard,
    /// The first item of the next batch.
    next: Option<Item>,
    damaged: Vec<DamagedRow>,
    passed: usize,
    /// The tracks of the items that came.
    taken: BTreeMap<usize, usize>,
}

impl<'a> Batches<'a> {
    pub(super) fn new(items: Items<'a>, shard: Shard) -> Self {
        Self { items, shard, next: None, damaged: Vec::new(), passed: 0, taken: BTreeMap::new() }
    }

    /// Items of other parts and damaged rows met since this was last asked.
    pub(super) fn take_passed(&mut self) -> usize {
        std::mem::take(&mut self.passed)
    }

    /// How many items of each track came.
    pub(super) fn taken(&self, tracks: usize) -> Vec<usize> {
        (0..tracks).map(|track| self.taken.get(&track).copied().unwrap_or_default()).collect()
    }

    pub(super) fn into_damaged(self) -> Vec<DamagedRow> {
        self.damaged
    }

    fn own(&mut self) -> Option<Item> {
        loop {
            match self.items.next()? {
                Ok(item) if self.shard.contains(&item) => {
                    *self.taken.entry(item.track).or_default() += 1;
                    return Some(item);
                }
                Ok(_) => {}
                Err(damaged) => self.damaged.push(damaged),
            }
            self.passed += 1;
        }
    }
}

impl Iterator for Batches<'_> {
    type Item = Vec<Item>;

    fn next(&mut self) -> Option<Vec<Item>> {
        let first = match self.next.take() {
            Some(item) => item,
            None => self.own()?,
        };
        let mut batch = vec![first];
        while batch.len() < TOGETHER {
            let Some(item) = self.own() else { break };
            if item.cluster == batch[0].cluster {
                batch.push(item);
            } else {
                self.next = Some(item);
                break;
            }
        }
        Some(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: usize, cluster: &str) -> Item {
        Item {
            id: id.to_string(),
            track: 0,
            position: id,
            cluster: cluster.into(),
            fields: mico_score::Fields::new(),
            visuals: Vec::new(),
        }
    }

    #[test]
    fn items_about_a_picture_come_together_and_none_is_lost() {
        let broken = Err(DamagedRow { track: "t".into(), reason: "row 3".into() });
        let whole = |id, cluster| Ok(item(id, cluster));
        let rows = vec![whole(0, "a"), whole(1, "a"), broken, whole(3, "b"), whole(4, "a")];
        let mut batches = Batches::new(Box::new(rows.into_iter()), Shard::default());
        let ids: Vec<Vec<String>> =
            batches.by_ref().map(|batch| batch.into_iter().map(|item| item.id).collect()).collect();
        assert_eq!(ids, [vec!["0", "1"], vec!["3"], vec!["4"]]);
        assert_eq!(batches.take_passed(), 1);
        assert_eq!(batches.into_damaged().len(), 1);
    }

    #[test]
    fn a_crowd_is_cut() {
        let rows: Vec<_> = (0..TOGETHER + 3).map(|id| Ok(item(id, "a"))).collect();
        let sizes: Vec<usize> =
            Batches::new(Box::new(rows.into_iter()), Shard::default()).map(|b| b.len()).collect();
        assert_eq!(sizes, [TOGETHER, 3]);
    }
}
