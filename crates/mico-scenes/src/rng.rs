//! The generator's own random numbers, so that a seed means the same scene for ever.

/// `SplitMix64`: a counter through a mixing function.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// A stream of its own for every combination of `keys`.
    pub fn keyed(keys: &[u64]) -> Self {
        let mut state = 0x6d69_636f_7363_656e;
        for &key in keys {
            state = Self(state ^ key).next();
        }
        Self(state)
    }

    /// The next 64 random bits.
    #[allow(clippy::should_implement_trait, reason = "an endless stream needs no Option")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound` (0 if `bound` is 0).
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// A number in `[low, high)`.
    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.next() >> 40) as f32 / (1_u64 << 24) as f32
    }

    /// True with the given probability.
    pub fn chance(&mut self, probability: f32) -> bool {
        self.between(0.0, 1.0) < probability
    }

    /// One of the items, `None` of an empty list.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}
