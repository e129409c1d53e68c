//! What nodes join with: a credential for each, that names its node and ends soon.

use std::collections::BTreeMap;

use time::Duration;

use super::super::{Check, Report};
use super::{Node, nodes};
use crate::base::pki::Certificate;
use crate::openshift::trust::client_certificate;

const KUBECONFIG: &str = "/etc/kubernetes/kubeconfig";
const USER: &str = "system:bootstrapper:";
const GROUP: &str = "system:bootstrappers";
/// The hand-over window in days; `most_hours` of the recipe that issues them.
const WINDOW: i64 = 14;
/// The same, and the hour by which certificates are backdated.
const LONGEST: Duration = Duration::hours(WINDOW * 24 + 1);

/// A node's credential is for that node.
pub(in super::super) const CREDENTIALS: Check = Check {
    name: "node-credentials",
    config: &[],
    run: |artifacts, report| {
        let mut keys: BTreeMap<String, String> = BTreeMap::new();
        for node in nodes(artifacts).iter().filter(|node| node.role != "bootstrap") {
            let Some(text) = node.text(KUBECONFIG) else {
                node.report(report, KUBECONFIG, "nothing writes it");
                continue;
            };
            match client_certificate(KUBECONFIG, &text) {
                Ok(certificate) => {
                    own(node, &certificate, report);
                    if let Some(other) = keys.insert(certificate.public_pem(), node.name.to_owned()) {
                        node.report(report, KUBECONFIG, format!("`{other}` has the same key"));
                    }
                }
                Err(problem) => node.report(report, KUBECONFIG, problem),
            }
        }
    },
};

/// It names this node, and ends with the hand-over.
fn own(node: &Node<'_>, certificate: &Certificate, report: &mut Report<'_>) {
    let name = node.text("/etc/hostname").unwrap_or_default();
    let user = format!("{USER}{}", name.trim());
    if certificate.common_name() != Some(&user) || certificate.organizations() != [GROUP] {
        let message = format!("it is for `{}`, not for `O={GROUP}, CN={user}`", certificate.subject());
        node.report(report, KUBECONFIG, message);
    }
    let life = certificate.not_after() - certificate.not_before();
    if life > LONGEST {
        let message = format!("it is valid for {} days, not for {WINDOW}", life.whole_days());
        node.report(report, KUBECONFIG, message);
    }
}

#[cfg(test)]
mod tests {
    use super::WINDOW;

    /// The recipe that issues them, the rule that `check --list` shows and the guide name the window that is judged by.
    #[test]
    fn everybody_names_the_same_window() {
        let recipe = include_str!("../../../../../recipes/24-pki/kubelet-bootstrap.toml");
        assert!(recipe.contains(&format!("\nmost_hours = {}\n", WINDOW * 24)), "{recipe}");
        for (told, by) in [
            (include_str!("../../../../../recipes/knowledge/boot-facts.toml"), "valid for at most"),
            (include_str!("../../../../../recipes/knowledge/artifacts.toml"), "{*}, valid for"),
            (
                include_str!("../../../../../recipes/knowledge/guide.toml"),
                "system:bootstrapper:NAME, valid for",
            ),
        ] {
            let sentence = format!("{by} {WINDOW} days");
            assert!(told.contains(by) && !told.replace(&sentence, "").contains(by), "{sentence}");
        }
    }
}
