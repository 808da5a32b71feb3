//! A run shared by several machines.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::item::Item;
use crate::record::seed;

/// The part of the items that one machine takes: all questions about a picture go to the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// Which part, from 1.
    index: u64,
    /// The number of parts that the items are cut into.
    of: u64,
}

impl Default for Shard {
    fn default() -> Self {
        Self { index: 1, of: 1 }
    }
}

impl Shard {
    /// Every part of a run cut into as many as this one.
    pub fn all(self) -> impl Iterator<Item = Self> {
        (1..=self.of).map(move |index| Self { index, of: self.of })
    }

    /// Whether it is the whole run.
    pub fn is_whole(self) -> bool {
        self.of == 1
    }

    /// Whether an item is in this part.
    pub(crate) fn contains(self, item: &Item) -> bool {
        self.is_whole() || seed(&item.cluster) % self.of == self.index - 1
    }
}

/// The largest number of parts that is accepted.
const MAX_PARTS: u64 = 10_000;

impl FromStr for Shard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::OutOfRange {
            what: "shard",
            found: format!("'{text}'"),
            accepted: format!("i/n with 1 <= i <= n <= {MAX_PARTS}, such as 1/4"),
        };
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let index: u64 = index.trim().parse().map_err(|_| wrong())?;
        let of: u64 = of.trim().parse().map_err(|_| wrong())?;
        if (1..=of).contains(&index) && of <= MAX_PARTS {
            Ok(Self { index, of })
        } else {
            Err(wrong())
        }
    }
}

impl Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl TryFrom<String> for Shard {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_in_exactly_one_part_and_pictures_stay_whole() {
        let item = |cluster: usize| Item {
            id: "x".into(),
            track: 0,
            position: 0,
            cluster: cluster.to_string(),
            fields: mico_score::Fields::new(),
            visuals: Vec::new(),
        };
        let third: Shard = "2/3".parse().unwrap();
        let mut taken = [0; 3];
        for cluster in 0..300 {
            let of: Vec<usize> = third
                .all()
                .enumerate()
                .filter_map(|(at, shard)| shard.contains(&item(cluster)).then_some(at))
                .collect();
            assert_eq!(of.len(), 1);
            taken[of[0]] += 1;
        }
        assert!(taken.iter().all(|&count| count > 60), "{taken:?}");
        for wrong in ["", "1", "0/2", "3/2", "1/0", "a/b", "1/99999999", "-1/2"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
