//! Logs of a node over SSH: which there are, and the script that prints one.

use std::time::Duration;

use super::ssh::{self, SshRoute};
use super::{Realizer, Result};
use crate::base::hint::{did_you_mean, near};
use crate::base::process::Sink;

/// For a whole log.
const LIMIT: Duration = Duration::from_secs(600);
/// The user ends a log that is followed.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// Lines before the end from which a log is followed by default.
const BEFORE: u64 = 50;

/// Units that users name without `.service`.
pub(super) const UNITS: [&str; 3] = ["bootkube", "kubelet", "crio"];
/// Static pods of the control plane.
pub(super) const PODS: [&str; 6] = [
    "cluster-version-operator",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
];
/// The suffixes of systemd's units.
const ENDINGS: [&str; 8] =
    [".service", ".socket", ".mount", ".target", ".timer", ".path", ".scope", ".slice"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NodeLog {
    Unit(String),
    /// All containers of a static pod.
    Pod(String),
    /// Ignition's messages of the first boot.
    Ignition,
    /// The whole journal of the current boot.
    All,
}

impl NodeLog {
    /// By its name for users. The error is a hint.
    pub(crate) fn parse(name: &str) -> Result<Self, Option<String>> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ":_.@\\-".contains(c);
        match name {
            "ignition" => Ok(Self::Ignition),
            "all" => Ok(Self::All),
            name if UNITS.contains(&name) => Ok(Self::Unit(format!("{name}.service"))),
            name if PODS.contains(&name) => Ok(Self::Pod(name.to_owned())),
            name if ENDINGS.iter().any(|end| name.ends_with(end))
                && name.chars().all(is_plain)
                && !name.starts_with('-') =>
            {
                Ok(Self::Unit(name.to_owned()))
            }
            name => {
                let known = UNITS.into_iter().chain(PODS).chain(["ignition", "all"]);
                Err(match near(name, known.clone()) {
                    Some(_) => did_you_mean(name, known),
                    None => Some(format!(
                        "logs are `{}`, and any unit by its full name, such as `NetworkManager.service`",
                        known.collect::<Vec<_>>().join("`, `")
                    )),
                })
            }
        }
    }

    /// A script for the node that prints the log.
    fn script(&self, lines: Option<u64>, follow: bool) -> String {
        let lines = lines.or(follow.then_some(BEFORE));
        let journal = |of: &str| {
            let lines = lines.map_or("all".to_owned(), |lines| lines.to_string());
            let follow = if follow { " --follow" } else { "" };
            format!("exec journalctl --no-pager --lines={lines}{follow}{of}\n")
        };
        match self {
            Self::Unit(unit) => journal(&format!(" --unit='{unit}'")),
            Self::Ignition => journal(" --identifier=ignition"),
            Self::All => journal(" --boot"),
            Self::Pod(pod) => {
                let lines = lines.map_or("+1".to_owned(), |lines| lines.to_string());
                let follow = if follow { " -F" } else { "" };
                format!(
                    "set --\n{}[ $# -gt 0 ] || {{ echo '{pod} has no log below /var/log/pods' >&2; exit 3; }}\n\
                     exec tail -v -n {lines}{follow} -- \"$@\"\n",
                    for_newest(pod, "set -- \"$@\" \"$log\"")
                )
            }
        }
    }
}

/// A script that runs a command for the newest log (`$log`) of every container of a static pod. Operators and guard pods
/// have the pod's name as a prefix, and are skipped.
pub(super) fn for_newest(pod: &str, command: &str) -> String {
    format!(
        "for dir in /var/log/pods/*_{pod}-*/*/; do\n\
         \x20 case $dir in *_{pod}-operator-*|*_{pod}-guard-*) continue ;; esac\n\
         \x20 log=$(ls -t \"$dir\" 2>/dev/null | grep -E '^[0-9]+[.]log$' | head -n 1)\n\
         \x20 [ -n \"$log\" ] || continue\n\
         \x20 log=$dir$log\n\
         \x20 {command}\n\
         done\n"
    )
}

/// Streams a log: its last lines or all of it, and with `follow` what comes after, until the sink has seen enough.
pub(crate) fn stream(
    realizer: &Realizer<'_>,
    route: &SshRoute,
    log: &NodeLog,
    lines: Option<u64>,
    follow: bool,
    sink: Sink<'_>,
) -> Result<()> {
    let limit = if follow { FOREVER } else { LIMIT };
    ssh::run_script(realizer, route, limit, &log.script(lines, follow), sink)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_unit_a_pod_or_an_error_with_a_hint() {
        let unit = |name: &str| Ok(NodeLog::Unit(name.into()));
        assert_eq!(NodeLog::parse("bootkube"), unit("bootkube.service"));
        assert_eq!(NodeLog::parse("getty@tty1.service"), unit("getty@tty1.service"));
        assert_eq!(NodeLog::parse("etcd"), Ok(NodeLog::Pod("etcd".into())));
        assert_eq!(NodeLog::parse("kubelt"), Err(Some("did you mean `kubelet`?".into())));
        for name in ["'; reboot; '.service", "--file=/etc/shadow.service", "a b.service", "$(x).mount"] {
            assert!(NodeLog::parse(name).is_err(), "{name}");
        }
    }

    #[test]
    fn scripts() {
        let unit = NodeLog::Unit("kubelet.service".into());
        assert_eq!(
            unit.script(None, false),
            "exec journalctl --no-pager --lines=all --unit='kubelet.service'\n"
        );
        assert_eq!(
            NodeLog::All.script(None, true),
            "exec journalctl --no-pager --lines=50 --follow --boot\n"
        );
        assert_eq!(
            NodeLog::Ignition.script(Some(7), false),
            "exec journalctl --no-pager --lines=7 --identifier=ignition\n"
        );
        insta::assert_snapshot!(NodeLog::Pod("etcd".into()).script(Some(20), true), @r#"
        set --
        for dir in /var/log/pods/*_etcd-*/*/; do
          case $dir in *_etcd-operator-*|*_etcd-guard-*) continue ;; esac
          log=$(ls -t "$dir" 2>/dev/null | grep -E '^[0-9]+[.]log$' | head -n 1)
          [ -n "$log" ] || continue
          log=$dir$log
          set -- "$@" "$log"
        done
        [ $# -gt 0 ] || { echo 'etcd has no log below /var/log/pods' >&2; exit 3; }
        exec tail -v -n 20 -F -- "$@"
        "#);
    }
}
