//! Lines of real runs: Debian's Ignition 2.14 in a machine, and the same below the kernel's and the journal's prefixes.

use super::*;

const NODE: &str = r#"{"ignition":{"version":"3.4.0"}}"#;
const OTHER: &str = r#"{"ignition":{"version":"3.3.0"}}"#;

fn sha512(text: &str) -> String {
    Sha512::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A boot with this config, as Debian's Ignition 2.14 tells it on a console of its own.
fn boot(config: &str) -> String {
    format!(
        "[    0.000000] Linux version 6.1.0-54-cloud-amd64 (debian-kernel@lists.debian.org) (gcc-12) #1 SMP\r
[    3.224146] Run /init as init process\r
INFO     : Ignition Debian 2.14.0+ds1-1+b6\r
INFO     : Stage: fetch-offline\r
INFO     : no config dir at \"/usr/lib/ignition/base.d\"\r
DEBUG    : parsed url from cmdline: \"\"\r
INFO     : no config URL provided\r
INFO     : reading system config file \"/usr/lib/ignition/user.ign\"\r
INFO     : no config at \"/usr/lib/ignition/user.ign\"\r
INFO     : op(1): [started]  loading QEMU firmware config module\r
DEBUG    : op(1): executing: \"modprobe\" \"qemu_fw_cfg\"\r
INFO     : op(1): [finished] loading QEMU firmware config module\r
DEBUG    : parsing config with SHA512: {}\r
INFO     : fetch-offline: fetch-offline passed\r
INFO     : Ignition finished successfully\r
INFO     : Ignition Debian 2.14.0+ds1-1+b6\r
INFO     : Stage: files\r
INFO     : files: op(2c): [finished] setting preset to disabled for \"nodeip-configuration.service\"\r
INFO     : files: files passed\r
INFO     : Ignition finished successfully\r
",
        sha512(config)
    )
}

/// The same as a CoreOS shows it: with a config of its own, through the journal and the kernel, between systemd's lines.
fn coreos(config: &str) -> String {
    format!(
        "[    0.000000] Linux version 5.14.0-427.el9.x86_64 (mockbuild@x86-64) (gcc 11.4.1) #1 SMP
         Startin[    2.704774] systemd[1]: Starting Ignition (fetch-offline)...
g Ignition (fetch-offline)...
[    2.719775] ignition[743]: Ignition 2.20.0
[    2.720134] ignition[743]: Stage: fetch-offline
[    2.720474] ignition[743]: reading system config file \"/usr/lib/ignition/base.d/00-core.ign\"
[    2.720475] ignition[743]: parsing config with SHA512: {base}
[    2.720476] ignition[743]: no config dir at \"/usr/lib/ignition/base.platform.d/qemu\"
[    2.720477] ignition[743]: reading system config file \"/usr/lib/ignition/user.ign\"
[    2.720478] ignition[743]: parsing config with SHA512: {}
[    2.720479] ignition[743]: fetched user config from \"qemu\"
[    2.720480] ignition[743]: Ignition finished successfully
\u{1b}[0;32m  OK  \u{1b}[0m] Finished Ignition (fetch-offline).
[    5.100000] ignition[901]: INFO     : Ignition 2.20.0
[    5.100001] ignition[901]: INFO     : Stage: files
[    5.100002] ignition[901]: INFO     : reading system config file \"/usr/lib/ignition/base.d/00-core.ign\"
[    5.100003] ignition[901]: DEBUG    : parsing config with SHA512: {base}
[    5.200000] ignition[901]: INFO     : files: files passed
[    5.200001] ignition[901]: INFO     : Ignition finished successfully
",
        sha512(config),
        base = sha512("the operating system's own"),
    )
}

fn read(log: &str) -> Option<Booted> {
    Booted::read(log.as_bytes(), &Expected::of(NODE))
}

#[test]
fn the_node_says_what_it_booted() {
    assert_eq!(read(""), None);
    assert_eq!(read("SeaBIOS (version 1.16.2)\r\nBooting from Hard Disk...\r\n"), None);
    for console in [boot, coreos] {
        assert_eq!(read(&console(NODE)), Some(Booted::Current));
        assert_eq!(read(&console(OTHER)), Some(Booted::Another));
        assert_eq!(read(&console(&iso::unattended(NODE))), Some(Booted::Installer));
        assert_eq!(read(&console(&iso::unattended(OTHER))), Some(Booted::Another));
        assert_eq!(read(&console(NODE).replace("\r\n", "\n")), Some(Booted::Current));
    }
}

/// One file has every boot of a machine.
#[test]
fn the_last_run_counts() {
    let (kernel, _) =
        coreos(NODE).split_once('\n').map(|(one, rest)| (one.to_owned(), rest.to_owned())).unwrap();
    for (log, expected) in [
        ([boot(&iso::unattended(NODE)), boot(NODE)].concat(), Booted::Current),
        ([coreos(OTHER), coreos(NODE)].concat(), Booted::Current),
        ([boot(NODE), boot(OTHER)].concat(), Booted::Another),
        // A later boot has none: Ignition ran once, and what it wrote is still there.
        (
            [coreos(NODE), kernel, "\n[    9.1] systemd[1]: Reached target Multi-User\n".into()].concat(),
            Booted::Current,
        ),
        // Without the network the first try ends with nothing, and the second belongs to it.
        (
            coreos(NODE).replace("fetch-offline\n", "fetch-offline\n[    2.7] ignition[743]: Stage: fetch\n"),
            Booted::Current,
        ),
        // The kernel says nothing where it is told to be quiet.
        ([boot(OTHER), boot(NODE)].concat().replace("Linux version", "quiet"), Booted::Current),
    ] {
        assert_eq!(read(&log), Some(expected), "{log}");
    }
}

/// It is of level debug. The system's own, which other stages show, is not taken for the node's.
#[test]
fn a_console_without_the_digest_claims_nothing() {
    let fetched = format!("[    2.720478] ignition[743]: parsing config with SHA512: {}\n", sha512(NODE));
    let log = coreos(NODE).replace(&fetched, "");
    assert_eq!(log.matches("SHA512").count(), 2);
    assert_eq!(read(&log), Some(Booted::Unnamed));
    let first = log.find("[    2.720475]").unwrap();
    let end = first + log[first..].find('\n').unwrap() + 1;
    assert_eq!(read(&[&log[..first], &log[end..]].concat()), Some(Booted::Unnamed));
}

#[test]
fn ignition_may_be_at_work_or_have_given_up() {
    let whole = boot(NODE);
    let at = |words: &str| &whole[..whole.find(words).unwrap()];
    assert_eq!(read(at("Stage:")), None);
    assert_eq!(read(at("parsing config")), Some(Booted::Applying));
    assert_eq!(read(at("files passed")), Some(Booted::Applying));
    let failed =
        [at("parsing config"), "CRITICAL : Ignition failed: unsupported config version\r\n"].concat();
    assert_eq!(read(&failed), Some(Booted::Failed));
    assert_eq!(read(&[failed.as_str(), &boot(NODE)].concat()), Some(Booted::Current));
}

/// Where a log begins or ends in the middle of something, that something is not there.
#[test]
fn any_part_of_a_log_can_be_read() {
    let log = [coreos(OTHER), coreos(NODE)].concat();
    for cut in 0..log.len() {
        if log.is_char_boundary(cut) {
            let (before, after) = log.split_at(cut);
            let after = read(after);
            assert!(after != Some(Booted::Another) || cut < coreos(OTHER).len(), "{cut}");
            assert_ne!(read(before), Some(Booted::Failed), "{cut}");
        }
    }
    let short = boot(NODE).replace(&sha512(NODE), &sha512(NODE)[..127]);
    assert_eq!(read(&short), Some(Booted::Unnamed));
    let long = boot(NODE).replace(&sha512(NODE), &(sha512(NODE) + "0"));
    assert_eq!(read(&long), Some(Booted::Unnamed));
    assert_eq!(Booted::read(&[0xff, b'\n', 0, b'\r'], &Expected::of(NODE)), None);
}
