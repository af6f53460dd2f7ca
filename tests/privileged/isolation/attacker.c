// What a hostile tenant's program does, as root in its container: `make isolation` and tests run it there.
//
//   attacker NAME MOST [once|hold|forever]   takes as many of something as it gets, at most MOST, and says
//                                            `NAME got N ERRNO`; then it ends, keeps them, or begins again
//   attacker calls                           asks for what nobody is to have, and says for each `NAME got 0|1 ERRNO`
//   attacker core                            dies so that a core is dumped, whatever its limits were
//   attacker splice                          hands a file to its standard output for as long as it may
//
// It is linked statically, since the image has no libraries.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *name_of(int error) {
    const char *name = error ? strerrorname_np(error) : "enough";
    return name ? name : "unknown";
}

static void say(const char *name, long got, int error) {
    printf("%s got %ld %s\n", name, got, name_of(error));
    fflush(stdout);
}

// --- What there is a certain amount of. Each function takes one more and says how much that was, or -1.

// What the kernel holds for a socket, in bytes: of what came in and of what is to go out, with its bookkeeping.
static long held_by(int fd) {
    uint32_t info[9] = {0};
    socklen_t length = sizeof info;
    if (getsockopt(fd, SOL_SOCKET, 55 /* SO_MEMINFO */, info, &length)) return 0;
    uint32_t out = info[2] > info[5] ? info[2] : info[5];
    return (long)info[0] + out;
}

// A page of rubbish.
static char junk[65536];

static void fill(int fd, size_t piece) {
    while (send(fd, junk, piece, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {}
}

static struct sockaddr_in loopback(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static void with_large_buffers(int fd) {
    int bytes = 64 << 20;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

// Both ends of a connection to itself, full in both directions; bytes. The buffers keep the sizes that the kernel tunes.
static long tcp(void) {
    static int listener = -1;
    static struct sockaddr_in address;
    socklen_t length = sizeof address;
    if (listener < 0) {
        address = loopback();
        listener = socket(AF_INET, SOCK_STREAM, 0);
        if (listener < 0 || bind(listener, (void *)&address, length) || listen(listener, 100) ||
            getsockname(listener, (void *)&address, &length))
            return -1;
    }
    int a = socket(AF_INET, SOCK_STREAM, 0);
    if (a < 0 || connect(a, (void *)&address, sizeof address)) return -1;
    int b = accept(listener, 0, 0);
    if (b < 0) return -1;
    // Full at once and again once the kernel has made them larger.
    for (int round = 0; round < 3; round++) {
        fill(a, sizeof junk);
        fill(b, sizeof junk);
    }
    long held = held_by(a) + held_by(b);
    // Connections without memory are only the descriptors.
    if (held < 4096) return errno = ENOBUFS, -1;
    return held;
}

static long udp(void) {
    struct sockaddr_in address = loopback();
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0) return -1;
    with_large_buffers(fd);
    if (bind(fd, (void *)&address, length) || getsockname(fd, (void *)&address, &length) ||
        connect(fd, (void *)&address, length))
        return -1;
    // A full socket drops what comes; this is more than any has room for.
    for (int i = 0; i < 2000; i++)
        if (send(fd, junk, 1000, MSG_DONTWAIT) < 0) break;
    long held = held_by(fd);
    return held < 4096 ? (errno = ENOBUFS, -1) : held;
}

static long unix_sockets(void) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return -1;
    with_large_buffers(pair[0]);
    fill(pair[0], 32768);
    return held_by(pair[0]);
}

static long pipes(void) {
    int ends[2];
    if (pipe2(ends, O_NONBLOCK)) return -1;
    fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    long held = 0, n;
    while ((n = write(ends[1], junk, 4096)) > 0) held += n;
    return held;
}

// Descriptors, each of a file of its own.
static long files(void) { return open("/dev/null", O_RDONLY) < 0 ? -1 : 1; }

static long instances(void) { return inotify_init1(0) < 0 ? -1 : 1; }

static long signals(void) {
    static int is_blocked;
    if (!is_blocked) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGRTMIN + 3);
        sigprocmask(SIG_BLOCK, &set, 0);
        is_blocked = 1;
    }
    return sigqueue(getpid(), SIGRTMIN + 3, (union sigval){0}) ? -1 : 1;
}

static long timers(void) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
    return timer_create(CLOCK_MONOTONIC, &event, &timer) ? -1 : 1;
}

static long queues(void) {
    static int number;
    char name[32];
    snprintf(name, sizeof name, "/q%d.%d", getpid(), number++);
    struct mq_attr attributes = {.mq_maxmsg = 10, .mq_msgsize = 8192};
    if (mq_open(name, O_CREAT | O_RDWR, 0600, &attributes) == (mqd_t)-1) return -1;
    // It is there for as long as it is open, and no longer: this runs on the host, too.
    mq_unlink(name);
    return 1;
}

static long terminals(void) { return open("/dev/ptmx", O_RDWR | O_NOCTTY) < 0 ? -1 : 1; }

static long processes(void) {
    pid_t child = fork();
    if (child == 0)
        for (;;) pause();
    return child < 0 ? -1 : 1;
}

static long events(void) {
    unsigned long context = 0;
    return syscall(SYS_io_setup, 1024, &context) < 0 ? -1 : 1;
}

static long huge_map(void) {
    void *at = mmap(0, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    return at == MAP_FAILED ? -1 : 1;
}

static long huge_file(void) {
    int fd = memfd_create("huge", MFD_HUGETLB);
    if (fd < 0 || ftruncate(fd, 2 << 20)) return -1;
    return mmap(0, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 1;
}

static long huge_segment(void) { return shmget(IPC_PRIVATE, 2 << 20, IPC_CREAT | SHM_HUGETLB | 0600) < 0 ? -1 : 1; }

// Memory as everybody takes it.
static long memory(void) {
    char *at = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return at == MAP_FAILED ? -1 : 1 << 20;
}

static long disk(void) {
    static int fd = -1;
    if (fd < 0) fd = open("/filler", O_CREAT | O_WRONLY, 0600);
    return write(fd, junk, sizeof junk);
}

static long nodes(void) {
    static int number;
    char name[32];
    snprintf(name, sizeof name, "/nodes.%d", number++);
    int fd = open(name, O_CREAT | O_WRONLY, 0600);
    return fd < 0 || close(fd) ? -1 : 1;
}

static const struct {
    const char *name;
    long (*take)(void);
    // What it is counted in.
    long unit;
} amounts[] = {
    {"tcp", tcp, 1 << 20}, {"udp", udp, 1 << 20}, {"unix", unix_sockets, 1 << 20}, {"pipes", pipes, 1 << 20},
    {"memory", memory, 1 << 20}, {"disk", disk, 1 << 20}, {"nodes", nodes, 1}, {"files", files, 1}, {"inotify", instances, 1},
    {"signals", signals, 1}, {"timers", timers, 1}, {"queues", queues, 1}, {"terminals", terminals, 1},
    {"processes", processes, 1}, {"io_setup", events, 1}, {"huge_map", huge_map, 1}, {"huge_file", huge_file, 1},
    {"huge_segment", huge_segment, 1},
};

static void take_all(const char *name, long (*take)(void), long unit, long most) {
    long got = 0, one = 0;
    errno = 0;
    while (got < most * unit && (one = take()) >= 0) got += one;
    say(name, got / unit, one < 0 ? errno : 0);
}

// --- What nobody is to have at all.

static long sock(int family, int type, int protocol) { return socket(family, type, protocol); }

// Calls by the interface of 32 bits, which a filter of 64 would not know; in a child, for they may be deadly.
static long by_int80(long number, long a, long b, long c, long d) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d) : "memory", "r8", "r9", "r10", "r11");
    if (result < 0 && result > -4096) return errno = (int)-result, -1;
    return result;
}

#define X32 0x40000000

struct call {
    const char *name;
    long (*ask)(void);
};
#define CALL(name, expression) \
    static long name(void) { return expression; }

static char path[] = "/attack", empty[] = "", type[] = "user", text[] = "attack", proc_1_ns[] = "/proc/1/ns/net";
static char attribute[256];

CALL(call_add_key, syscall(SYS_add_key, type, text, text, 6, -2))
CALL(call_keyctl, syscall(SYS_keyctl, 0, -2, 1))
CALL(call_request_key, syscall(SYS_request_key, type, text, text, -2))
CALL(call_bpf, syscall(SYS_bpf, 0, attribute, sizeof attribute))
CALL(call_io_uring, syscall(SYS_io_uring_setup, 8, attribute))
CALL(call_userfaultfd, syscall(SYS_userfaultfd, 1))
CALL(call_perf, syscall(SYS_perf_event_open, attribute, 0, -1, -1, 0))
CALL(call_mount, syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, 0))
CALL(call_umount, syscall(SYS_umount2, "/tmp", 2))
CALL(call_fsopen, syscall(SYS_fsopen, "tmpfs", 0))
CALL(call_open_tree, syscall(SYS_open_tree, AT_FDCWD, "/", 1))
CALL(call_move_mount, syscall(SYS_move_mount, AT_FDCWD, "/tmp", AT_FDCWD, "/root", 0))
CALL(call_mount_setattr, syscall(442, AT_FDCWD, "/sys", 0, attribute, 32))
CALL(call_pivot_root, syscall(SYS_pivot_root, "/", "/"))
CALL(call_unshare_user, unshare(CLONE_NEWUSER))
CALL(call_unshare_network, unshare(CLONE_NEWNET))
CALL(call_unshare_mounts, unshare(CLONE_NEWNS))
CALL(call_clone_user, syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0))
CALL(call_clone3, syscall(SYS_clone3, attribute, 88))
CALL(call_setns, setns(open(proc_1_ns, O_RDONLY), 0))
CALL(call_ptrace, ptrace(PTRACE_SEIZE, 1, 0, 0))
CALL(call_readv, syscall(SYS_process_vm_readv, 1, attribute, 1, attribute, 1, 0))
CALL(call_pidfd_getfd, syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, 1, 0), 0, 0))
CALL(call_kcmp, syscall(SYS_kcmp, 1, 1, 0, 0, 0))
CALL(call_by_handle, syscall(SYS_open_by_handle_at, AT_FDCWD, attribute, 0))
CALL(call_module, syscall(SYS_init_module, junk, 100, empty))
CALL(call_module_file, syscall(SYS_finit_module, 0, empty, 0))
CALL(call_kexec, syscall(SYS_kexec_load, 0, 0, 0, 0))
CALL(call_reboot, syscall(SYS_reboot, 0xfee1dead, 672274793, 0, 0))
CALL(call_swapon, syscall(SYS_swapon, path, 0))
CALL(call_iopl, syscall(SYS_iopl, 3))
CALL(call_ioperm, syscall(SYS_ioperm, 0x70, 1, 1))
CALL(call_syslog, syscall(SYS_syslog, 3, junk, sizeof junk))
CALL(call_acct, syscall(SYS_acct, 0))
CALL(call_quotactl, syscall(SYS_quotactl, 0x800002, 0, 0, 0))
CALL(call_fanotify, syscall(SYS_fanotify_init, 0, 0))
CALL(call_memfd_secret, syscall(SYS_memfd_secret, 0))
CALL(call_vmsplice, syscall(SYS_vmsplice, 1, attribute, 0, 0))
CALL(call_hostname, sethostname("other", 5))
CALL(call_clock, clock_settime(CLOCK_REALTIME, &(struct timespec){0}))
CALL(call_mknod, mknod("/attack.node", S_IFCHR | 0600, makedev(1, 1)))
CALL(call_mknod_block, mknod("/attack.block", S_IFBLK | 0600, makedev(7, 0)))
CALL(call_migrate, syscall(SYS_migrate_pages, 0, 0, 0, 0))
CALL(call_personality, syscall(SYS_personality, 0x0400000 /* READ_IMPLIES_EXEC */))
CALL(call_priority, setpriority(PRIO_PROCESS, 0, -5))
CALL(call_realtime, sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}))
CALL(call_io_setup, events())
CALL(call_int80, by_int80(20 /* getpid */, 0, 0, 0, 0))
CALL(call_int80_keys, by_int80(288 /* keyctl */, 0, -2, 1, 0))
CALL(call_x32, syscall(X32 | 39 /* getpid */))
CALL(call_x32_keys, syscall(X32 | 250 /* keyctl */, 0, -2, 1))

// Families and protocols that make the host load modules, or speak to parts of the kernel that are one for all.
CALL(socket_packet, sock(AF_PACKET, SOCK_RAW, 0))
CALL(socket_raw, sock(AF_INET, SOCK_RAW, 1))
CALL(socket_ping, sock(AF_INET, SOCK_DGRAM, IPPROTO_ICMP))
CALL(socket_sctp, sock(AF_INET, SOCK_STREAM, 132))
CALL(socket_sctp_packets, sock(AF_INET, SOCK_SEQPACKET, 132))
CALL(socket_dccp, sock(AF_INET, SOCK_DCCP, 33))
CALL(socket_udplite, sock(AF_INET, SOCK_DGRAM, 136))
CALL(socket_mptcp, sock(AF_INET, SOCK_STREAM, 262))
CALL(socket_l2tp, sock(AF_INET, SOCK_DGRAM, 115))
CALL(socket_smc, sock(AF_INET, SOCK_STREAM, 256))
CALL(socket_sctp6, sock(AF_INET6, SOCK_STREAM, 132))
CALL(socket_l2tp6, sock(AF_INET6, SOCK_DGRAM, 115))
CALL(socket_alg, sock(38, SOCK_SEQPACKET, 0))
CALL(socket_key, sock(15, SOCK_RAW, 2))
CALL(socket_vsock, sock(40, SOCK_STREAM, 0))
CALL(socket_can, sock(29, SOCK_RAW, 1))
CALL(socket_bluetooth, sock(31, SOCK_RAW, 1))
CALL(socket_tipc, sock(30, SOCK_RDM, 0))
CALL(socket_rds, sock(21, SOCK_SEQPACKET, 0))
CALL(socket_x25, sock(9, SOCK_SEQPACKET, 0))
CALL(socket_appletalk, sock(5, SOCK_DGRAM, 0))
CALL(socket_ax25, sock(3, SOCK_SEQPACKET, 0))
CALL(socket_ipx, sock(4, SOCK_DGRAM, 0))
CALL(socket_llc, sock(26, SOCK_STREAM, 0))
CALL(socket_phonet, sock(35, SOCK_SEQPACKET, 0))
CALL(socket_kcm, sock(41, SOCK_SEQPACKET, 0))
CALL(socket_qipcrtr, sock(42, SOCK_DGRAM, 0))
CALL(socket_xdp, sock(44, SOCK_RAW, 0))
CALL(netlink_sock_diag, sock(AF_NETLINK, SOCK_RAW, 4))
CALL(netlink_nflog, sock(AF_NETLINK, SOCK_RAW, 5))
CALL(netlink_xfrm, sock(AF_NETLINK, SOCK_RAW, 6))
CALL(netlink_selinux, sock(AF_NETLINK, SOCK_RAW, 7))
CALL(netlink_audit, sock(AF_NETLINK, SOCK_RAW, 9))
CALL(netlink_connector, sock(AF_NETLINK, SOCK_DGRAM, 11))
CALL(netlink_netfilter, sock(AF_NETLINK, SOCK_RAW, 12))
CALL(netlink_uevent, sock(AF_NETLINK, SOCK_RAW, 15))
CALL(netlink_generic, sock(AF_NETLINK, SOCK_RAW, 16))
CALL(netlink_crypto, sock(AF_NETLINK, SOCK_RAW, 21))

#define ROW(name) {#name, name}
static const struct call calls[] = {
    ROW(call_add_key), ROW(call_keyctl), ROW(call_request_key), ROW(call_bpf), ROW(call_io_uring), ROW(call_userfaultfd),
    ROW(call_perf), ROW(call_mount), ROW(call_umount), ROW(call_fsopen), ROW(call_open_tree), ROW(call_move_mount),
    ROW(call_mount_setattr), ROW(call_pivot_root), ROW(call_unshare_user), ROW(call_unshare_network),
    ROW(call_unshare_mounts), ROW(call_clone_user), ROW(call_clone3), ROW(call_setns), ROW(call_ptrace), ROW(call_readv),
    ROW(call_pidfd_getfd), ROW(call_kcmp), ROW(call_by_handle), ROW(call_module), ROW(call_module_file), ROW(call_kexec),
    ROW(call_reboot), ROW(call_swapon), ROW(call_iopl), ROW(call_ioperm), ROW(call_syslog), ROW(call_acct),
    ROW(call_quotactl), ROW(call_fanotify), ROW(call_memfd_secret), ROW(call_vmsplice), ROW(call_hostname),
    ROW(call_clock), ROW(call_mknod), ROW(call_mknod_block), ROW(call_migrate), ROW(call_personality), ROW(call_priority),
    ROW(call_realtime), ROW(call_io_setup), ROW(call_int80), ROW(call_int80_keys), ROW(call_x32), ROW(call_x32_keys),
    ROW(socket_packet), ROW(socket_raw), ROW(socket_ping), ROW(socket_sctp), ROW(socket_sctp_packets), ROW(socket_dccp),
    ROW(socket_udplite), ROW(socket_mptcp), ROW(socket_l2tp), ROW(socket_smc), ROW(socket_sctp6), ROW(socket_l2tp6),
    ROW(socket_alg), ROW(socket_key), ROW(socket_vsock), ROW(socket_can), ROW(socket_bluetooth), ROW(socket_tipc),
    ROW(socket_rds), ROW(socket_x25), ROW(socket_appletalk), ROW(socket_ax25), ROW(socket_ipx), ROW(socket_llc),
    ROW(socket_phonet), ROW(socket_kcm), ROW(socket_qipcrtr), ROW(socket_xdp), ROW(netlink_sock_diag), ROW(netlink_nflog),
    ROW(netlink_xfrm), ROW(netlink_selinux), ROW(netlink_audit), ROW(netlink_connector), ROW(netlink_netfilter),
    ROW(netlink_uevent), ROW(netlink_generic), ROW(netlink_crypto),
};

// Each in a process of its own: one that is given or deadly changes nothing for the next.
static void ask_all(void) {
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            errno = 0;
            int got = calls[i].ask() >= 0;
            say(calls[i].name, got, got ? 0 : errno);
            _exit(0);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) < 0) say(calls[i].name, 1, errno);
        else if (WIFSIGNALED(status)) printf("%s got 0 killed\n", calls[i].name);
    }
}

// --- Others.

// A limit of one byte keeps a core from a program that waits for it; none at all does not.
static void dump_core(void) {
    struct rlimit none = {0, 0}, all = {RLIM_INFINITY, RLIM_INFINITY}, now;
    uint32_t none32[2] = {0, 0};
    setrlimit(RLIMIT_CORE, &all);
    setrlimit(RLIMIT_CORE, &none);
    none.rlim_max = 1;
    setrlimit(RLIMIT_CORE, &none);
    syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, 0);
    syscall(X32 | SYS_setrlimit, RLIMIT_CORE, &none);
    // The calls of 32 bits reach no address of the stack.
    void *low = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        memcpy(low, none32, sizeof none32);
        by_int80(75 /* setrlimit */, RLIMIT_CORE, (long)low, 0, 0);
        getrlimit(RLIMIT_CORE, &now);
        say("core", now.rlim_cur == 1 && now.rlim_max == 1 ? 0 : 1, 0);
        abort();
    }
    waitpid(child, 0, 0);
    getrlimit(RLIMIT_CORE, &now);
    say("core", now.rlim_cur == 1 && now.rlim_max == 1 ? 0 : 1, 0);
    abort();
}

static void splice_all(void) {
    int fd = open("/tmp/spliced", O_CREAT | O_RDWR, 0600);
    for (int i = 0; i < 64; i++)
        if (write(fd, junk, sizeof junk) < 0) return;
    for (;;) {
        off_t from = 0;
        if (sendfile(1, fd, &from, 64 * sizeof junk) < 0) return;
    }
}

int main(int count, char **words) {
    // As many descriptors as it may have.
    struct rlimit descriptors;
    getrlimit(RLIMIT_NOFILE, &descriptors);
    descriptors.rlim_cur = descriptors.rlim_max;
    setrlimit(RLIMIT_NOFILE, &descriptors);
    const char *name = count > 1 ? words[1] : "", *mode = count > 3 ? words[3] : "once";
    long most = count > 2 ? atol(words[2]) : 1;
    if (!strcmp(name, "calls")) return ask_all(), 0;
    if (!strcmp(name, "core")) return dump_core(), 0;
    if (!strcmp(name, "splice")) return splice_all(), 0;
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
        if (strcmp(name, amounts[i].name)) continue;
        while (!strcmp(mode, "forever")) {
            pid_t child = fork();
            if (child == 0) {
                setsid();
                take_all(name, amounts[i].take, amounts[i].unit, most);
                kill(strcmp(name, "processes") ? getpid() : 0, SIGKILL);
            }
            waitpid(child, 0, 0);
        }
        take_all(name, amounts[i].take, amounts[i].unit, most);
        if (!strcmp(mode, "hold"))
            for (;;) pause();
        // Children of a fork bomb go with process 1.
        return 0;
    }
    fprintf(stderr, "attacker: unknown: %s\n", name);
    return 2;
}
