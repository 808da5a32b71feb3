//! Memory use of the process, what is free for it, memory size of the machine and the processor's name.
//!
//! The values are read from Linux's `/proc`, which needs neither a system-information crate nor
//! `unsafe`. On other systems nothing is reported (`None` or `false`).

mod free;

pub use free::free;

use std::fs;

const STATUS: &str = "/proc/self/status";
const MEMINFO: &str = "/proc/meminfo";
const CPUINFO: &str = "/proc/cpuinfo";

/// The peak resident set size of this process in bytes.
pub fn peak_resident() -> Option<u64> {
    bytes(STATUS, "VmHWM")
}

/// The current resident set size of this process in bytes.
pub fn resident() -> Option<u64> {
    bytes(STATUS, "VmRSS")
}

/// Restarts the measurement of [`peak_resident`]; returns whether the system supports that.
pub fn reset_peak_resident() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// The physical memory in bytes that is available without swapping.
pub fn available() -> Option<u64> {
    bytes(MEMINFO, "MemAvailable")
}

/// The physical memory of the machine in bytes.
pub fn total() -> Option<u64> {
    bytes(MEMINFO, "MemTotal")
}

/// The model name of the processor, such as "AMD EPYC 7763"; `None` if the system does not report it.
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

/// The value of the first line of the form `name: value`.
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
