//! systemd units in a config.

use super::super::{Check, Report};
use super::{Node, nodes};
use crate::openshift::ignition::unit;

/// The type-specific section of units, by suffix.
const KINDS: [(&str, &str); 10] = [
    ("automount", "Automount"),
    ("mount", "Mount"),
    ("path", "Path"),
    ("scope", "Scope"),
    ("service", "Service"),
    ("slice", "Slice"),
    ("socket", "Socket"),
    ("swap", "Swap"),
    ("target", ""),
    ("timer", "Timer"),
];

/// systemd reads units as intended.
pub(in super::super) const UNITS: Check = Check {
    name: "systemd-units",
    config: &[],
    run: |artifacts, report| {
        for node in nodes(artifacts) {
            for (name, one) in &node.config.units {
                let kind =
                    KINDS.iter().find(|(end, _)| name.rsplit_once('.').is_some_and(|(_, e)| e == *end));
                let Some((_, own)) = kind else {
                    node.report(report, name, "systemd has no units of that kind");
                    continue;
                };
                if let Some(text) = &one.contents {
                    syntax(&node, name, own, text, report);
                    let install = unit(text).has("Install");
                    let dropins = one.dropins.iter().flatten().filter_map(|dropin| dropin.contents.as_ref());
                    if one.enabled == Some(true)
                        && !install
                        && !dropins.map(|text| unit(text)).any(|one| one.has("Install"))
                    {
                        node.report(report, name, "it is enabled, but has no [Install] section");
                        report.hint("add `[Install]` with `WantedBy=multi-user.target`");
                    }
                    if *own == "Service" && one.mask != Some(true) && !starts(text) {
                        node.report(report, name, "it starts nothing: there is no ExecStart");
                    }
                }
                for dropin in one.dropins.iter().flatten() {
                    let field = format!("{name}/{}", dropin.name);
                    if !dropin.name.ends_with(".conf") {
                        node.report(report, &field, "systemd reads only drop-ins that end in .conf");
                    }
                    syntax(&node, &field, own, dropin.contents.as_deref().unwrap_or_default(), report);
                }
            }
        }
    },
};

fn starts(text: &str) -> bool {
    let unit = unit(text);
    let keys = ["ExecStart", "ExecStop", "SuccessAction"];
    keys.into_iter().any(|key| unit.values("Service", key).next().is_some())
}

fn syntax(node: &Node<'_>, field: &str, own: &str, text: &str, report: &mut Report<'_>) {
    let unit = unit(text);
    for fault in &unit.faults {
        node.report(report, field, format!("line {}: {}", fault.line, fault.problem));
    }
    for (section, _) in &unit.sections {
        if !["Unit", "Install", own].contains(&section.as_str()) && !section.starts_with("X-") {
            node.report(report, field, format!("[{section}] is not a section of such a unit"));
        }
    }
}
