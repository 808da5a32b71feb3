//! What the operating system says about memory and processor.
//!
//! Read from Linux's `/proc`: a handful of lines, which need neither a system-information crate nor
//! `unsafe`. Elsewhere everything is `None`, and callers do without.

use std::fs;

const STATUS: &str = "/proc/self/status";
const MEMINFO: &str = "/proc/meminfo";
const CPUINFO: &str = "/proc/cpuinfo";

/// The most bytes of physical memory this process has held at once.
pub fn peak_resident() -> Option<u64> {
    bytes(STATUS, "VmHWM")
}

/// Bytes of physical memory this process holds now.
pub fn resident() -> Option<u64> {
    bytes(STATUS, "VmRSS")
}

/// Makes [`peak_resident`] count from now on; says whether the system does that.
pub fn reset_peak_resident() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// Bytes of physical memory that can be had without swapping.
pub fn available() -> Option<u64> {
    bytes(MEMINFO, "MemAvailable")
}

/// Bytes of physical memory of the machine.
pub fn total() -> Option<u64> {
    bytes(MEMINFO, "MemTotal")
}

/// The processor's own name.
pub fn processor() -> Option<String> {
    value(&fs::read_to_string(CPUINFO).ok()?, "model name").map(str::to_owned)
}

fn bytes(file: &str, name: &str) -> Option<u64> {
    kibibytes(&fs::read_to_string(file).ok()?, name)
}

fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let kibibytes: u64 = value(text, name)?.strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The value of the first line `name: value`.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(found, _)| found.trim() == name).map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_by_their_whole_name() {
        let text =
            "VmHWMx:\t9 kB\nVmHWM:\t    2048 kB\nmodel name\t: Some CPU @ 2 GHz\nVmRSS: 3 MB\n";
        assert_eq!(kibibytes(text, "VmHWM"), Some(2 << 20));
        assert_eq!(kibibytes(text, "VmRSS"), None);
        assert_eq!(kibibytes(text, "VmSwap"), None);
        assert_eq!(value(text, "model name"), Some("Some CPU @ 2 GHz"));
    }

    #[test]
    fn this_process_holds_memory_where_the_system_tells() {
        if cfg!(target_os = "linux") {
            let (now, most) = (resident().unwrap(), peak_resident().unwrap());
            assert!(0 < now && now <= most + (64 << 20), "{now} {most}");
            assert!(available().unwrap() <= total().unwrap());
        } else {
            assert_eq!((resident(), total()), (None, None));
        }
    }
}
