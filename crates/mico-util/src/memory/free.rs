//! What a process can still take before the system refuses it: the tightest of the limits that can be read.

use std::fs;

use super::{MEMINFO, STATUS, kibibytes};

const LIMITS: &str = "/proc/self/limits";
const CGROUP: &str = "/proc/self/cgroup";
const CGROUP_ROOT: &str = "/sys/fs/cgroup";

/// A limit of `/proc/self/limits`, and the line of `/proc/self/status` that counts against it.
const PROCESS_LIMITS: [(&str, &str); 2] =
    [("Max address space", "VmSize"), ("Max data size", "VmData")];

/// Reads a small file of the system; `None` if it is not there or cannot be read.
type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Bytes that this process can still take: the least of the machine's available memory with its free swap
/// space, what the limits of the process (`ulimit -v`, `ulimit -d`) leave, and what the limits of its control
/// groups leave. `None` where the system tells none of them.
pub fn free() -> Option<u64> {
    free_by(&|path| fs::read_to_string(path).ok())
}

fn free_by(read: Read<'_>) -> Option<u64> {
    [machine(read), process(read), control_groups(read)].into_iter().flatten().min()
}

/// Memory that is available without swapping, and what can be swapped out beyond it.
fn machine(read: Read<'_>) -> Option<u64> {
    let text = read(MEMINFO)?;
    let swap = kibibytes(&text, "SwapFree").unwrap_or(0);
    Some(kibibytes(&text, "MemAvailable")?.saturating_add(swap))
}

/// What the soft limits of the process leave.
fn process(read: Read<'_>) -> Option<u64> {
    let (limits, status) = (read(LIMITS)?, read(STATUS)?);
    let left = |(limit, used): &(&str, &str)| {
        Some(soft_limit(&limits, limit)?.saturating_sub(kibibytes(&status, used)?))
    };
    PROCESS_LIMITS.iter().filter_map(left).min()
}

/// The soft limit on a line such as `Max address space  4096000000  unlimited  bytes`; `None` if there is none.
fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The names of a memory controller's files.
struct Controller {
    /// Where its hierarchy is mounted, below the root of all.
    mount: &'static str,
    limit: &'static str,
    usage: &'static str,
    /// Lines of `memory.stat`: pages of files, which the system takes back when memory is short.
    files: [&'static str; 2],
}

const UNIFIED: Controller = Controller {
    mount: "",
    limit: "memory.max",
    usage: "memory.current",
    files: ["active_file", "inactive_file"],
};

const LEGACY: Controller = Controller {
    mount: "/memory",
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    files: ["total_active_file", "total_inactive_file"],
};

/// What the limits of the control groups leave: those of the process's own group and of every group above.
fn control_groups(read: Read<'_>) -> Option<u64> {
    let text = read(CGROUP)?;
    let left = text.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let controller = match controllers {
            "" => Some(&UNIFIED),
            list if list.split(',').any(|name| name == "memory") => Some(&LEGACY),
            _ => None,
        };
        controller.map(|controller| controller.left(path, read)).into_iter().flatten()
    });
    left.min()
}

impl Controller {
    /// What each group on the way from the root to `path` leaves, as far as it can be read. Inside a container
    /// the path may be one of the host, of which only the root is there.
    fn left(&self, path: &str, read: Read<'_>) -> Vec<u64> {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        let folders = ends.map(|end| format!("{CGROUP_ROOT}{}{}", self.mount, &path[..end]));
        folders.filter_map(|folder| self.left_in(&folder, read)).collect()
    }

    fn left_in(&self, folder: &str, read: Read<'_>) -> Option<u64> {
        let number = |name: &str| read(&format!("{folder}/{name}"))?.trim().parse::<u64>().ok();
        // A group without a limit says "max", which is no number.
        let limit = number(self.limit)?;
        let stat = read(&format!("{folder}/memory.stat")).unwrap_or_default();
        let line = |name: &&str| {
            let mut words = stat.lines().map(|line| line.split_once(' ').unwrap_or_default());
            words.find(|(found, _)| found == name)?.1.trim().parse::<u64>().ok()
        };
        let files: u64 = self.files.iter().filter_map(line).sum();
        Some(limit.saturating_sub(number(self.usage)?.saturating_sub(files)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;
    const MEM: &str = "MemTotal: 9000000 kB\nMemAvailable:    8388608 kB\nSwapFree: 1048576 kB\n";
    const STATUS_TEXT: &str = "VmSize:\t 1048576 kB\nVmData:\t 524288 kB\n";
    const UNLIMITED: &str = "Limit                     Soft Limit           Hard Limit           Units     \n\
        Max data size             unlimited            unlimited            bytes     \n\
        Max address space         unlimited            unlimited            bytes     \n";

    fn free_with(files: &[(&str, &str)]) -> Option<u64> {
        free_by(&|path| {
            files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
        })
    }

    #[test]
    fn without_limits_the_machine_decides() {
        assert_eq!(free_with(&[]), None);
        assert_eq!(free_with(&[(MEMINFO, MEM)]), Some(9 * GIB));
        let files =
            [(MEMINFO, MEM), (LIMITS, UNLIMITED), (STATUS, STATUS_TEXT), (CGROUP, "0::/\n")];
        assert_eq!(free_with(&files), Some(9 * GIB));
    }

    #[test]
    fn limits_of_the_process_count_from_what_it_has() {
        let address = UNLIMITED
            .replace("address space         unlimited ", "address space         4294967296");
        let both =
            address.replace("data size             unlimited ", "data size             1073741824");
        for (limits, left) in [(&address, 3 * GIB), (&both, GIB / 2)] {
            let files = [(MEMINFO, MEM), (LIMITS, limits.as_str()), (STATUS, STATUS_TEXT)];
            assert_eq!(free_with(&files), Some(left));
        }
        let full = UNLIMITED
            .replace("address space         unlimited ", "address space         4096      ");
        assert_eq!(free_with(&[(LIMITS, full.as_str()), (STATUS, STATUS_TEXT)]), Some(0));
    }

    #[test]
    fn the_tightest_control_group_decides_and_pages_of_files_are_free() {
        let files = [
            (MEMINFO, MEM),
            (CGROUP, "0::/work/job\n"),
            ("/sys/fs/cgroup/work/memory.max", "3221225472\n"),
            ("/sys/fs/cgroup/work/memory.current", "2147483648\n"),
            (
                "/sys/fs/cgroup/work/memory.stat",
                "anon 1\nactive_file 536870912\ninactive_file 536870912\n",
            ),
            ("/sys/fs/cgroup/work/job/memory.max", "max\n"),
            ("/sys/fs/cgroup/work/job/memory.current", "5\n"),
        ];
        assert_eq!(free_with(&files), Some(2 * GIB));
    }

    #[test]
    fn a_container_sees_its_limit_at_the_root_in_either_version() {
        let unified = [
            (CGROUP, "0::/host/only\n"),
            ("/sys/fs/cgroup/memory.max", "2147483648\n"),
            ("/sys/fs/cgroup/memory.current", "1073741824\n"),
        ];
        assert_eq!(free_with(&unified), Some(GIB));
        let legacy = [
            (CGROUP, "4:cpu,cpuacct:/docker/1\n3:memory:/docker/1\n0::/\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "805306368\n"),
            (
                "/sys/fs/cgroup/memory/memory.stat",
                "total_active_file 0\ntotal_inactive_file 268435456\n",
            ),
        ];
        assert_eq!(free_with(&legacy), Some(GIB / 2));
    }

    #[test]
    fn this_process_has_some_where_the_system_tells() {
        assert_eq!(free().is_some_and(|bytes| bytes > 0), cfg!(target_os = "linux"));
    }
}
