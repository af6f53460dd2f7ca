//! What of the kernel no crate wraps: each function is one call, with what makes it sound.
#![expect(unsafe_code, reason = "calls of the kernel that neither std nor rustix wraps")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::process::{Gid, Pid, Uid};
use rustix::thread::{CapabilitiesSecureBits, LinkNameSpaceType, UnshareFlags};

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Which side of a fork this is.
pub(crate) enum Forked {
    Child,
    Parent(Pid),
}

/// Forks. Only a process with a single thread may: of a second one the child would have the locks, but not the thread.
pub(crate) fn fork_single_threaded() -> io::Result<Forked> {
    let threads = std::fs::read_dir("/proc/self/task").map(Iterator::count);
    // Within a container's namespaces /proc may be another one; then the supervisor has looked before.
    if threads.is_ok_and(|count| count > 1) {
        return Err(io::Error::other("a process with several threads must not fork"));
    }
    fork_unchecked()
}

/// Forks where `/proc` tells nothing of this process any more; the caller knows that it has a single thread.
pub(crate) fn fork_unchecked() -> io::Result<Forked> {
    // SAFETY: the process has a single thread, so that the child is a full copy: no lock is held by anybody else.
    forked(checked(unsafe { libc::fork() }.into())?)
}

fn forked(pid: libc::c_long) -> io::Result<Forked> {
    let pid = Pid::from_raw(i32::try_from(pid).map_err(io::Error::other)?);
    Ok(pid.map_or(Forked::Child, Forked::Parent))
}

/// Forks a child of this process's parent, which learns of its end as of this one's. Only a process with a single thread
/// may.
pub(crate) fn fork_sibling() -> io::Result<Forked> {
    if std::fs::read_dir("/proc/self/task")?.count() > 1 {
        return Err(io::Error::other("a process with several threads must not fork"));
    }
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: as for a fork; without a stack of its own the child goes on with a copy of this one, and no flag asks for
    // what the other arguments are for.
    forked(checked(unsafe { libc::syscall(libc::SYS_clone, libc::CLONE_PARENT, none, none, none, none) })?)
}

/// A child of this process that has ended and that nobody has waited for yet, if there is one. It stays as it is.
pub(crate) fn unwaited_child() -> io::Result<Option<Pid>> {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: zeroes are a siginfo_t, and one that tells of nobody.
    let mut ended: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: it is written to while it is borrowed here.
    match checked(unsafe { libc::waitid(libc::P_ALL, 0, &raw mut ended, options) }.into()) {
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok(None),
        looked => looked?,
    };
    // SAFETY: the field of what `waitid` fills in.
    Ok(Pid::from_raw(unsafe { ended.si_pid() }))
}

/// Takes the place of this process. Returns only if it fails.
pub(crate) fn execute(program: &CString, arguments: &[CString], environment: &[CString]) -> io::Error {
    let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    // SAFETY: both arrays end with a null pointer, and all they point to lives until the call returns or never does.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}

/// Ends this process at once: nothing of its parent's copy is flushed or dropped a second time.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process; nothing follows.
    unsafe { libc::_exit(code) }
}

/// Closes every descriptor from the fourth on but one.
pub(crate) fn close_all_but(keep: RawFd) -> io::Result<()> {
    let close = |from: RawFd, to: libc::c_uint| {
        if i64::from(from) > i64::from(to) {
            return Ok(0);
        }
        // SAFETY: called by a process that is about to execute another program and uses none of these descriptors.
        checked(unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) })
    };
    close(3, libc::c_uint::try_from(keep - 1).unwrap_or(0))?;
    close(keep + 1, libc::c_uint::MAX)?;
    Ok(())
}

/// Lets `write` fail instead of ending the process, or the other way round: what a program expects at its start.
pub(crate) fn default_signals() {
    for signal in 1..=64 {
        // SAFETY: the default action is a valid one for every signal; for those that have no other the call fails.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// A set of all signals that can be blocked.
fn all_signals() -> libc::sigset_t {
    // SAFETY: a sigset_t is plain memory, which sigfillset fills.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        set
    }
}

/// Blocks all signals, or none.
pub(crate) fn block_signals(block: bool) -> io::Result<()> {
    let set = all_signals();
    let how = if block { libc::SIG_SETMASK } else { libc::SIG_UNBLOCK };
    // SAFETY: the set is valid; the old one is not asked for.
    checked(unsafe { libc::sigprocmask(how, &raw const set, std::ptr::null_mut()) }.into())?;
    Ok(())
}

/// Waits for one of the blocked signals and takes it. A process that was frozen by version 2 of the control groups finds
/// its call interrupted when it is thawed, although no signal came: that is waited over.
pub(crate) fn wait_for_signal() -> io::Result<i32> {
    let set = all_signals();
    loop {
        // SAFETY: the set is valid; what is known of the signal is not asked for.
        match checked(unsafe { libc::sigwaitinfo(&raw const set, std::ptr::null_mut()) }.into()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            waited => return i32::try_from(waited?).map_err(io::Error::other),
        }
    }
}

/// Sends a signal by its number, to a process of ours.
pub(crate) fn send_signal(pid: Pid, signal: i32) -> io::Result<()> {
    // SAFETY: plain numbers.
    checked(unsafe { libc::kill(pid.as_raw_nonzero().get(), signal) }.into())?;
    Ok(())
}

/// Gives this process a mount namespace of its own.
pub(crate) fn own_mounts() -> io::Result<()> {
    // SAFETY: the process has a single thread; nothing in it relies on sharing its file system information.
    Ok(unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?)
}

/// Makes this process the given user's and gives it a user namespace of its own: what the kernel counts by user
/// (inotify, queued signals, message queues) counts in there for whoever made it, user_namespaces(7).
pub(crate) fn own_users(owner: u32) -> io::Result<()> {
    // The user has no privileges, and where the host forbids namespaces to such (unprivileged_userns), they are kept.
    rustix::thread::set_capabilities_secure_bits(CapabilitiesSecureBits::NO_SETUID_FIXUP)?;
    let (uid, gid) = (Uid::from_raw(owner), Gid::from_raw(owner));
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    // SAFETY: the process has a single thread.
    Ok(unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) }?)
}

#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// `MOUNT_ATTR_IDMAP` and `MOUNT_ATTR_RDONLY` of linux/mount.h.
const IDMAP: u64 = 0x0010_0000;
const READ_ONLY: u64 = 0x0000_0001;

/// Maps the owners of a detached mount as this user namespace does, and makes it read-only.
pub(crate) fn map_owners(mount: BorrowedFd<'_>, users: BorrowedFd<'_>) -> io::Result<()> {
    let user_namespace = u64::try_from(users.as_raw_fd()).map_err(io::Error::other)?;
    let attributes = MountAttributes { set: IDMAP | READ_ONLY, clear: 0, propagation: 0, user_namespace };
    let (empty, size) = (c"".as_ptr(), size_of::<MountAttributes>());
    // SAFETY: the descriptors are open, the structure is the kernel's first version and lives during the call.
    checked(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            empty,
            libc::AT_EMPTY_PATH,
            &raw const attributes,
            size,
        )
    })?;
    Ok(())
}

/// `struct loop_info64` and `struct loop_config` of linux/loop.h.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    names: [u8; 64 + 64 + 32],
    init: [u64; 2],
}

#[repr(C)]
struct LoopConfig {
    backing: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4C82;
const LOOP_CONFIGURE: libc::c_ulong = 0x4C0A;
/// The device lets go of its file when nobody uses it any more: also when all of us were killed.
const LOOP_AUTOCLEAR: u32 = 4;

/// Asks for the number of a loop device that is free, making one if need be. Somebody else may be faster.
pub(crate) fn free_loop_device(control: impl AsFd) -> io::Result<u32> {
    // SAFETY: the request takes no argument.
    let number = checked(unsafe { libc::ioctl(control.as_fd().as_raw_fd(), LOOP_CTL_GET_FREE) }.into())?;
    u32::try_from(number).map_err(io::Error::other)
}

/// Puts a file behind a loop device. `EBUSY`: somebody else was faster.
pub(crate) fn attach_loop_device(device: impl AsFd, file: impl AsFd) -> io::Result<()> {
    // SAFETY: both structures are plain numbers, for which zero is valid.
    let mut config: LoopConfig = unsafe { std::mem::zeroed() };
    config.backing = u32::try_from(file.as_fd().as_raw_fd()).map_err(io::Error::other)?;
    config.info.flags = LOOP_AUTOCLEAR;
    // SAFETY: the structure is laid out as the kernel's and lives during the call.
    checked(unsafe { libc::ioctl(device.as_fd().as_raw_fd(), LOOP_CONFIGURE, &raw const config) }.into())?;
    Ok(())
}

/// What a connection may hold at least, at first and at most of what came in, in bytes (tcp(7), `tcp_rmem`). Whoever sends
/// is given what the other end would take even where the limit of its control group is reached; at first 128 KiB is the
/// kernel's own, so that connections by the thousand would hold many times what they may. It grows where there is room.
const RECEIVE_BUFFERS: &str = "4096 16384 6291456";

/// Takes the loopback interface of a process's network namespace up.
pub(crate) fn loopback_up(of: Pid) -> io::Result<()> {
    within(of, "net", LinkNameSpaceType::Network, || {
        if let Err(error) = std::fs::write("/proc/sys/net/ipv4/tcp_rmem", RECEIVE_BUFFERS) {
            tracing::warn!(%error, "connections of a container may hold more memory than it has");
        }
        raise_loopback()
    })
}

/// Gives the host of a process's namespace this name.
pub(crate) fn set_hostname(of: Pid, name: &str) -> io::Result<()> {
    within(of, "uts", LinkNameSpaceType::HostNameAndNISDomainName, || Ok(rustix::system::sethostname(name.as_bytes())?))
}

/// Does something while this process is in the namespace of another one.
fn within(of: Pid, name: &str, kind: LinkNameSpaceType, work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let theirs = std::fs::File::open(format!("/proc/{}/ns/{name}", of.as_raw_nonzero()))?;
    let ours = std::fs::File::open(format!("/proc/self/ns/{name}"))?;
    rustix::thread::move_into_link_name_space(theirs.as_fd(), Some(kind))?;
    let done = work();
    rustix::thread::move_into_link_name_space(ours.as_fd(), Some(kind))?;
    done
}

fn raise_loopback() -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketType, socket};
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: the structure is plain memory, for which zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(*b"lo") {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    request.ifr_ifru.ifru_flags =
        libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).map_err(io::Error::other)?;
    // SAFETY: the structure is valid during the call and names an interface.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) }.into())?;
    Ok(())
}

/// The supplementary groups of whoever is at the other end of a unix socket.
pub(crate) fn peer_groups(socket: BorrowedFd<'_>) -> io::Result<Vec<u32>> {
    let mut groups = vec![0_u32; 1024];
    let mut length = libc::socklen_t::try_from(groups.len() * size_of::<u32>()).map_err(io::Error::other)?;
    // SAFETY: the kernel writes at most `length` bytes into the buffer and says how many.
    checked(
        unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERGROUPS,
                groups.as_mut_ptr().cast(),
                &raw mut length,
            )
        }
        .into(),
    )?;
    groups.truncate(length as usize / size_of::<u32>());
    Ok(groups)
}

/// Takes a descriptor over that another process has left open under this number.
pub(crate) fn inherited(number: RawFd) -> OwnedFd {
    // SAFETY: the caller is the only one in this process that knows of it.
    unsafe { OwnedFd::from_raw_fd(number) }
}
