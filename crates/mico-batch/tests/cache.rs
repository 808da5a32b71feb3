//! The encoder cache between threads.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use mico_batch::{CacheKey, CacheValue, EncoderCache};

fn key(number: u8) -> CacheKey {
    CacheKey([number; 32])
}

fn value(text: &str, bytes: u64) -> CacheValue<Arc<str>> {
    CacheValue { value: text.into(), bytes }
}

#[test]
fn the_least_recently_used_leaves_first() {
    let cache = EncoderCache::new(10);
    cache.insert(key(1), value("one", 4));
    cache.insert(key(2), value("two", 4));
    assert_eq!(cache.lookup(key(1)).as_deref(), Some("one"));
    cache.insert(key(3), value("three", 4));
    assert_eq!(cache.lookup(key(2)), None);
    assert_eq!(cache.lookup(key(1)).as_deref(), Some("one"));
    // Exactly what is free fits; replacing a value frees its old bytes.
    cache.insert(key(3), value("three", 6));
    let stats = cache.stats();
    assert_eq!((stats.entries, stats.bytes, stats.evicted), (2, 10, 1));
    assert_eq!((stats.hits, stats.misses), (2, 1));
    cache.clear();
    assert_eq!((cache.stats().entries, cache.stats().bytes, cache.stats().hits), (0, 0, 2));
}

#[test]
fn a_value_larger_than_the_cache_is_returned_and_not_kept() {
    let cache = EncoderCache::new(10);
    cache.insert(key(1), value("one", 4));
    let large = cache.get_or_encode(key(2), || Ok::<_, ()>(value("large", 11)));
    assert_eq!(large.as_deref(), Ok("large"));
    assert_eq!(cache.lookup(key(2)), None);
    assert_eq!(cache.lookup(key(1)).as_deref(), Some("one"));
    assert_eq!((cache.stats().oversized, cache.stats().evicted), (1, 0));
}

#[test]
fn a_cache_without_capacity_is_off() {
    let cache = EncoderCache::new(0);
    let encoded = AtomicUsize::new(0);
    for _ in 0..3 {
        let encode = || {
            encoded.fetch_add(1, Ordering::SeqCst);
            Ok::<_, ()>(value("free", 0))
        };
        assert_eq!(cache.get_or_encode(key(1), encode).as_deref(), Ok("free"));
    }
    cache.insert(key(2), value("free", 0));
    assert_eq!(cache.lookup(key(2)), None);
    assert_eq!((encoded.into_inner(), cache.stats().entries), (3, 0));
}

#[test]
fn many_threads_encode_each_key_once() {
    let cache = EncoderCache::new(1 << 20);
    let encoded: Vec<AtomicUsize> = (0..16).map(|_| AtomicUsize::new(0)).collect();
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                for number in 0..16_u8 {
                    let encode = || {
                        encoded[usize::from(number)].fetch_add(1, Ordering::SeqCst);
                        Ok::<_, ()>(value(&number.to_string(), 8))
                    };
                    let found = cache.get_or_encode(key(number), encode).unwrap();
                    assert_eq!(*found, *number.to_string());
                }
            });
        }
    });
    assert!(encoded.iter().all(|count| count.load(Ordering::SeqCst) == 1));
    let stats = cache.stats();
    assert_eq!((stats.misses, stats.hits + stats.joined, stats.bytes), (16, 112, 128));
}

/// How the first of two threads leaves its encoding.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Done,
    DoneTooLarge,
    Failed,
    Panicked,
}

/// Starts an encoding, lets another thread ask for the same key, then lets the first leave. Returns what each
/// got, and whether the second encoded by itself.
fn two_threads(way: Way) -> (Option<Arc<str>>, Arc<str>, bool) {
    let cache = EncoderCache::new(10);
    let (inside, entered) = mpsc::channel();
    let (go, may_leave) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let cache = &cache;
        let first = scope.spawn(move || {
            cache.get_or_encode(key(1), || {
                inside.send(()).unwrap();
                may_leave.recv().unwrap();
                match way {
                    Way::Done => Ok(value("first", 1)),
                    Way::DoneTooLarge => Ok(value("first", 99)),
                    Way::Failed => Err("cannot"),
                    Way::Panicked => panic!("cannot"),
                }
            })
        });
        entered.recv().unwrap();
        let second = scope.spawn(move || {
            let mut encoded = false;
            let found = cache.get_or_encode(key(1), || {
                encoded = true;
                Ok::<_, &str>(value("second", 1))
            });
            (found.unwrap(), encoded)
        });
        go.send(()).unwrap();
        let first = first.join().ok().and_then(Result::ok);
        let (second, encoded) = second.join().unwrap();
        (first, second, encoded)
    })
}

#[test]
fn one_that_waits_takes_over_from_one_that_fails() {
    for way in [Way::Failed, Way::Panicked] {
        let (first, second, encoded) = two_threads(way);
        assert_eq!((first, &*second, encoded), (None, "second", true));
    }
}

#[test]
fn a_value_is_shared_by_those_who_asked_for_it_at_once() {
    let (first, second, encoded) = two_threads(Way::Done);
    assert_eq!((first.as_deref(), &*second, encoded), (Some("first"), "first", false));
    // One that is not kept is shared if the second came in time, and encoded again if not.
    let (first, second, encoded) = two_threads(Way::DoneTooLarge);
    assert_eq!(first.as_deref(), Some("first"));
    assert_eq!(&*second, if encoded { "second" } else { "first" });
}

#[test]
fn failing_again_and_again_ends_for_everybody() {
    let cache = EncoderCache::<Arc<str>>::new(10);
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        for number in 0..8 {
            let (cache, barrier) = (&cache, &barrier);
            scope.spawn(move || {
                barrier.wait();
                assert_eq!(cache.get_or_encode(key(1), || Err(number)), Err(number));
            });
        }
    });
    assert_eq!((cache.stats().misses, cache.stats().entries), (8, 0));
}
