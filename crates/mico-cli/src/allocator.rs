//! The system's allocator, with a count of what it gave out.
//!
//! Nothing is counted until somebody asks for it: until then an allocation costs one read of a flag
//! that never changes. Zeroed and grown blocks are left to the system, which can often do without
//! touching memory; a counter that filled or copied them itself would change what is measured.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

use mico_cli::bench::AllocationMeter;

/// Whether allocations are counted.
static COUNTING: AtomicBool = AtomicBool::new(false);
/// Bytes given out since counting began, less those taken back. What was allocated before and freed
/// since makes it smaller, so it has a sign.
static CURRENT: AtomicIsize = AtomicIsize::new(0);
/// The most of it since the last reset.
static PEAK: AtomicIsize = AtomicIsize::new(0);

/// The allocator of the program.
#[derive(Debug)]
pub(crate) struct Counting;

fn gave(bytes: usize) {
    if COUNTING.load(Ordering::Relaxed) {
        let bytes = bytes.cast_signed();
        let now = CURRENT.fetch_add(bytes, Ordering::Relaxed).wrapping_add(bytes);
        PEAK.fetch_max(now, Ordering::Relaxed);
    }
}

fn took(bytes: usize) {
    if COUNTING.load(Ordering::Relaxed) {
        CURRENT.fetch_sub(bytes.cast_signed(), Ordering::Relaxed);
    }
}

// SAFETY: every call is handed to the system's allocator as it came, and what that returns is
// returned unchanged; the counters are touched by atomic operations that neither allocate nor panic.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() {
            gave(layout.size());
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            gave(layout.size());
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`; the block came from the same allocator.
        unsafe { System.dealloc(block, layout) };
        took(layout.size());
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `realloc`; the block came from the same allocator.
        let moved = unsafe { System.realloc(block, layout, size) };
        if !moved.is_null() {
            took(layout.size());
            gave(size);
        }
        moved
    }
}

impl AllocationMeter for Counting {
    fn begin(&self) {
        COUNTING.store(true, Ordering::Relaxed);
    }

    fn reset_peak(&self) {
        PEAK.store(CURRENT.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    fn current(&self) -> u64 {
        u64::try_from(CURRENT.load(Ordering::Relaxed)).unwrap_or(0)
    }

    fn peak(&self) -> u64 {
        u64::try_from(PEAK.load(Ordering::Relaxed)).unwrap_or(0)
    }
}
