//! The system calls that a program may not make, as a seccomp filter: computed here as data, installed by `enter`, or
//! handed to `bwrap`.
//!
//! What a renderer needs is allowed: files, memory, threads, processes, Unix sockets and its own loopback interface.
//! Refused is what reaches the kernel's rarely used corners (where most of its holes were), what opens a namespace in
//! which the program would be root, and what no limit counts. Numbers that are newer than this table, and those of
//! other ABIs, do not exist for the program: the next kernel brings nothing that nobody looked at.

use rustix::io::Errno;

/// Instruction of classic BPF.
pub(super) type Instruction = libc::sock_filter;

/// The newest call that this table knows (Linux 6.18). The numbers are the same on all architectures from 424 on.
const NEWEST: u32 = 469;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;
#[cfg(target_arch = "powerpc64")]
const ARCHITECTURE: u32 = 0xC000_0015;
#[cfg(target_arch = "s390x")]
const ARCHITECTURE: u32 = 0x8000_0016;

/// The argument of `clone` that has its flags.
const CLONE_FLAGS: u32 = if cfg!(target_arch = "s390x") { 1 } else { 0 };

/// New mount, cgroup, UTS, IPC, user, PID and network namespaces.
const NAMESPACES: u32 = 0x7E02_0000;

/// Set-user-id and set-group-id bits.
const SET_ID: u32 = 0o6000;

/// When a call is refused.
enum When {
    Always,
    /// The argument has one of these bits.
    Bits(u32, u32),
    /// The first argument has a bit of the first mask, and the second argument one of the second mask.
    BothBits((u32, u32), (u32, u32)),
    /// The argument is one of these.
    Is(u32, &'static [u32]),
    /// The argument is none of these.
    IsNot(u32, &'static [u32]),
    /// A socket of another family or protocol.
    Socket,
}

struct Rule {
    call: libc::c_long,
    when: When,
    errno: Errno,
}

/// Refused with "operation not permitted".
const FORBIDDEN: &[libc::c_long] = &[
    // Mounts and roots.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    467, // open_tree_attr
    // Namespaces; `clone` is below.
    libc::SYS_unshare,
    libc::SYS_setns,
    // Keys of the host's sessions and users.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The kernel itself, its clock, its log, its modules.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    // Other processes, and what the kernel runs for them.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_migrate_pages,
    libc::SYS_sched_setaffinity, // to see one CPU only, as on every machine
    libc::SYS_move_pages,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "s390x"))]
    libc::SYS_kexec_file_load,
];

/// Refused with "function not implemented", so that programs take the older way.
const ABSENT: &[libc::c_long] = &[
    libc::SYS_clone3,  // its flags are in memory, where no filter can see them
    libc::SYS_openat2, // so is its mode
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Memory that no limit counts.
    libc::SYS_memfd_create,
    447, // memfd_secret
    libc::SYS_shmget,
    libc::SYS_msgget,
    // Mounts of the host, by id.
    457, // statmount
    458, // listmount
];

fn rules() -> Vec<Rule> {
    let always = |errno| move |call: &libc::c_long| Rule { call: *call, when: When::Always, errno };
    let rule = |call, when| Rule { call, when, errno: Errno::PERM };
    let mut rules: Vec<Rule> = FORBIDDEN.iter().map(always(Errno::PERM)).collect();
    rules.extend(ABSENT.iter().map(always(Errno::NOSYS)));
    let creates = (libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY) as u32;
    rules.extend([
        rule(libc::SYS_clone, When::Bits(CLONE_FLAGS, NAMESPACES)),
        Rule { call: libc::SYS_socket, when: When::Socket, errno: Errno::AFNOSUPPORT },
        rule(libc::SYS_ioctl, When::Is(1, &[libc::TIOCSTI as u32, libc::TIOCLINUX as u32])),
        rule(libc::SYS_personality, When::IsNot(0, &[0, 8, 0x0002_0000, 0x0002_0008, 0xFFFF_FFFF])),
        rule(libc::SYS_fchmod, When::Bits(1, SET_ID)),
        rule(libc::SYS_fchmodat, When::Bits(2, SET_ID)),
        rule(452, When::Bits(2, SET_ID)), // fchmodat2
        rule(libc::SYS_mkdirat, When::Bits(2, SET_ID)),
        rule(libc::SYS_mknodat, When::Bits(2, SET_ID)),
        rule(libc::SYS_openat, When::BothBits((2, creates), (3, SET_ID))),
    ]);
    #[cfg(target_arch = "x86_64")]
    rules.extend([
        rule(libc::SYS_chmod, When::Bits(1, SET_ID)),
        rule(libc::SYS_mkdir, When::Bits(1, SET_ID)),
        rule(libc::SYS_mknod, When::Bits(1, SET_ID)),
        rule(libc::SYS_creat, When::Bits(1, SET_ID)),
        rule(libc::SYS_open, When::BothBits((1, creates), (2, SET_ID))),
    ]);
    rules
}

/// The whole filter.
pub(super) fn program() -> Vec<Instruction> {
    let mut program = vec![
        load(4),
        jump(libc::BPF_JEQ, ARCHITECTURE, 1, 0),
        refuse(Errno::NOSYS),
        load(0),
        jump(libc::BPF_JGT, NEWEST, 0, 1),
        refuse(Errno::NOSYS),
    ];
    for rule in rules() {
        let body = body(&rule);
        program.push(jump(libc::BPF_JEQ, rule.call as u32, 0, body.len() as u8));
        program.extend(body);
    }
    program.push(ret(libc::SECCOMP_RET_ALLOW));
    program
}

/// What happens to a call of this rule. Every path ends in a verdict.
fn body(rule: &Rule) -> Vec<Instruction> {
    let no = refuse(rule.errno);
    let yes = ret(libc::SECCOMP_RET_ALLOW);
    match rule.when {
        When::Always => vec![no],
        When::Bits(argument, mask) => {
            vec![load(low(argument)), jump(libc::BPF_JSET, mask, 0, 1), no, yes]
        }
        When::BothBits((first, one), (second, other)) => vec![
            load(low(first)),
            jump(libc::BPF_JSET, one, 0, 3),
            load(low(second)),
            jump(libc::BPF_JSET, other, 0, 1),
            no,
            yes,
        ],
        When::Is(argument, values) => one_of(argument, values, &[no], &[yes]),
        When::IsNot(argument, values) => one_of(argument, values, &[yes], &[no]),
        When::Socket => {
            // Unknown protocols of a family make the kernel load modules.
            let inet = one_of(2, &[0, libc::IPPROTO_TCP as u32, libc::IPPROTO_UDP as u32], &[yes], &[no]);
            let route = one_of(2, &[libc::NETLINK_ROUTE as u32], &[yes], &[no]);
            let netlink = one_of(0, &[libc::AF_NETLINK as u32], &route, &[no]);
            let families = one_of(0, &[libc::AF_INET as u32, libc::AF_INET6 as u32], &inet, &netlink);
            one_of(0, &[libc::AF_UNIX as u32], &[yes], &families)
        }
    }
}

/// `then` if the argument is one of the values, else `otherwise`; both end in a verdict.
fn one_of(
    argument: u32,
    values: &[u32],
    then: &[Instruction],
    otherwise: &[Instruction],
) -> Vec<Instruction> {
    let mut list = vec![load(low(argument))];
    for (at, value) in values.iter().enumerate() {
        let left = (values.len() - 1 - at) as u8;
        // The last one skips `then` if it does not match.
        let no = if left == 0 { then.len() as u8 } else { 0 };
        list.push(jump(libc::BPF_JEQ, *value, left, no));
    }
    list.extend_from_slice(then);
    list.extend_from_slice(otherwise);
    list
}

/// Where the kernel puts the lower half of an argument: after the number, the ABI and the instruction pointer.
fn low(argument: u32) -> u32 {
    16 + 8 * argument + if cfg!(target_endian = "big") { 4 } else { 0 }
}

fn load(offset: u32) -> Instruction {
    Instruction { code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, jt: 0, jf: 0, k: offset }
}

fn jump(condition: u32, value: u32, yes: u8, no: u8) -> Instruction {
    Instruction { code: (libc::BPF_JMP | condition | libc::BPF_K) as u16, jt: yes, jf: no, k: value }
}

fn ret(verdict: u32) -> Instruction {
    Instruction { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: verdict }
}

fn refuse(errno: Errno) -> Instruction {
    ret(libc::SECCOMP_RET_ERRNO | errno.raw_os_error() as u32)
}

/// The filter as `bwrap --seccomp` reads it.
pub(super) fn bytes() -> Vec<u8> {
    let each = |one: Instruction| {
        let [a, b] = one.code.to_ne_bytes();
        let k = one.k.to_ne_bytes();
        [a, b, one.jt, one.jf, k[0], k[1], k[2], k[3]]
    };
    program().into_iter().flat_map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would do: the errno, or none if it is allowed.
    fn verdict(architecture: u32, call: i64, arguments: &[u64]) -> Option<i32> {
        let word = |offset: u32| match offset {
            0 => call as u32,
            4 => architecture,
            offset => arguments.get((offset as usize - 16) / 8).copied().unwrap_or(0) as u32,
        };
        let (program, mut at, mut accumulator) = (program(), 0, 0);
        loop {
            let Instruction { code, jt, jf, k } = program[at];
            let holds = match u32::from(code) & 0xf0 {
                libc::BPF_JEQ => accumulator == k,
                libc::BPF_JGT => accumulator > k,
                libc::BPF_JSET => accumulator & k != 0,
                _ => false,
            };
            at += 1;
            match u32::from(code) & 7 {
                libc::BPF_LD => accumulator = word(k),
                libc::BPF_JMP => at += usize::from(if holds { jt } else { jf }),
                _ if k == libc::SECCOMP_RET_ALLOW => return None,
                _ => return Some((k & 0xffff) as i32),
            }
        }
    }

    fn call(call: i64, arguments: &[u64]) -> Option<i32> {
        verdict(ARCHITECTURE, call, arguments)
    }

    #[test]
    fn every_rule_is_reached_and_says_what_it_should() {
        for one in FORBIDDEN {
            assert_eq!(call(*one, &[]), Some(libc::EPERM), "{one}");
        }
        for one in ABSENT {
            assert_eq!(call(*one, &[]), Some(libc::ENOSYS), "{one}");
        }
        for one in [libc::SYS_read, libc::SYS_execve, libc::SYS_mmap, libc::SYS_futex, libc::SYS_seccomp] {
            assert_eq!(call(one, &[]), None, "{one}");
        }
    }

    #[test]
    fn threads_and_forks_are_made_but_no_namespaces() {
        let thread = libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_SIGHAND | libc::CLONE_FS;
        assert_eq!(call(libc::SYS_clone, &[thread as u64]), None);
        assert_eq!(call(libc::SYS_clone, &[libc::SIGCHLD as u64]), None);
        for flag in [libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWNET, libc::CLONE_NEWPID] {
            assert_eq!(call(libc::SYS_clone, &[(flag | libc::SIGCHLD) as u64]), Some(libc::EPERM));
        }
    }

    #[test]
    fn sockets_are_of_four_families() {
        let socket =
            |family: i32, protocol: i32| call(libc::SYS_socket, &[family as u64, 1, protocol as u64]);
        for (family, protocol) in
            [(libc::AF_UNIX, 0), (libc::AF_INET, 0), (libc::AF_INET6, 6), (libc::AF_NETLINK, 0)]
        {
            assert_eq!(socket(family, protocol), None, "{family}");
        }
        for family in (0..50).filter(|family| ![1, 2, 10, 16].contains(family)) {
            assert_eq!(socket(family, 0), Some(libc::EAFNOSUPPORT), "{family}");
        }
        assert_eq!(socket(libc::AF_INET, libc::IPPROTO_SCTP), Some(libc::EAFNOSUPPORT));
        assert_eq!(socket(libc::AF_NETLINK, libc::NETLINK_NETFILTER), Some(libc::EAFNOSUPPORT));
    }

    #[test]
    fn what_nobody_knows_does_not_exist() {
        assert_eq!(call(i64::from(NEWEST) + 1, &[]), Some(libc::ENOSYS));
        assert_eq!(call(libc::SYS_read | 0x4000_0000, &[]), Some(libc::ENOSYS), "x32");
        assert_eq!(verdict(0x4000_0003, libc::SYS_read, &[]), Some(libc::ENOSYS), "i386");
    }

    #[test]
    fn no_set_id_bit_is_made() {
        let openat = |flags: i32, mode: u64| call(libc::SYS_openat, &[0, 0, flags as u64, mode]);
        assert_eq!(openat(libc::O_CREAT | libc::O_WRONLY, 0o4755), Some(libc::EPERM));
        assert_eq!(openat(libc::O_CREAT | libc::O_WRONLY, 0o755), None);
        assert_eq!(openat(libc::O_RDONLY | libc::O_DIRECTORY, 0o4755), None, "the mode is not used");
        assert_eq!(call(libc::SYS_fchmodat, &[0, 0, 0o2755]), Some(libc::EPERM));
        assert_eq!(call(libc::SYS_fchmodat, &[0, 0, 0o1777]), None);
        assert_eq!(call(libc::SYS_ioctl, &[0, libc::TIOCSTI]), Some(libc::EPERM));
        assert_eq!(call(libc::SYS_ioctl, &[0, libc::FIONREAD]), None);
    }
}
