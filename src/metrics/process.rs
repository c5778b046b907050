//! The exporter's process, as Linux sees it.

/// The values behind `process_*`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Process {
    pub cpu_seconds: f64,
    pub open_fds: Option<u64>,
    /// `None`: unlimited.
    pub max_fds: Option<u64>,
    pub virtual_memory_bytes: u64,
    pub resident_memory_bytes: u64,
    pub start_time_seconds: f64,
}

impl Process {
    /// `None` where the system doesn't tell (only Linux does).
    #[cfg(target_os = "linux")]
    pub fn read() -> Option<Self> {
        use rustix::param::{clock_ticks_per_second, page_size};
        use rustix::process::{Resource, getrlimit};

        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        let system = std::fs::read_to_string("/proc/stat").ok()?;
        let entries = std::fs::read_dir("/proc/self/fd").ok();
        // The folder that is being listed is open as well.
        let open_fds = entries.map(|entries| (entries.count() as u64).saturating_sub(1));
        Some(Self {
            open_fds,
            max_fds: getrlimit(Resource::Nofile).current,
            ..parse(
                &stat,
                &system,
                clock_ticks_per_second() as f64,
                page_size() as u64,
            )?
        })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn read() -> Option<Self> {
        None
    }
}

/// From `/proc/self/stat` (proc_pid_stat(5)) and the `btime` of `/proc/stat`.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn parse(stat: &str, system: &str, ticks: f64, page: u64) -> Option<Process> {
    // The command name, in parentheses, may hold blanks and parentheses itself.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // Field 3 of the manual page is the first one here.
    let field = |n: usize| fields.get(n - 3)?.parse::<u64>().ok();
    let boot = system
        .lines()
        .find_map(|line| line.strip_prefix("btime "))?
        .trim()
        .parse::<u64>()
        .ok()?;
    Some(Process {
        cpu_seconds: (field(14)? + field(15)?) as f64 / ticks,
        open_fds: None,
        max_fds: None,
        virtual_memory_bytes: field(23)?,
        resident_memory_bytes: field(24)?.saturating_mul(page),
        start_time_seconds: boot as f64 + field(22)? as f64 / ticks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_lines() {
        let stat = "7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 150 50 0 0 20 0 3 0 4200 8192 2 0";
        let process = parse(stat, "cpu 1\nbtime 1000\nprocesses 2\n", 100.0, 4096).unwrap();
        assert_eq!(process.cpu_seconds, 2.0);
        assert_eq!(process.start_time_seconds, 1042.0);
        assert_eq!(process.virtual_memory_bytes, 8192);
        assert_eq!(process.resident_memory_bytes, 8192);
        assert_eq!(parse("", "", 100.0, 4096), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process() {
        let process = Process::read().unwrap();
        assert!(process.resident_memory_bytes > 1_000_000);
        assert!(process.open_fds.unwrap() >= 3);
        assert!(process.start_time_seconds > 1.6e9);
    }
}
