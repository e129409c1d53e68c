//! What a node can tell over SSH: which logs there are, and the script that prints one.

use std::time::Duration;

use super::RealizeError;
use super::apply::Hands;
use super::ssh::Way;
use crate::base::hint::{did_you_mean, near};
use crate::base::process::Take;

/// How long a whole log may take.
const LIMIT: Duration = Duration::from_secs(600);
/// Who follows a log ends it.
const WITHOUT_END: Duration = Duration::from_secs(365 * 24 * 3600);
/// Lines that a log is followed from, if nobody says.
const BEFORE: u64 = 50;

/// Units of a node that have a short name.
pub(super) const UNITS: [&str; 3] = ["bootkube", "kubelet", "crio"];
/// Static pods, of any node.
pub(super) const PODS: [&str; 6] = [
    "cluster-version-operator",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
];
/// How systemd's units end.
const ENDINGS: [&str; 8] =
    [".service", ".socket", ".mount", ".target", ".timer", ".path", ".scope", ".slice"];

/// A log of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Log {
    Unit(String),
    /// Of the containers of a static pod.
    Pod(String),
    /// Of Ignition, at the first boot.
    Ignition,
    /// Of everything since the last boot.
    All,
}

impl Log {
    /// What a user calls it; what it is not is explained.
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
                        "there are `{}`, and units of any name such as `NetworkManager.service`",
                        known.collect::<Vec<_>>().join("`, `")
                    )),
                })
            }
        }
    }

    /// A script for the node that prints it: its last lines or all, and what comes after.
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
                    "set --\n{}[ $# -gt 0 ] || {{ echo 'there is no log of {pod} below /var/log/pods' >&2; exit 3; }}\n\
                     exec tail -v -n {lines}{follow} -- \"$@\"\n",
                    newest(pod, "set -- \"$@\" \"$log\"")
                )
            }
        }
    }
}

/// A script that does something with the newest log of every container of a static pod: `$log`. Operators and guards are
/// called after what they look after.
pub(super) fn newest(pod: &str, what: &str) -> String {
    format!(
        "for dir in /var/log/pods/*_{pod}-*/*/; do\n\
         \x20 case $dir in *_{pod}-operator-*|*_{pod}-guard-*) continue ;; esac\n\
         \x20 log=$(ls -t \"$dir\" 2>/dev/null | grep -E '^[0-9]+[.]log$' | head -n 1)\n\
         \x20 [ -n \"$log\" ] || continue\n\
         \x20 log=$dir$log\n\
         \x20 {what}\n\
         done\n"
    )
}

impl Hands<'_> {
    /// Hands on a log of a node: its last lines or all, and with `follow` what comes after, until somebody has enough.
    pub(crate) fn log(
        &self,
        way: &Way,
        log: &Log,
        lines: Option<u64>,
        follow: bool,
        take: Take<'_>,
    ) -> Result<(), RealizeError> {
        let limit = if follow { WITHOUT_END } else { LIMIT };
        self.on_node(way, limit, &log.script(lines, follow), take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_units_pods_or_explained() {
        let unit = |name: &str| Ok(Log::Unit(name.into()));
        assert_eq!(Log::parse("bootkube"), unit("bootkube.service"));
        assert_eq!(Log::parse("getty@tty1.service"), unit("getty@tty1.service"));
        assert_eq!(Log::parse("etcd"), Ok(Log::Pod("etcd".into())));
        assert_eq!(Log::parse("kubelt"), Err(Some("did you mean `kubelet`?".into())));
        for name in ["'; reboot; '.service", "--file=/etc/shadow.service", "a b.service", "$(x).mount"] {
            assert!(Log::parse(name).is_err(), "{name}");
        }
    }

    #[test]
    fn scripts() {
        let unit = Log::Unit("kubelet.service".into());
        assert_eq!(
            unit.script(None, false),
            "exec journalctl --no-pager --lines=all --unit='kubelet.service'\n"
        );
        assert_eq!(Log::All.script(None, true), "exec journalctl --no-pager --lines=50 --follow --boot\n");
        assert_eq!(
            Log::Ignition.script(Some(7), false),
            "exec journalctl --no-pager --lines=7 --identifier=ignition\n"
        );
        insta::assert_snapshot!(Log::Pod("etcd".into()).script(Some(20), true), @r#"
        set --
        for dir in /var/log/pods/*_etcd-*/*/; do
          case $dir in *_etcd-operator-*|*_etcd-guard-*) continue ;; esac
          log=$(ls -t "$dir" 2>/dev/null | grep -E '^[0-9]+[.]log$' | head -n 1)
          [ -n "$log" ] || continue
          log=$dir$log
          set -- "$@" "$log"
        done
        [ $# -gt 0 ] || { echo 'there is no log of etcd below /var/log/pods' >&2; exit 3; }
        exec tail -v -n 20 -F -- "$@"
        "#);
    }
}
