//! Checks of the load balancer's configuration.

use super::artifacts::Artifacts;
use super::{Check, Report};

/// HAProxy in front of TLS servers, to which it cannot speak HTTP.
pub(super) const TCP_CHECKS: Check = Check { name: "haproxy-tcp-checks", config: &[], run: tcp_checks };

fn tcp_checks(artifacts: &Artifacts<'_>, report: &mut Report<'_>) {
    let all = artifacts.files.iter().map(|file| (file.path.as_str(), file.text.as_str()));
    let configurations = all.filter(|(file, _)| file.starts_with("haproxy") && file.ends_with(".cfg"));
    let mut seen = 0;
    for (file, text) in configurations {
        seen += 1;
        // `stats` speaks HTTP with a browser, not with a backend.
        let mut section = "";
        for (line, words) in
            text.lines().enumerate().map(|(at, line)| (at + 1, line.split_whitespace().collect::<Vec<_>>()))
        {
            match words.as_slice() {
                ["global" | "defaults", ..] => section = words[0],
                ["frontend" | "backend" | "listen", name, ..] => section = name,
                ["mode", "http"] if section != "stats" => {
                    report.add(file, Some(line), section, "`mode http` here");
                }
                ["option", "httpchk", ..] => report.add(file, Some(line), section, "`option httpchk` here"),
                ["http-check", ..] => report.add(file, Some(line), section, "`http-check` here"),
                _ => {}
            }
        }
    }
    if seen == 0 {
        report.add("haproxy.cfg", None, "", "there is no such file");
    }
}
