//! bootkube.sh: what shellcheck says, call by call (`played`), and through good and bad days against an API server that
//! knows paths, types and certificates (`live`, on a `node`).

mod host;
pub(crate) mod node;
mod played;

use std::process::Command;

use crate::harness::{Workspace, left_out};

/// Limits that no test reaches.
pub(crate) fn limit(command: &mut Command) {
    for limit in [
        "ETCD_LIMIT",
        "API_LIMIT",
        "CRDS_LIMIT",
        "APPLY_LIMIT",
        "MASTERS_LIMIT",
        "MASTERS_ETCD_LIMIT",
        "MASTERS_API_LIMIT",
        "PIVOT_LIMIT",
    ] {
        command.env(limit, "60");
    }
}

/// The last lines of a session.
fn last(said: &str, count: usize) -> String {
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(count)..].iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn shellcheck_has_nothing_to_say() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["script"]);
    let script = ws.path_of("script/bootkube").join("bootkube.sh");
    match Command::new("shellcheck")
        .args(["--enable=all", "--exclude=SC2250,SC2292,SC2310,SC2312"])
        .arg(script)
        .output()
    {
        Ok(output) => assert!(output.status.success(), "{}", ws.text(&output)),
        Err(error) => left_out("shellcheck", &format!("Debian's shellcheck: {error}")),
    }
}
