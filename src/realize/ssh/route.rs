//! How ssh reaches a node: the arguments that it gets.
//!
//! Nodes are not the user's other hosts: their host keys are kept beside the cluster's files, a reinstalled machine counts as
//! another host, and nothing of the user is forwarded, neither an agent nor ports.

use std::net::IpAddr;
use std::path::PathBuf;

/// The user of every node.
const USER: &str = "core";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SshRoute {
    pub node: String,
    pub address: IpAddr,
    /// The name that its host key is kept under.
    pub host_key_alias: String,
    pub known_hosts: PathBuf,
    /// The host between us and the node.
    pub jump_host: Option<String>,
}

/// Who uses the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SshMode {
    /// A user, who can answer questions.
    Interactive,
    /// This program: no questions, and a short timeout.
    Batch,
}

impl SshRoute {
    /// Options on the command line take precedence over the user's configuration.
    pub(crate) fn arguments(&self, mode: SshMode, command: &[String]) -> Vec<String> {
        let mut options = vec![
            format!("UserKnownHostsFile={}", quoted(&self.known_hosts.display().to_string())),
            "GlobalKnownHostsFile=/dev/null".to_owned(),
            "StrictHostKeyChecking=accept-new".to_owned(),
            format!("HostKeyAlias={}", self.host_key_alias),
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
            match mode {
                SshMode::Interactive => ["ConnectTimeout=15"].as_slice(),
                SshMode::Batch => &["ConnectTimeout=5", "BatchMode=yes", "RequestTTY=no", "LogLevel=ERROR"],
            }
            .iter()
            .map(|option| (*option).to_owned()),
        );
        options.extend(self.jump_host.iter().map(|jump| format!("ProxyJump={jump}")));
        let mut args: Vec<String> =
            options.into_iter().flat_map(|option| ["-o".to_owned(), option]).collect();
        args.extend(["-l", USER, "-p", "22", "--"].map(str::to_owned));
        args.push(self.address.to_string());
        args.extend_from_slice(command);
        args
    }
}

/// Quotes a path in an option: a space would end it, and `%` starts a token.
fn quoted(path: &str) -> String {
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(address: &str, jump: Option<&str>) -> SshRoute {
        SshRoute {
            node: "master-0".into(),
            address: address.parse().unwrap(),
            host_key_alias: "master-0_abc".into(),
            known_hosts: "/my clusters/100%/.realize/known_hosts".into(),
            jump_host: jump.map(str::to_owned),
        }
    }

    #[test]
    fn batch_mode_asks_nothing_and_uses_its_own_host_keys() {
        let command = ["sudo".to_owned(), "-n".to_owned()];
        insta::assert_snapshot!(route("192.168.126.101", None).arguments(SshMode::Batch, &command).join("\n"), @r#"
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
    fn a_user_may_be_asked_and_the_host_is_jumped_over() {
        let args = route("fd00:126::101", Some("me@lab:2222")).arguments(SshMode::Interactive, &[]);
        assert!(args.contains(&"ProxyJump=me@lab:2222".to_owned()), "{args:?}");
        assert!(!args.contains(&"BatchMode=yes".to_owned()), "{args:?}");
        assert!(args.ends_with(&["--".to_owned(), "fd00:126::101".to_owned()]), "{args:?}");
    }
}
