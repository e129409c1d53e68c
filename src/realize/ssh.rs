//! The way to a node: which arguments `ssh` gets, and why a node was not reached.
//!
//! Nodes are not the user's other hosts: what is known of them is kept beside the cluster's files, a machine that was made
//! again is another host, and nothing of the user's goes along: no agent, no forwarding.

use std::net::IpAddr;
use std::path::PathBuf;

use super::wanted::Mark;
use crate::base::hint::Hint;

/// The user that every node has.
const USER: &str = "core";

/// A node, and the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Way {
    pub node: String,
    pub address: IpAddr,
    /// The name that its host key is kept by.
    pub alias: String,
    /// Where host keys are kept.
    pub known_hosts: PathBuf,
    /// The host that stands between.
    pub jump: Option<String>,
}

/// Who talks to the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// A user, who can be asked.
    Person,
    /// This program: nobody is asked, and an answer comes soon or not at all.
    Program,
}

/// The name that a machine's host key is kept by: one that is made again has another key.
pub(super) fn alias(mark: &Mark) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    let short =
        |text: &str| text.chars().take(16).map(|c| if is_plain(c) { c } else { '-' }).collect::<String>();
    let Mark { node, ignition, image, disk, .. } = mark;
    [node.as_str(), &short(ignition), &short(image), &short(disk)].join("_").to_lowercase()
}

/// The host that nodes are behind, by libvirt's URI: `qemu+ssh://user@host:port/system`.
pub(super) fn jump(uri: &str) -> Option<String> {
    let (scheme, rest) = uri.split_once("://")?;
    let over_ssh = ["+ssh", "+libssh", "+libssh2"].iter().any(|transport| scheme.ends_with(transport));
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    (over_ssh && !host.is_empty()).then(|| host.to_owned())
}

impl Way {
    /// Arguments for `ssh`. What stands on the command line comes before whatever the user's configuration says.
    pub(crate) fn arguments(&self, manner: Manner, command: &[String]) -> Vec<String> {
        let mut options = vec![
            format!("UserKnownHostsFile={}", quoted(&self.known_hosts.display().to_string())),
            "GlobalKnownHostsFile=/dev/null".to_owned(),
            "StrictHostKeyChecking=accept-new".to_owned(),
            format!("HostKeyAlias={}", self.alias),
            "CheckHostIP=no".to_owned(),
            "UpdateHostKeys=no".to_owned(),
            "VerifyHostKeyDNS=no".to_owned(),
            "HashKnownHosts=no".to_owned(),
            "ForwardAgent=no".to_owned(),
            "ForwardX11=no".to_owned(),
            "ClearAllForwardings=yes".to_owned(),
            "PermitLocalCommand=no".to_owned(),
            "ControlMaster=no".to_owned(),
            "ControlPath=none".to_owned(),
            "ServerAliveInterval=15".to_owned(),
        ];
        options.extend(
            match manner {
                Manner::Person => ["ConnectTimeout=15"].as_slice(),
                Manner::Program => &["ConnectTimeout=5", "BatchMode=yes", "RequestTTY=no", "LogLevel=ERROR"],
            }
            .iter()
            .map(|option| (*option).to_owned()),
        );
        options.extend(self.jump.iter().map(|jump| format!("ProxyJump={jump}")));
        let mut words: Vec<String> =
            options.into_iter().flat_map(|option| ["-o".to_owned(), option]).collect();
        words.extend(["-l", USER, "-p", "22", "--"].map(str::to_owned));
        words.push(self.address.to_string());
        words.extend_from_slice(command);
        words
    }
}

/// A path as ssh reads it in an option: spaces would end it, and `%` begins something else.
fn quoted(path: &str) -> String {
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%"))
}

/// Why a node was not reached, or did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReachError {
    /// The bootstrap machine goes when the masters have the control plane.
    #[error("`{node}` was removed when the control plane moved to the masters")]
    Gone { node: String },
    /// There is no machine.
    #[error("`{node}` has no machine on the host")]
    NotMade { node: String },
    /// It does not run.
    #[error("the machine of `{node}` does not run: it is `{state}`")]
    Off { node: String, state: String },
    #[error("`{node}` does not answer on port 22 of {address}: {words}")]
    Silent {
        node: String,
        address: IpAddr,
        /// What the system or ssh said.
        words: String,
    },
    /// It answers, and does not let us in.
    #[error("`{node}` does not let you in: {words}")]
    Closed { node: String, words: String },
    /// Something on the node did not work.
    #[error("`{node}` could not say it: {words}")]
    Failed {
        node: String,
        /// What the node said.
        words: String,
    },
}

impl ReachError {
    /// What ssh's own failure means, by its words.
    pub(super) fn of_ssh(node: &str, address: IpAddr, words: &str) -> Self {
        let (node, words) = (node.to_owned(), words.to_owned());
        let says = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
        match says(&[
            "connect to host",
            "Connection timed out",
            "Connection closed",
            "Connection reset",
            "banner exchange",
        ]) {
            true => Self::Silent { node, address, words },
            false => Self::Closed { node, words },
        }
    }
}

impl Hint for ReachError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Gone { .. } => "the masters go on: `tinderbox realize status` lists what there is".into(),
            Self::NotMade { .. } => "`tinderbox realize apply` makes it".into(),
            Self::Off { .. } => "`tinderbox realize apply` starts it".into(),
            Self::Silent { node, .. } => {
                format!("`tinderbox realize logs {node}` shows its console: how far it came")
            }
            Self::Closed { words, .. } if words.contains("HOST IDENTIFICATION") || words.contains("Host key") => {
                "another machine is at this address, or this one was installed anew; if you know why, remove its line from \
                 `.realize/known_hosts`"
                    .into()
            }
            Self::Closed { .. } => {
                "the key that `ssh` offers has to be one of `sshKey` in install-config.yaml, as it was when the node was made"
                    .into()
            }
            Self::Failed { node, .. } => format!("`tinderbox realize ssh {node}` goes there"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(address: &str, jump: Option<&str>) -> Way {
        Way {
            node: "master-0".into(),
            address: address.parse().unwrap(),
            alias: "master-0_abc".into(),
            known_hosts: "/my clusters/100%/.realize/known_hosts".into(),
            jump: jump.map(str::to_owned),
        }
    }

    #[test]
    fn a_program_asks_nobody_and_keeps_to_its_own_host_keys() {
        let command = ["sudo".to_owned(), "-n".to_owned()];
        insta::assert_snapshot!(way("192.168.126.101", None).arguments(Manner::Program, &command).join("\n"), @r#"
        -o
        UserKnownHostsFile="/my clusters/100%%/.realize/known_hosts"
        -o
        GlobalKnownHostsFile=/dev/null
        -o
        StrictHostKeyChecking=accept-new
        -o
        HostKeyAlias=master-0_abc
        -o
        CheckHostIP=no
        -o
        UpdateHostKeys=no
        -o
        VerifyHostKeyDNS=no
        -o
        HashKnownHosts=no
        -o
        ForwardAgent=no
        -o
        ForwardX11=no
        -o
        ClearAllForwardings=yes
        -o
        PermitLocalCommand=no
        -o
        ControlMaster=no
        -o
        ControlPath=none
        -o
        ServerAliveInterval=15
        -o
        ConnectTimeout=5
        -o
        BatchMode=yes
        -o
        RequestTTY=no
        -o
        LogLevel=ERROR
        -l
        core
        -p
        22
        --
        192.168.126.101
        sudo
        -n
        "#);
    }

    #[test]
    fn a_person_may_be_asked_and_jumps() {
        let words = way("fd00:126::101", Some("me@lab:2222")).arguments(Manner::Person, &[]);
        assert!(words.contains(&"ProxyJump=me@lab:2222".to_owned()), "{words:?}");
        assert!(!words.contains(&"BatchMode=yes".to_owned()), "{words:?}");
        assert!(words.ends_with(&["--".to_owned(), "fd00:126::101".to_owned()]), "{words:?}");
    }

    #[test]
    fn only_libvirt_over_ssh_is_jumped_over() {
        for (uri, expected) in [
            ("qemu:///system", None),
            ("qemu:///session", None),
            ("qemu+ssh://lab/system", Some("lab")),
            ("qemu+ssh://me@lab.example.com:2222/system?socket=/run/x", Some("me@lab.example.com:2222")),
            ("qemu+ssh://root@[fd00::1]:22/system", Some("root@[fd00::1]:22")),
            ("qemu+libssh2://lab?known_hosts=/x", Some("lab")),
            ("qemu+tls://lab/system", None),
            ("qemu+ssh:///system", None),
        ] {
            assert_eq!(jump(uri).as_deref(), expected, "{uri}");
        }
    }

    #[test]
    fn a_machine_made_again_is_another_host() {
        let mark = |ignition: &str, image: &str| Mark {
            cluster: "c".into(),
            node: "master-0".into(),
            role: "master".into(),
            ignition: ignition.into(),
            image: image.into(),
            disk: "100".into(),
        };
        assert_eq!(alias(&mark("abc", "x y")), "master-0_abc_x-y_100");
        assert_ne!(alias(&mark("abc", "x")), alias(&mark("abd", "x")));
        assert_ne!(alias(&mark("abc", "x")), alias(&mark("abc", "y")));
    }

    /// In OpenSSH 9's own words.
    #[test]
    fn failures_are_told_apart() {
        let address = "192.168.126.101".parse().unwrap();
        for (words, expected) in [
            ("ssh: connect to host 192.168.126.101 port 22: Connection refused", "silent"),
            ("ssh: connect to host 192.168.126.101 port 22: No route to host", "silent"),
            ("Connection timed out during banner exchange", "silent"),
            ("core@192.168.126.101: Permission denied (publickey).", "closed"),
            ("Host key verification failed.", "closed"),
        ] {
            let kind = match ReachError::of_ssh("master-0", address, words) {
                ReachError::Silent { .. } => "silent",
                ReachError::Closed { .. } => "closed",
                _ => "?",
            };
            assert_eq!(kind, expected, "{words}");
        }
    }
}
