//! The one seeded random number generator of the workspace, for scenes, sampling, selection,
//! resampling and synthetic weights.
//!
//! Its numbers determine pictures, answers and published tables, so neither the generator nor the
//! way in which numbers are derived from its bits may ever change. General-purpose crates guarantee
//! at most the former, which is why it is implemented here. Methods are `#[inline]` because inner
//! loops call them from crates that are optimised when this one is not.

/// The initial state of [`SplitMix64::keyed`]: the bytes of `micoscen`.
const KEYED_START: u64 = 0x6d69_636f_7363_656e;

/// The `SplitMix64` generator: a counter passed through a mixing function.
///
/// Not for cryptography: the state can be recovered from a single output.
///
/// ```
/// use mico_util::SplitMix64;
/// let mut rng = SplitMix64::new(7);
/// assert_eq!(rng.next_u64(), SplitMix64::new(7).next_u64());
/// assert!(rng.below(6) < 6);
/// ```
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The generator for a seed.
    #[inline]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A separate generator for every combination of `keys`, where their order matters.
    #[inline]
    pub fn keyed(keys: &[u64]) -> Self {
        Self(keys.iter().fold(KEYED_START, |state, key| Self(state ^ key).next_u64()))
    }

    /// A seed for the `stream`-th independent generator derived from this one.
    #[inline]
    pub fn fork(mut self, stream: u64) -> u64 {
        Self(self.next_u64() ^ stream).next_u64()
    }

    /// Returns the next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number in `[0, 1)` with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number in `[-1, 1)` with 24 random bits.
    #[inline]
    pub fn symmetric(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    }

    /// Returns a number in `[low, high)` with 24 random bits.
    #[inline]
    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.next_u64() >> 40) as f32 / (1_u64 << 24) as f32
    }

    /// Returns true with the given probability.
    #[inline]
    pub fn chance(&mut self, probability: f32) -> bool {
        self.between(0.0, 1.0) < probability
    }

    /// Returns a number below `bound` from exactly one draw; 0 if `bound` is 0. The distribution is
    /// biased by at most `bound` in 2^64.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// Returns an unbiased number below `bound`, from as many draws as needed; 0 if `bound` is 0.
    #[inline]
    pub fn below_unbiased(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        let Some(threshold) = bound.wrapping_neg().checked_rem(bound) else { return 0 };
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(bound);
            if wide as u64 >= threshold {
                return (wide >> 64) as usize;
            }
        }
    }

    /// Returns a random item; `None` if the list is empty.
    #[inline]
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// Draws `count` of `0..n` without replacement (all if there are fewer), in the order drawn.
    #[inline]
    pub fn sample(&mut self, n: usize, count: usize) -> Vec<usize> {
        let mut pool: Vec<usize> = (0..n).collect();
        for i in 0..count.min(n) {
            let j = i + self.below_unbiased(n - i);
            pool.swap(i, j);
        }
        pool.truncate(count);
        pool
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_reference_implementations() {
        // First numbers of the published C code for the seed 1234567.
        let mut rng = SplitMix64::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(expected.map(|_| rng.next_u64()), expected);
    }

    #[test]
    fn derived_numbers_never_change() {
        let mut rng = SplitMix64::keyed(&[1, 2, 3]);
        let bits = rng.clone().next_u64();
        assert_eq!(rng.clone().unit(), (bits >> 11) as f64 * 2f64.powi(-53));
        assert_eq!(rng.clone().below(10), ((u128::from(bits) * 10) >> 64) as usize);
        assert_eq!(rng.clone().below_unbiased(10), rng.clone().below(10));
        let unit = (bits >> 40) as f32 / 16_777_216.0;
        assert_eq!(rng.clone().between(2.0, 6.0), 2.0 + 4.0 * unit);
        assert_eq!(rng.clone().symmetric(), 2.0 * unit - 1.0);
        assert!(!rng.clone().chance(unit));
        let mut other = SplitMix64::new(rng.next_u64() ^ 5);
        assert_eq!(SplitMix64::keyed(&[1, 2, 3]).fork(5), other.next_u64());
    }

    #[test]
    fn bounds_hold_and_nothing_is_drawn_of_nothing() {
        let mut rng = SplitMix64::new(3);
        assert!((0..1000).all(|_| rng.below(7) < 7 && rng.below_unbiased(7) < 7));
        assert_eq!((rng.below(0), rng.below_unbiased(0)), (0, 0));
        assert_eq!(rng.pick::<u8>(&[]), None);
        let mut sample = rng.sample(9, 9);
        sample.sort_unstable();
        assert_eq!(sample, (0..9).collect::<Vec<_>>());
        assert_eq!(rng.sample(3, 8).len(), 3);
        assert_eq!(rng.sample(9, 4).len(), 4);
    }
}
