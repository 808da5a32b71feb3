//! Makes ids unique within a dataset.

use std::collections::BTreeMap;

/// Counts ids that repeat (such as two questions about one image): the second becomes `id#2`.
#[derive(Default)]
pub(crate) struct Ids(BTreeMap<String, u32>);

impl Ids {
    pub(crate) fn unique(&mut self, id: &str) -> String {
        let count = self.0.entry(id.to_owned()).or_default();
        *count += 1;
        if *count == 1 { id.to_owned() } else { format!("{id}#{count}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_numbered() {
        let mut ids = Ids::default();
        assert_eq!(["a", "b", "a", "a"].map(|id| ids.unique(id)), ["a", "b", "a#2", "a#3"]);
    }
}
