//! Values in the order of their last use, up to a number of bytes.

use std::collections::BTreeMap;

use super::{CacheKey, CacheValue};

#[derive(Debug)]
pub(super) struct Lru<V> {
    capacity: u64,
    bytes: u64,
    entries: BTreeMap<CacheKey, Entry<V>>,
    /// Keys by the time of their last use.
    uses: BTreeMap<u64, CacheKey>,
    /// Counts uses; at one per nanosecond it lasts for centuries.
    time: u64,
}

#[derive(Debug)]
struct Entry<V> {
    kept: CacheValue<V>,
    used: u64,
}

impl<V: Clone> Lru<V> {
    pub(super) fn new(capacity: u64) -> Self {
        let (entries, uses) = (BTreeMap::new(), BTreeMap::new());
        Self { capacity, bytes: 0, entries, uses, time: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn get(&mut self, key: CacheKey) -> Option<V> {
        let entry = self.entries.get_mut(&key)?;
        self.uses.remove(&entry.used);
        self.time += 1;
        entry.used = self.time;
        self.uses.insert(self.time, key);
        Some(entry.kept.value.clone())
    }

    /// Keeps a value and returns how many others had to leave; `None` if it is too large to be kept,
    /// in which case nothing changes.
    pub(super) fn insert(&mut self, key: CacheKey, kept: CacheValue<V>) -> Option<u64> {
        if kept.bytes > self.capacity {
            return None;
        }
        self.remove(key);
        let mut evicted = 0;
        while self.bytes > self.capacity - kept.bytes {
            let Some((_, oldest)) = self.uses.pop_first() else { break };
            self.remove(oldest);
            evicted += 1;
        }
        self.bytes += kept.bytes;
        self.time += 1;
        self.uses.insert(self.time, key);
        self.entries.insert(key, Entry { kept, used: self.time });
        Some(evicted)
    }

    fn remove(&mut self, key: CacheKey) {
        if let Some(entry) = self.entries.remove(&key) {
            self.uses.remove(&entry.used);
            self.bytes -= entry.kept.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(name: u8) -> CacheKey {
        CacheKey([name; 32])
    }

    /// A list in the order of use, oldest first, which is slow and obviously right.
    #[derive(Default)]
    struct Model(Vec<(u8, u64)>);

    impl Model {
        fn get(&mut self, name: u8) -> bool {
            let at = self.0.iter().position(|entry| entry.0 == name);
            at.map(|at| self.0.remove(at)).map(|entry| self.0.push(entry)).is_some()
        }

        fn bytes(&self) -> u64 {
            self.0.iter().map(|entry| entry.1).sum()
        }

        fn insert(&mut self, name: u8, bytes: u64, capacity: u64) -> Option<u64> {
            if bytes > capacity {
                return None;
            }
            self.0.retain(|entry| entry.0 != name);
            let before = self.0.len();
            while self.bytes() + bytes > capacity {
                self.0.remove(0);
            }
            let evicted = before - self.0.len();
            self.0.push((name, bytes));
            Some(evicted as u64)
        }
    }

    proptest! {
        #[test]
        fn it_keeps_what_a_list_would(
            capacity in 0_u64..40,
            calls in prop::collection::vec((0_u8..8, prop::option::of(0_u64..24)), 0..200),
        ) {
            let (mut lru, mut model) = (Lru::new(capacity), Model::default());
            for (name, bytes) in calls {
                if let Some(bytes) = bytes {
                    let evicted = lru.insert(key(name), CacheValue { value: name, bytes });
                    prop_assert_eq!(evicted, model.insert(name, bytes, capacity));
                } else {
                    prop_assert_eq!(lru.get(key(name)).is_some(), model.get(name));
                }
                prop_assert_eq!((lru.len(), lru.bytes()), (model.0.len(), model.bytes()));
                prop_assert_eq!(lru.uses.len(), lru.entries.len());
                prop_assert!(lru.bytes() <= capacity);
            }
        }
    }
}
