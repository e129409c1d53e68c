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
/// The hand-over window, and the hour by which certificates are backdated.
const LONGEST: Duration = Duration::hours(14 * 24 + 1);

/// A node's credential is for that node.
pub(in super::super) const CREDENTIALS: Check = Check {
    name: "node-credentials",
    config: &[],
    run: |artifacts, report| {
        let mut keys: BTreeMap<String, String> = BTreeMap::new();
        for node in nodes(artifacts).iter().filter(|node| node.role != "bootstrap") {
            let Some(text) = node.text(KUBECONFIG) else {
                node.report(report, KUBECONFIG, "it is not written");
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
        node.report(report, KUBECONFIG, format!("it is valid for {} days, not for 14", life.whole_days()));
    }
}
