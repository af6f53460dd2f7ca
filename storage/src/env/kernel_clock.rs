//! What the kernel knows of the machine's clock: whether somebody keeps it right.
#![expect(unsafe_code, reason = "adjtimex has no safe wrapper in the crates we use")]

/// The kernel's word that nobody keeps the clock (`TIME_ERROR` of adjtimex(2)).
const TIME_ERROR: libc::c_int = 5;

/// Whether a daemon (chrony, ntpd, systemd-timesyncd) keeps the clock in step with others, as the kernel has it from
/// that daemon (adjtimex(2), which asks for no privilege); `None` if the kernel does not tell.
#[must_use]
pub fn is_clock_synchronized() -> Option<bool> {
    // SAFETY: a timex is plain numbers, for which zero is valid; with no modes set the kernel changes nothing, and it
    // writes into the structure alone.
    let (state, status) = unsafe {
        let mut timex: libc::timex = std::mem::zeroed();
        (libc::adjtimex(&raw mut timex), timex.status)
    };
    // Refused by a filter of system calls.
    if state < 0 {
        return None;
    }
    Some(state != TIME_ERROR && status & libc::STA_UNSYNC == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_asked_without_privilege() {
        // Which of the two depends on the machine; that it answers does not.
        assert!(is_clock_synchronized().is_some());
    }
}
