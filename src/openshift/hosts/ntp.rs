//! Time servers, as the assisted installer gives them to nodes: one MachineConfig with a chrony.conf per role.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The manifests by path; none without servers.
pub(crate) fn chrony_manifests(servers: &[String]) -> Vec<(String, String)> {
    if servers.is_empty() {
        return Vec::new();
    }
    let mut conf = String::new();
    for server in servers {
        let _ = writeln!(conf, "server {server} iburst"); // Writing to a string cannot fail.
    }
    conf += "driftfile /var/lib/chrony/drift\nmakestep 1.0 3\nrtcsync\nlogdir /var/log/chrony\n";
    let source = format!("data:text/plain;charset=utf-8;base64,{}", STANDARD.encode(&conf));
    let manifest = |role: &str| {
        let name = format!("50-{role}s-chrony-configuration");
        let text = format!(
            "# Time servers of the {role}s: {}.\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\n\
             metadata:\n  name: {name}\n  labels:\n    machineconfiguration.openshift.io/role: {role}\nspec:\n  config:\n    \
             ignition:\n      version: 3.2.0\n    storage:\n      files:\n      - path: /etc/chrony.conf\n        mode: 420\n        \
             overwrite: true\n        contents:\n          source: {source}\n",
            servers.join(", ")
        );
        (format!("manifests/{name}.yaml"), text)
    };
    ["master", "worker"].map(manifest).into()
}
