//! The seccomp profile, as the build script has compiled it from `assets/seccomp/x86_64.txt`.

use seccompiler::{BpfProgram, sock_filter};

mod compiled {
    //! What the build script wrote.
    include!(concat!(env!("OUT_DIR"), "/seccomp.rs"));
}

/// The filters, in the order in which they are installed. The kernel asks all; of those that refuse, the latest speaks.
pub(crate) fn filters() -> [BpfProgram; 3] {
    [program(compiled::ALLOWED), program(compiled::ABSENT), program(compiled::PRETENDED)]
}

fn program(steps: &[(u16, u8, u8, u32)]) -> BpfProgram {
    steps.iter().map(|&(code, jt, jf, k)| sock_filter { code, jt, jf, k }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = include_str!("../../assets/seccomp/x86_64.txt");

    /// Calls that reach beyond a container, or into what the kernel keeps for all of them.
    const NEVER: &str = "add_key keyctl request_key mount umount2 move_mount open_tree fsopen fsmount fsconfig pivot_root \
        unshare setns clone3 bpf perf_event_open ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd userfaultfd \
        io_uring_setup io_uring_enter io_uring_register open_by_handle_at name_to_handle_at init_module finit_module \
        delete_module kexec_load kexec_file_load reboot swapon swapoff iopl ioperm syslog acct quotactl settimeofday \
        clock_settime sethostname setdomainname memfd_secret mbind move_pages lookup_dcookie vmsplice io_setup";

    #[test]
    fn the_profile_says_each_call_by_its_number_and_leaves_out_what_reaches_beyond() {
        let rows: Vec<Vec<&str>> = PROFILE
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| line.split(' ').collect())
            .collect();
        assert!(rows.len() > 250, "only {} calls", rows.len());
        for name in NEVER.split_whitespace() {
            assert!(!rows.iter().any(|row| row[1] == name), "{name} is allowed");
        }
        // What can be done harmlessly or not is allowed with conditions alone.
        for name in
            ["clone", "socket", "socketpair", "personality", "mknod", "mknodat", "mmap", "shmget", "memfd_create"]
        {
            let mut found = rows.iter().filter(|row| row[1] == name).peekable();
            assert!(found.peek().is_some() && found.all(|row| row.len() > 2), "{name}");
        }
        for (name, number) in [("read", libc::SYS_read), ("execve", libc::SYS_execve), ("openat2", libc::SYS_openat2)] {
            assert!(rows.iter().any(|row| row[1] == name && row[0] == number.to_string()), "{name}");
        }
    }

    #[test]
    fn the_filters_fit_the_kernel() {
        for filter in filters() {
            assert!((5..=4096).contains(&filter.len()), "{} instructions", filter.len());
        }
    }
}
