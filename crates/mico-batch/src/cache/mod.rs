//! A cache of encoded images, shared by all requests. Open this to change what is kept for how long.

mod flight;
mod lru;

use std::sync::{Arc, Mutex};

use crate::signal::lock;
use flight::{Flight, Landing};
use lru::Lru;

/// The name of an encoded image: a 256-bit digest of everything that decides its features (the image's
/// bytes, the weights, the preprocessing). Never shortened, so that two images never share an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CacheKey(pub [u8; 32]);

/// A value with the bytes that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheValue<V> {
    /// What is kept. Clones of it should share their contents, as those of an `Arc` do.
    pub value: V,
    /// The bytes that it takes in memory, all clones together.
    pub bytes: u64,
}

/// The counts of an [`EncoderCache`] since it was made, and what it holds now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CacheStats {
    /// Values that were found.
    pub hits: u64,
    /// Values that were not found, and had to be encoded.
    pub misses: u64,
    /// Values that another request was encoding when they were asked for, and that were shared.
    pub joined: u64,
    /// Values that had to leave because others came.
    pub evicted: u64,
    /// Values that were not kept because they alone exceed the capacity.
    pub oversized: u64,
    /// Values held.
    pub entries: usize,
    /// Bytes held.
    pub bytes: u64,
}

/// Keeps the most recently used values up to a number of bytes.
///
/// What leaves is decided by the order of use alone, so equal calls leave equal contents. There are two ways
/// to use it:
///
/// * [`EncoderCache::get_or_encode`] from several threads: what several ask for at once is encoded by one of
///   them, while the others wait.
/// * [`EncoderCache::lookup`] and [`EncoderCache::insert`] from a scheduler's thread, which must not wait.
///   It works on one prompt at a time, so two requests never encode the same image at once there.
///
/// ```
/// use mico_batch::{CacheKey, EncoderCache, CacheValue};
/// use std::sync::Arc;
///
/// let cache = EncoderCache::new(512 << 20);
/// let key = CacheKey([7; 32]);
/// let encode = || Ok::<_, std::io::Error>(CacheValue { value: Arc::new([0.5_f32; 4]), bytes: 16 });
/// let first = cache.get_or_encode(key, encode)?;
/// let again = cache.get_or_encode(key, || unreachable!("it is there"))
///     .map_err(|error: std::io::Error| error)?;
/// assert!(Arc::ptr_eq(&first, &again));
/// assert_eq!((cache.stats().hits, cache.stats().misses), (1, 1));
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct EncoderCache<V> {
    capacity: u64,
    state: Mutex<State<V>>,
}

#[derive(Debug)]
struct State<V> {
    kept: Lru<V>,
    /// What is being encoded now.
    flights: std::collections::BTreeMap<CacheKey, Arc<Flight<V>>>,
    stats: CacheStats,
}

/// What is to be done about a value.
enum Found<V> {
    Kept(V),
    /// Another thread encodes it.
    InFlight(Arc<Flight<V>>),
    /// The caller encodes it.
    Missing(Arc<Flight<V>>),
}

impl<V: Clone> EncoderCache<V> {
    /// A cache that keeps values of up to `capacity` bytes together; 0 turns it off.
    pub fn new(capacity: u64) -> Self {
        let flights = std::collections::BTreeMap::new();
        let state = State { kept: Lru::new(capacity), flights, stats: CacheStats::default() };
        Self { capacity, state: Mutex::new(state) }
    }

    /// The bytes that it keeps at most.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The value if it is kept; it then counts as used. Never waits for one that is being encoded.
    pub fn lookup(&self, key: CacheKey) -> Option<V> {
        if self.capacity == 0 {
            return None;
        }
        let mut state = lock(&self.state);
        let found = state.kept.get(key);
        let stats = &mut state.stats;
        *if found.is_some() { &mut stats.hits } else { &mut stats.misses } += 1;
        found
    }

    /// Keeps a value, in place of what was kept under its key. What was used longest ago leaves until
    /// there is room; a value that alone exceeds the capacity is not kept.
    pub fn insert(&self, key: CacheKey, value: CacheValue<V>) {
        if self.capacity > 0 {
            lock(&self.state).insert(key, value);
        }
    }

    /// The value of `key`: the kept one, or the one that another thread is encoding, or the one that
    /// `encode` makes, which is then kept.
    ///
    /// If the encoding thread fails or panics, one of those that wait for it encodes in its place, with its
    /// own `encode`; an error is only seen by the thread whose `encode` returned it. `encode` must not
    /// ask for its own key, and threads that wait here must not be those that another thread's `encode`
    /// needs to get on (the workers of a thread pool that it uses).
    pub fn get_or_encode<E>(
        &self,
        key: CacheKey,
        encode: impl FnOnce() -> Result<CacheValue<V>, E>,
    ) -> Result<V, E> {
        if self.capacity == 0 {
            return encode().map(|encoded| encoded.value);
        }
        loop {
            match self.find(key) {
                Found::Kept(value) => return Ok(value),
                Found::InFlight(flight) => {
                    if let Some(value) = flight.wait() {
                        lock(&self.state).stats.joined += 1;
                        return Ok(value);
                    }
                    // It was given up: look again, and perhaps encode.
                }
                Found::Missing(flight) => {
                    // Given up on every way out but the last line.
                    let landing = Landing::new(flight, || {
                        lock(&self.state).flights.remove(&key);
                    });
                    let encoded = encode()?;
                    let value = encoded.value.clone();
                    lock(&self.state).insert(key, encoded);
                    landing.land(value.clone());
                    return Ok(value);
                }
            }
        }
    }

    /// The counts so far, and what is held.
    pub fn stats(&self) -> CacheStats {
        let state = lock(&self.state);
        CacheStats { entries: state.kept.len(), bytes: state.kept.bytes(), ..state.stats }
    }

    /// Forgets every value. The counts stay.
    pub fn clear(&self) {
        lock(&self.state).kept = Lru::new(self.capacity);
    }

    fn find(&self, key: CacheKey) -> Found<V> {
        let mut state = lock(&self.state);
        if let Some(value) = state.kept.get(key) {
            state.stats.hits += 1;
            return Found::Kept(value);
        }
        if let Some(flight) = state.flights.get(&key) {
            return Found::InFlight(Arc::clone(flight));
        }
        state.stats.misses += 1;
        let flight = Arc::new(Flight::default());
        state.flights.insert(key, Arc::clone(&flight));
        Found::Missing(flight)
    }
}

impl<V: Clone> State<V> {
    fn insert(&mut self, key: CacheKey, value: CacheValue<V>) {
        match self.kept.insert(key, value) {
            Some(evicted) => self.stats.evicted += evicted,
            None => self.stats.oversized += 1,
        }
    }
}
