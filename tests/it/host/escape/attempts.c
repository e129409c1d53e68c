/* Attempts to leave the sandbox, one function each. Prints `class/name: refused (…)` or `class/name: ESCAPED (…)`.
 *
 * attempts MARKER HOST_PID TCP_PORT ABSTRACT_SOCKET [safe]
 *
 * attempts use WHAT
 *
 * MARKER is a file of the host. With `safe`, only attempts that change nothing where they succeed: for a control
 * outside of the sandbox, where many must succeed. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *marker, *abstract_name;
static int host_pid, port;
static char why[256];

static int refused(const char *text) { snprintf(why, sizeof why, "%s", text); return 0; }
static int escaped(const char *text) { snprintf(why, sizeof why, "%s", text); return 1; }
/* A call that must fail. */
static int must_fail(long result) { return result == -1 ? refused(strerrorname_np(errno)) : escaped("it was allowed"); }
static int opens(const char *path, int flags) {
  int fd = open(path, flags | O_NONBLOCK, 0644);
  if (fd < 0) return refused(strerrorname_np(errno));
  return escaped(path);
}
/* Reading must fail or give nothing. */
static int reads(const char *path) {
  char byte[8];
  int fd = open(path, O_RDONLY | O_NONBLOCK);
  if (fd < 0) return refused(strerrorname_np(errno));
  long got = read(fd, byte, sizeof byte);
  return got > 0 ? escaped(path) : refused("it is empty");
}
static int below(const char *root) {
  char path[4096];
  snprintf(path, sizeof path, "%s%s", root, marker);
  return reads(path);
}

/* files */
static int f_marker(void) { return reads(marker); }
static int f_shadow(void) { return reads("/etc/shadow"); }
static int f_proc_root(void) { return below("/proc/1/root"); }
static int f_proc_cwd(void) { return below("/proc/1/cwd/../../../../../.."); }
static int f_host_root(void) { char p[64]; snprintf(p, sizeof p, "/proc/%d/root", host_pid); return below(p); }
static int f_dots(void) { return below("/../../../.."); }
static int f_link(void) { unlink("/out/link"); if (symlink(marker, "/out/link")) return refused("no link"); return reads("/out/link"); }
static int f_write_root(void) { return opens("/escaped", O_CREAT | O_WRONLY); }
static int f_write_image(void) { return opens("/bin/escaped", O_CREAT | O_WRONLY); }
static int f_write_input(void) { return opens("/in/secret", O_WRONLY); }
static int f_truncate_input(void) { return must_fail(truncate("/in/secret", 0)); }
static int f_chmod_input(void) { return must_fail(chmod("/in/secret", 0777)); }
static int f_unlink_input(void) { return must_fail(unlink("/in/secret")); }
static int f_rename_input(void) { return must_fail(rename("/in/secret", "/out/secret")); }
static int f_hard_link(void) { return must_fail(link("/in/secret", "/out/hard")); }
static int f_dev_write(void) { return opens("/dev/escaped", O_CREAT | O_WRONLY); }
static int f_mknod_mem(void) { return must_fail(mknod("/out/mem", S_IFCHR | 0600, makedev(1, 1))); }
static int f_mknod_disk(void) { return must_fail(mknod("/tmp/disk", S_IFBLK | 0600, makedev(254, 0))); }
static int f_set_uid(void) { int fd = open("/out/suid", O_CREAT | O_WRONLY | O_EXCL, 04755); return must_fail(fd); }
static int f_chmod_set_uid(void) { close(open("/out/plain", O_CREAT | O_WRONLY, 0755)); return must_fail(chmod("/out/plain", 04755)); }
static int f_fchmodat2(void) { close(open("/out/plain", O_CREAT | O_WRONLY, 0755)); return must_fail(syscall(452, AT_FDCWD, "/out/plain", 02755, 0)); }
static int f_openat2(void) { unsigned long how[3] = {O_RDONLY, 0, 0}; return must_fail(syscall(SYS_openat2, AT_FDCWD, "/", how, sizeof how)); }
static int f_handle(void) { char handle[128] = {120}; int id; return must_fail(syscall(SYS_name_to_handle_at, AT_FDCWD, "/", handle, &id, 0)); }
static int f_open_handle(void) { int handle[4] = {8, 1, 2, 0}; return must_fail(syscall(SYS_open_by_handle_at, AT_FDCWD, handle, O_RDONLY)); }
static int f_descriptors(void) {
  for (int fd = 3; fd < 1024; fd++) if (fcntl(fd, F_GETFD) != -1) return escaped("an inherited descriptor");
  return refused("none is inherited");
}

/* mounts */
static int m_tmpfs(void) { return must_fail(mount("x", "/tmp", "tmpfs", 0, "")); }
static int m_remount(void) { return must_fail(mount("", "/", "", MS_REMOUNT | MS_BIND, "")); }
static int m_remount_proc(void) { return must_fail(mount("", "/proc", "", MS_REMOUNT | MS_BIND, "")); }
static int m_bind(void) { return must_fail(mount("/bin", "/out", "", MS_BIND, "")); }
static int m_proc(void) { return must_fail(mount("proc", "/tmp", "proc", 0, "")); }
static int m_cgroup(void) { return must_fail(mount("x", "/tmp", "cgroup2", 0, "")); }
static int m_umount(void) { return must_fail(umount2("/in", MNT_DETACH)); }
static int m_pivot(void) { return must_fail(syscall(SYS_pivot_root, "/out", "/out")); }
static int m_chroot(void) { return must_fail(chroot("/out")); }
static int m_open_tree(void) { return must_fail(syscall(SYS_open_tree, AT_FDCWD, "/", 1)); }
static int m_fsopen(void) { return must_fail(syscall(SYS_fsopen, "tmpfs", 0)); }
static int m_move(void) { return must_fail(syscall(SYS_move_mount, AT_FDCWD, "/in", AT_FDCWD, "/out", 0)); }
static int m_setattr(void) { unsigned long attr[4] = {0, 1, 0, 0}; return must_fail(syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, attr, sizeof attr)); }
static int m_listmount(void) { unsigned long request[4] = {24, ~0ul, 0, 0}, ids[8]; return must_fail(syscall(458, request, ids, 8, 0)); }

/* processes and privileges */
static int p_kill_host(void) { return must_fail(kill(host_pid, 0)); }
static int p_see_host(void) { char p[64]; snprintf(p, sizeof p, "/proc/%d/status", host_pid); return opens(p, O_RDONLY); }
static int p_kill_first(void) { kill(1, SIGKILL); usleep(20000); return refused("it lives"); }
static int p_ptrace_first(void) { return must_fail(ptrace(PTRACE_ATTACH, 1, 0, 0)); }
static int p_ptrace_child(void) {
  int child = fork();
  if (!child) { pause(); _exit(0); }
  long done = ptrace(PTRACE_ATTACH, child, 0, 0);
  int was = errno;
  kill(child, SIGKILL); waitpid(child, 0, 0);
  errno = was;
  return must_fail(done);
}
static int p_vm_read(void) { char to[8]; struct iovec l = {to, 8}, r = {(void *)0x400000, 8}; return must_fail(process_vm_readv(getppid(), &l, 1, &r, 1, 0)); }
static int p_mem(void) { return opens("/proc/1/mem", O_RDONLY); }
static int p_environ(void) { return reads("/proc/1/environ"); }
static int p_cmdline(void) { return reads("/proc/1/cmdline"); }
static int p_pidfd(void) { int fd = syscall(SYS_pidfd_open, getpid(), 0); if (fd < 0) return refused(strerrorname_np(errno)); return must_fail(syscall(SYS_pidfd_getfd, fd, 0, 0)); }
static int p_setuid(void) { return must_fail(setuid(0)); }
static int p_setgid(void) { return must_fail(setgid(0)); }
static int p_setgroups(void) { gid_t none = 0; return must_fail(syscall(SYS_setgroups, 1, &none)); }
static int p_capset(void) {
  struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2] = {{~0u, ~0u, 0}, {~0u, ~0u, 0}};
  return must_fail(syscall(SYS_capset, &head, data));
}
static int p_new_privs(void) { return must_fail(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0)); }
static int p_unfilter(void) { return must_fail(prctl(PR_SET_SECCOMP, 0)); }
static int p_unshare_user(void) { return must_fail(unshare(CLONE_NEWUSER)); }
static int p_unshare_mount(void) { return must_fail(unshare(CLONE_NEWNS)); }
static int p_unshare_net(void) { return must_fail(unshare(CLONE_NEWNET)); }
static int p_clone_user(void) {
  long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) _exit(0);
  return must_fail(pid);
}
static int p_clone3_user(void) {
  unsigned long args[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
  long pid = syscall(SYS_clone3, args, sizeof args);
  if (pid == 0) _exit(0);
  return must_fail(pid);
}
static int p_setns(void) { int fd = open("/proc/1/ns/mnt", O_RDONLY); if (fd < 0) return refused(strerrorname_np(errno)); return must_fail(setns(fd, 0)); }
static int p_uid_map(void) { int fd = open("/proc/self/uid_map", O_WRONLY); if (fd < 0) return refused(strerrorname_np(errno)); return must_fail(write(fd, "0 0 1", 5)); }
static int p_oom(void) { return opens("/proc/self/oom_score_adj", O_WRONLY); }
static int p_personality(void) { return must_fail(personality(ADDR_NO_RANDOMIZE)); }
static int p_terminal(void) { return opens("/dev/tty", O_RDWR); }
static int p_type_ahead(void) { char c = 'x'; return must_fail(ioctl(0, TIOCSTI, &c)); }
static int p_priority(void) { return must_fail(syscall(SYS_ioprio_set, 1, 1, 1 << 13)); }

/* network */
static int n_tcp(void) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  return must_fail(connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&to, sizeof to));
}
static int n_udp(void) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53), .sin_addr = {htonl(0xC0000201)}};
  return must_fail(sendto(socket(AF_INET, SOCK_DGRAM, 0), "x", 1, 0, (void *)&to, sizeof to));
}
static int n_abstract(void) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  strncpy(to.sun_path + 1, abstract_name, sizeof to.sun_path - 2);
  return must_fail(connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&to, sizeof(sa_family_t) + 1 + strlen(abstract_name)));
}
static int n_vsock(void) { return must_fail(socket(AF_VSOCK, SOCK_STREAM, 0)); }
static int n_packet(void) { return must_fail(socket(AF_PACKET, SOCK_RAW, 0)); }
static int n_raw(void) { return must_fail(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)); }
static int n_alg(void) { return must_fail(socket(AF_ALG, SOCK_SEQPACKET, 0)); }
static int n_sctp(void) { return must_fail(socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP)); }
static int n_netfilter(void) { return must_fail(socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER)); }
static int n_audit(void) { return must_fail(socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT)); }
static int n_uevent(void) { return must_fail(socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT)); }
static int n_bluetooth(void) { return must_fail(socket(AF_BLUETOOTH, SOCK_RAW, 0)); }
static int n_tipc(void) { return must_fail(socket(AF_TIPC, SOCK_STREAM, 0)); }
static int n_xdp(void) { return must_fail(socket(AF_XDP, SOCK_RAW, 0)); }

/* the kernel */
static int k_keyring(void) { char to[64]; return must_fail(syscall(SYS_keyctl, 6 /* describe */, -3 /* session */, to, sizeof to)); }
static int k_key_read(void) { char to[64]; return must_fail(syscall(SYS_keyctl, 11 /* read */, -3, to, sizeof to)); }
static int k_add_key(void) { return must_fail(syscall(SYS_add_key, "user", "x", "y", 1, -3)); }
static int k_request_key(void) { return must_fail(syscall(SYS_request_key, "user", "tinderbox-secret", 0, 0)); }
static int k_proc_keys(void) { return reads("/proc/keys"); }
static int k_core_pattern(void) { return opens("/proc/sys/kernel/core_pattern", O_WRONLY); }
static int k_cgroup(void) {
  char text[8192], *line, *save = 0, *path;
  int fd = open("/proc/self/cgroup", O_RDONLY);
  long size = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
  if (size <= 0) return refused("no /proc/self/cgroup");
  text[size] = 0;
  for (line = strtok_r(text, "\n", &save); line; line = strtok_r(0, "\n", &save)) {
    path = strchr(line, ':');
    path = path ? strchr(path + 1, ':') : 0;
    if (path && strcmp(path + 1, "/")) return escaped(path + 1);
  }
  return refused("every group is the root");
}
static int k_boot_id(void) { return reads("/proc/sys/kernel/random/boot_id"); }
static int k_sysrq(void) { return opens("/proc/sysrq-trigger", O_WRONLY); }
static int k_kcore(void) { return reads("/proc/kcore"); }
static int k_kallsyms(void) { return reads("/proc/kallsyms"); }
static int k_cpuinfo(void) { return reads("/proc/cpuinfo"); }
static int k_meminfo(void) { return reads("/proc/meminfo"); }
static int k_kernel_cmdline(void) { return reads("/proc/cmdline"); }
static int k_mem(void) { return opens("/dev/mem", O_RDONLY); }
static int k_kmsg(void) { return opens("/dev/kmsg", O_RDONLY); }
static int k_kvm(void) { return opens("/dev/kvm", O_RDWR); }
static int k_sys(void) { return opens("/sys/kernel", O_RDONLY); }
static int k_bpf(void) { char attr[128] = {1, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 1}; return must_fail(syscall(SYS_bpf, 0, attr, sizeof attr)); }
static int k_perf(void) { unsigned attr[32] = {1, 128}; attr[8] = 0x60; return must_fail(syscall(SYS_perf_event_open, attr, 0, -1, -1, 0)); }
static int k_userfaultfd(void) { return must_fail(syscall(SYS_userfaultfd, 1)); }
static int k_io_uring(void) { char params[120] = {0}; return must_fail(syscall(SYS_io_uring_setup, 4, params)); }
static int k_module(void) { return must_fail(syscall(SYS_init_module, "x", 1, "")); }
static int k_kexec(void) { return must_fail(syscall(SYS_kexec_load, 0, 0, 0, 0)); }
static int k_reboot(void) { return must_fail(syscall(SYS_reboot, 0xfee1dead, 672274793, 0 /* Ctrl-Alt-Del off */, 0)); }
static int k_swap(void) { return must_fail(syscall(SYS_swapon, "/out/x", 0)); }
static int k_clock(void) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); return must_fail(clock_settime(CLOCK_REALTIME, &t)); }
static int k_adjtime(void) { struct timex t = {0}; return must_fail(adjtimex(&t)); }
static int k_log(void) { char to[64]; return must_fail(syscall(SYS_syslog, 3, to, sizeof to)); }
static int k_hostname(void) { return must_fail(sethostname("x", 1)); }
static int k_acct(void) { return must_fail(syscall(SYS_acct, 0)); }
static int k_quota(void) { return must_fail(syscall(SYS_quotactl, 0, 0, 0, 0)); }
static int k_fanotify(void) { return must_fail(syscall(SYS_fanotify_init, 0, 0)); }
static int k_kcmp(void) { return must_fail(syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0)); }
static int k_memfd(void) { return must_fail(syscall(SYS_memfd_create, "x", 0)); }
static int k_shm(void) { return must_fail(syscall(SYS_shmget, 0, 4096, 01600)); }
static int k_queue(void) { return must_fail(syscall(SYS_msgget, 0, 01600)); }
static int k_unknown(void) { return must_fail(syscall(500)); }
#ifdef __x86_64__
static int k_x32(void) { return must_fail(syscall(0x40000000 | SYS_getpid)); }
static int k_i386(void) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20 /* getpid */) : "memory");
  return result < 0 ? refused("no such ABI") : escaped("i386 calls are made");
}
static int k_iopl(void) { return must_fail(syscall(SYS_iopl, 0)); }
static int k_ldt(void) { char to[64]; return must_fail(syscall(SYS_modify_ldt, 0, to, sizeof to)); }
#endif

struct attempt { const char *class; const char *name; int (*run)(void); int safe; };
#define A(class, name, safe) {#class, #name, class##_##name, safe}
static const struct attempt attempts[] = {
  A(f, marker, 1), A(f, shadow, 0), A(f, proc_root, 0), A(f, proc_cwd, 0), A(f, host_root, 1), A(f, dots, 1), A(f, link, 0),
  A(f, write_root, 0), A(f, write_image, 0), A(f, write_input, 0), A(f, truncate_input, 0), A(f, chmod_input, 0),
  A(f, unlink_input, 0), A(f, rename_input, 0), A(f, hard_link, 0), A(f, dev_write, 0), A(f, mknod_mem, 0),
  A(f, mknod_disk, 0), A(f, set_uid, 0), A(f, chmod_set_uid, 0), A(f, fchmodat2, 0), A(f, openat2, 1), A(f, handle, 1),
  A(f, open_handle, 0), A(f, descriptors, 0),
  A(m, tmpfs, 0), A(m, remount, 0), A(m, remount_proc, 0), A(m, bind, 0), A(m, proc, 0), A(m, cgroup, 0), A(m, umount, 0),
  A(m, pivot, 0), A(m, chroot, 0), A(m, open_tree, 0), A(m, fsopen, 0), A(m, move, 0), A(m, setattr, 0), A(m, listmount, 1),
  A(p, kill_host, 1), A(p, see_host, 1), A(p, kill_first, 0), A(p, ptrace_first, 0), A(p, ptrace_child, 1), A(p, vm_read, 1),
  A(p, mem, 0), A(p, environ, 0), A(p, cmdline, 1), A(p, pidfd, 1), A(p, setuid, 0), A(p, setgid, 0), A(p, setgroups, 0),
  A(p, capset, 0), A(p, new_privs, 0), A(p, unfilter, 0), A(p, unshare_user, 1), A(p, unshare_mount, 0),
  A(p, unshare_net, 0), A(p, clone_user, 1), A(p, clone3_user, 1), A(p, setns, 0), A(p, uid_map, 0), A(p, oom, 1),
  A(p, personality, 1), A(p, terminal, 0), A(p, type_ahead, 0), A(p, priority, 0),
  A(n, tcp, 1), A(n, udp, 0), A(n, abstract, 1), A(n, vsock, 1), A(n, packet, 0), A(n, raw, 0), A(n, alg, 1), A(n, sctp, 0),
  A(n, netfilter, 1), A(n, audit, 1), A(n, uevent, 1), A(n, bluetooth, 0), A(n, tipc, 0), A(n, xdp, 0),
  A(k, keyring, 1), A(k, key_read, 1), A(k, add_key, 0), A(k, request_key, 0), A(k, proc_keys, 0), A(k, core_pattern, 0),
  A(k, cgroup, 0), A(k, boot_id, 1), A(k, sysrq, 0), A(k, kcore, 0), A(k, kallsyms, 1), A(k, cpuinfo, 1), A(k, meminfo, 1),
  A(k, kernel_cmdline, 1), A(k, mem, 0), A(k, kmsg, 0), A(k, kvm, 0), A(k, sys, 1), A(k, bpf, 0), A(k, perf, 0),
  A(k, userfaultfd, 0), A(k, io_uring, 1), A(k, module, 0), A(k, kexec, 0), A(k, reboot, 0), A(k, swap, 0), A(k, clock, 0),
  A(k, adjtime, 1), A(k, log, 0), A(k, hostname, 0), A(k, acct, 0), A(k, quota, 0), A(k, fanotify, 0), A(k, kcmp, 1),
  A(k, memfd, 1), A(k, shm, 0), A(k, queue, 0), A(k, unknown, 0),
#ifdef __x86_64__
  A(k, x32, 0), A(k, i386, 0), A(k, iopl, 0), A(k, ldt, 1),
#endif
};

/* Uses up one thing until somebody stops it. */
static int use(const char *what) {
  char name[64];
  static char chunk[1 << 20];
  memset(chunk, 1, sizeof chunk);
  if (!strcmp(what, "processes")) {
    int made = 0;
    while (made < 100000) {
      int child = fork();
      if (child < 0) break;
      if (child == 0) { pause(); _exit(0); }
      made++;
    }
    printf("%d processes\n", made);
    return 0;
  }
  if (!strcmp(what, "shared")) {
    for (;;) {
      char *at = mmap(0, sizeof chunk, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      if (at == MAP_FAILED) return 1;
      memset(at, 1, sizeof chunk);
      usleep(500);
    }
  }
  if (!strcmp(what, "together")) {
    for (int n = 0; n < 1000; n++) {
      if (fork() == 0) { char *at = malloc(32 << 20); if (!at) _exit(1); memset(at, 1, 32 << 20); pause(); }
      usleep(5000);
    }
    pause();
  }
  if (!strcmp(what, "deleted")) {
    for (int n = 0;; n++) {
      snprintf(name, sizeof name, "/out/%d", n);
      int fd = open(name, O_CREAT | O_RDWR, 0600);
      if (fd < 0) { pause(); }
      unlink(name);
      for (int i = 0; i < 4; i++) if (write(fd, chunk, sizeof chunk) < 0) return 1;
      usleep(1000);
    }
  }
  if (!strcmp(what, "deep")) {
    chdir("/out");
    for (int n = 0; n < 3000; n++) if (mkdir("deep", 0700) || chdir("deep")) return 1;
    return 0;
  }
  if (!strcmp(what, "unreadable")) {
    chdir("/out");
    mkdir("hidden", 0700);
    for (int n = 0; n < 20; n++) {
      snprintf(name, sizeof name, "hidden/%d", n);
      int fd = open(name, O_CREAT | O_WRONLY, 0600);
      if (write(fd, chunk, sizeof chunk) < 0) return 1;
      close(fd);
    }
    return chmod("hidden", 0);
  }
  if (!strcmp(what, "sparse")) return ftruncate(open("/out/sparse", O_CREAT | O_WRONLY, 0600), 1l << 40) != 0;
  if (!strcmp(what, "descriptors")) {
    int made = 0;
    while (dup(0) >= 0) made++;
    printf("%d descriptors\n", made);
    return 0;
  }
  return 2;
}

int main(int argc, char **argv) {
  if (argc == 3 && !strcmp(argv[1], "use")) return use(argv[2]);
  if (argc < 5) return 2;
  marker = argv[1];
  host_pid = atoi(argv[2]);
  port = atoi(argv[3]);
  abstract_name = argv[4];
  int safe = argc > 5;
  for (unsigned n = 0; n < sizeof attempts / sizeof *attempts; n++) {
    const struct attempt *one = &attempts[n];
    if (safe && !one->safe) continue;
    fflush(stdout);
    int child = fork(); /* what one attempt changes, no other sees */
    if (child == 0) {
      alarm(5);
      int done = one->run();
      printf("%s/%s: %s (%s)\n", one->class, one->name, done ? "ESCAPED" : "refused", why);
      fflush(stdout);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
      printf("%s/%s: BROKEN (%d)\n", one->class, one->name, status);
  }
  return 0;
}
