//! Who holds the VIPs where the cluster's own nodes do.

use super::super::{Check, Report};
use super::{Node, nodes};

/// The VIPs are on some node at any time, and names that lead to them are answered.
pub(in super::super) const VIP_HOLDERS: Check = Check {
    name: "vip-holders",
    config: &["api", "ingress", "nodes", "on-prem.toml", "version"],
    run: |artifacts, report| {
        // As MCO writes them: all of a kind in one word.
        let [api, ingress] = ["api", "ingress"].map(|alias| artifacts.config_texts(alias).join(","));
        for node in &nodes(artifacts) {
            let paths = |of: &str| artifacts.tables.on_prem(&format!("{}-{of}", node.role)).split(',');
            for (vips, of) in [(&api, "api"), (&ingress, "ingress")] {
                for path in paths(of).filter(|path| !path.is_empty()) {
                    pod(node, path, vips, of, report);
                }
            }
            for path in paths("files").filter(|path| !path.is_empty() && !node.config.has(path)) {
                node.report(report, path, "nothing writes it, but a pod that holds VIPs reads it");
            }
        }
    },
};

fn pod(node: &Node<'_>, path: &str, vips: &str, of: &str, report: &mut Report<'_>) {
    match node.text(path) {
        None => {
            node.report(report, path, format!("nothing writes it: this node does not serve the {of} VIPs"))
        }
        Some(text) if !words(&text).any(|word| word == vips) => {
            node.report(report, path, format!("it does not name the {of} VIPs, `{vips}`"));
        }
        Some(_) => {}
    }
}

/// The words of a pod's flags and scripts, without quotes.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '='))
}
