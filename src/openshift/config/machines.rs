//! The check `machine-size`: machines that are large enough for their role.

use super::checks::Findings;
use super::fragment::join;
use super::given::Quantity;
use super::inputs::{Inputs, NodeInput};
use super::words::Role;

/// What OpenShift asks for at least.
struct Minimum {
    vcpus: i64,
    memory_gib: i64,
    disk_gb: i64,
    /// What happens below it.
    reason: &'static str,
}

impl Minimum {
    fn of(role: Role) -> Self {
        let (vcpus, memory_gib, reason) = match role {
            Role::Bootstrap => {
                (4, 16, "the bootstrap node runs a whole control plane, with the images of the release")
            }
            Role::Master => (
                4,
                16,
                "etcd and the API server starve next to the operators, and the installation never ends",
            ),
            Role::Worker => (2, 8, "ingress, monitoring and the registry are not scheduled"),
        };
        Self { vcpus, memory_gib, disk_gb: 100, reason }
    }
}

/// Judges what the user wrote: the defaults are large enough.
pub(super) fn sizes(inputs: &Inputs<'_>, findings: &mut Findings<'_>) {
    for node in &inputs.nodes {
        let Some(role) = node.role else { continue };
        let least = Minimum::of(role);
        let quantity = |field| node.given.get::<Quantity>(field).map(|given| given.count);
        let memory = quantity("memory").filter(|mib| *mib < least.memory_gib * 1024);
        let disk = quantity("disk").filter(|gb| *gb < least.disk_gb);
        let vcpus = node.given.get::<i64>("vcpus").filter(|count| **count < least.vcpus);
        let found = [
            memory.map(|mib| ("memory", format!("{mib} MiB"), format!("{}GiB", least.memory_gib))),
            disk.map(|gb| ("disk", format!("{gb} GB"), format!("{}GB", least.disk_gb))),
            vcpus.map(|count| {
                (
                    "vcpus",
                    format!("{count} vCPU{}", if *count == 1 { "" } else { "s" }),
                    least.vcpus.to_string(),
                )
            }),
        ];
        for (field, has, wants) in found.into_iter().flatten() {
            report(inputs, node, field, (&has, &wants, least.reason), findings);
        }
    }
}

fn report(
    inputs: &Inputs<'_>,
    node: &NodeInput<'_>,
    field: &str,
    (has, wants, reason): (&str, &str, &str),
    findings: &mut Findings<'_>,
) {
    let role = node.role.map_or("", Role::as_str);
    let message = format!("{has} is less than a {role} node needs: {reason}");
    let problem = inputs.cluster.problem(&join(&node.field, field), message);
    findings.push(
        problem,
        format!("at least {wants}; `checks: {{disabled: [machine-size]}}` goes below, for a lab"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule that `check --list` and the guide show has the numbers that are judged by.
    #[test]
    fn the_boot_fact_has_these_numbers() {
        let told = |role| {
            let Minimum { vcpus, memory_gib, disk_gb, .. } = Minimum::of(role);
            (vcpus, memory_gib, disk_gb)
        };
        let (vcpus, memory, disk) = told(Role::Master);
        assert_eq!(told(Role::Bootstrap), (vcpus, memory, disk), "the rule names them together");
        let workers = told(Role::Worker);
        let rule = format!(
            "rule = \"bootstrap and masters have at least {vcpus} CPUs, {memory} GiB of memory and a disk of {disk} GB; \
             workers {} CPUs, {} GiB and {} GB\"",
            workers.0, workers.1, workers.2
        );
        let facts = include_str!("../../../recipes/knowledge/boot-facts.toml");
        assert!(facts.contains(&rule), "{rule}");
    }
}
