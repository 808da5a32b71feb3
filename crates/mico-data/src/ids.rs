//! Makes ids unique within a dataset.

use std::collections::BTreeMap;

/// Counts ids that repeat (such as two questions about one image): the second becomes `id#2`, or what comes
/// next if a row has that for an id.
#[derive(Default)]
pub(crate) struct Ids(BTreeMap<String, u64>);

impl Ids {
    pub(crate) fn unique(&mut self, id: &str) -> String {
        let Some(mut count) = self.0.get(id).copied() else {
            self.0.insert(id.to_owned(), 1);
            return id.to_owned();
        };
        let unique = loop {
            count += 1;
            let next = format!("{id}#{count}");
            if !self.0.contains_key(&next) {
                break next;
            }
        };
        self.0.insert(id.to_owned(), count);
        self.0.insert(unique.clone(), 1);
        unique
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_numbered() {
        let mut ids = Ids::default();
        assert_eq!(["a", "b", "a", "a"].map(|id| ids.unique(id)), ["a", "b", "a#2", "a#3"]);
        // A row may have such an id of its own, before or after.
        assert_eq!(["a#2", "a#4", "a"].map(|id| ids.unique(id)), ["a#2#2", "a#4", "a#5"]);
    }
}
