//! Measures of the machine and of time, and how people are told them.

use std::path::Path;

use quintet_storage::Timestamp;

/// The process' resident memory in bytes.
#[must_use]
pub fn memory_bytes() -> Option<u64> {
    // Not pages times their size: where this process is closed to debuggers, older kernels hide the vector that says how
    // large a page is.
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    resident.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Free space for unprivileged users on the file system of `directory`, in bytes.
#[must_use]
pub fn disk_free_bytes(directory: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(directory).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

/// The size of the file system that holds a directory, in bytes.
#[must_use]
pub fn disk_bytes(directory: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(directory).ok()?;
    found.f_blocks.checked_mul(found.f_frsize)
}

/// The size of everything in a directory, in bytes; what is gone while this looks, or cannot be seen, counts nothing.
#[must_use]
pub fn size_of_files(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    let sizes = entries.filter_map(Result::ok).map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => size_of_files(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// Whole seconds from one instant to a later one; none if it is not later.
#[must_use]
pub fn seconds_between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.as_micros().saturating_sub(from.as_micros()) / 1_000_000).unwrap_or(0)
}

/// How many there are of something, for people.
#[must_use]
pub fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// A size in bytes for people.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    for (unit, worth) in UNITS {
        if bytes >= worth {
            let tenths = bytes.saturating_mul(10) / worth;
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
    }
    format!("{bytes} B")
}

/// A duration for people.
#[must_use]
pub fn duration(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(3 << 30), "3.0 GiB");
    }
}
