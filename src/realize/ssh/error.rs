//! Why a node cannot be reached, or a script on it failed.

use std::net::IpAddr;

use crate::base::hint::Hint;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SshError {
    #[error("`{node}` was removed when the control plane moved to the masters")]
    Removed { node: String },
    #[error("`{node}` has no machine on the host")]
    NoMachine { node: String },
    #[error("the machine of `{node}` is not running: its state is `{state}`")]
    NotRunning { node: String, state: String },
    #[error("`{node}` does not answer on port 22 of {address}: {message}")]
    Silent { node: String, address: IpAddr, message: String },
    /// It answers, and the login or the host key fails.
    #[error("`{node}` denies access: {message}")]
    Denied { node: String, message: String },
    /// A command on the node failed.
    #[error("a command on `{node}` failed: {message}")]
    Failed { node: String, message: String },
}

impl SshError {
    /// Classifies a failure of ssh itself by its message.
    pub(super) fn of_ssh(node: &str, address: IpAddr, message: &str) -> Self {
        let (node, message) = (node.to_owned(), message.to_owned());
        let silent = [
            "connect to host",
            "Connection timed out",
            "Connection closed",
            "Connection reset",
            "banner exchange",
        ];
        match silent.iter().any(|part| message.contains(part)) {
            true => Self::Silent { node, address, message },
            false => Self::Denied { node, message },
        }
    }
}

impl Hint for SshError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Removed { .. } => "the masters carry on: `tinderbox realize status` lists the machines".into(),
            Self::NoMachine { .. } => "`tinderbox realize apply` creates it".into(),
            Self::NotRunning { .. } => "`tinderbox realize apply` starts it".into(),
            Self::Silent { node, .. } => {
                format!("`tinderbox realize logs {node}` shows its console: how far it has booted")
            }
            Self::Denied { message, .. }
                if message.contains("HOST IDENTIFICATION") || message.contains("Host key") =>
            {
                "another machine has this address, or this one was reinstalled; if you know why, remove its line from \
                 `.realize/known_hosts`"
                    .into()
            }
            Self::Denied { .. } => {
                "`ssh` has to offer a key that was in `sshKey` of install-config.yaml when the node was created".into()
            }
            Self::Failed { node, .. } => format!("`tinderbox realize ssh {node}` opens a shell there"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of OpenSSH 9.
    #[test]
    fn failures_are_classified() {
        let address = "192.168.126.101".parse().unwrap();
        for (message, expected) in [
            ("ssh: connect to host 192.168.126.101 port 22: Connection refused", "silent"),
            ("ssh: connect to host 192.168.126.101 port 22: No route to host", "silent"),
            ("Connection timed out during banner exchange", "silent"),
            ("core@192.168.126.101: Permission denied (publickey).", "denied"),
            ("Host key verification failed.", "denied"),
        ] {
            let kind = match SshError::of_ssh("master-0", address, message) {
                SshError::Silent { .. } => "silent",
                SshError::Denied { .. } => "denied",
                _ => "?",
            };
            assert_eq!(kind, expected, "{message}");
        }
    }
}
