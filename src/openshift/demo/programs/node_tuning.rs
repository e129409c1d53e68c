//! `cluster-node-tuning-operator render`: PerformanceProfiles and workload partitioning → MachineConfigs, KubeletConfigs,
//! Tuneds and RuntimeClasses.

use serde_json::{Value, json};

use super::flags::Flags;
use super::manifests::{directory, items, kind, name, selects};
use super::merge::file;
use super::{Build, Done, Stop};
use crate::openshift::ignition;

const FLAGS: &[(&str, &str)] =
    &[("asset-input-dir", "/assets"), ("asset-output-dir", ""), ("owner-ref", "label-name")];

const MCO: &str = "machineconfiguration.openshift.io";
const ROLE: &str = "machineconfiguration.openshift.io/role";
const NODE_ROLE: &str = "node-role.kubernetes.io/";

/// The file that tells kubelets about partitioning. A MachineConfig with it asks for partitioning on a single node.
const PINNING: &str = "/etc/kubernetes/openshift-workload-pinning";

/// Writes what the objects of `--asset-input-dir` ask for to `--asset-output-dir`: nothing, in most clusters.
pub(super) fn render(build: &Build<'_>, arguments: &[String]) -> Done<()> {
    let flags = Flags::parse(FLAGS, arguments)?;
    let (output, owner) = (flags.get("asset-output-dir"), flags.get("owner-ref"));
    if !["none", "k8s", "label-name"].contains(&owner) {
        return Err(Stop::Fatal(format!("unsupported owner reference: {owner:?}")));
    }
    if output.is_empty() {
        return Err(Stop::Fatal("asset-output-dir must be specified".into()));
    }
    let objects = directory(flags.get("asset-input-dir"), "error reading assets")?;
    build.put_dir(output)?;
    let of = |group: &'static str, wanted: &'static str| {
        objects.iter().filter(move |object| kind(object) == (group, wanted))
    };
    let status = of("config.openshift.io", "Infrastructure").find(|one| name(one) == "cluster");
    let status = status.map_or(&Value::Null, |one| &one["status"]);
    let partitioned = status["cpuPartitioning"] == "AllNodes"
        || (status["controlPlaneTopology"] == "SingleReplica" && of(MCO, "MachineConfig").any(pins));
    let mut pools: Vec<Value> = of(MCO, "MachineConfigPool").cloned().collect();
    if partitioned {
        let arbiter = build.is_from("4.20") && status["controlPlaneTopology"] == "HighlyAvailableArbiter";
        let own = ["master", "worker"].into_iter().chain(arbiter.then_some("arbiter"));
        for pool in own.chain(pools.iter().map(name)) {
            let config = partitioning(pool);
            let file = format!("01_{}_workload_pinning_machineconfig.yaml", name(&config));
            build.put_object(output, &file, &config)?;
        }
    }
    for missing in ["master", "worker"] {
        if !pools.iter().any(|pool| name(pool) == missing) {
            pools.push(default_pool(missing));
        }
    }
    for profile in of("performance.openshift.io", "PerformanceProfile") {
        for object in objects_of(profile, pool_of(profile, &pools)?, partitioned) {
            let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
            build.put_object(output, &format!("{}_{kind}.yaml", name(profile)), &object)?;
        }
    }
    Ok(())
}

/// Whether a MachineConfig has the kubelet's file.
fn pins(config: &Value) -> bool {
    items(&config["spec"]["config"]["storage"]["files"]).iter().any(|file| file["path"] == PINNING)
}

fn machine_config(name: &str, labels: &Value, kernel: &str, files: &[Value]) -> Value {
    json!({
        "apiVersion": format!("{MCO}/v1"),
        "kind": "MachineConfig",
        "metadata": {
            "annotations": {"tinderbox/demo": "rendered by the demo release"},
            "labels": labels,
            "name": name,
        },
        "spec": {
            "config": {"ignition": {"version": "3.2.0"}, "storage": {"files": files}},
            "kernelType": kernel,
        },
    })
}

/// Partitioning without a profile: no CPUs yet.
fn partitioning(pool: &str) -> Value {
    let files = pinning("", "/etc/crio/crio.conf.d/01-workload-pinning-default.conf");
    machine_config(&format!("01-{pool}-cpu-partitioning"), &json!({ROLE: pool}), "", &files)
}

/// The CPUs of management workloads, for the kubelet and for CRI-O.
fn pinning(cpus: &str, crio: &str) -> [Value; 2] {
    let kubelet = json!({"management": {"cpuset": cpus}});
    let runtime = format!(
        "# demo release\n[crio.runtime.workloads.management]\nresources = {{ \"cpuset\" = \"{cpus}\" }}\n"
    );
    [(PINNING, format!("{kubelet}\n")), (crio, runtime)]
        .map(|(path, text)| file(path, 420, ignition::encode(text.as_bytes())))
}

fn default_pool(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {format!("pools.operator.{MCO}/{name}"): ""}},
        "spec": {"nodeSelector": {"matchLabels": {format!("{NODE_ROLE}{name}"): ""}}},
    })
}

/// The one pool whose nodes a profile is for.
fn pool_of<'a>(profile: &Value, pools: &'a [Value]) -> Done<&'a Value> {
    let labels = &profile["spec"]["nodeSelector"];
    let mut found = pools.iter().filter(|pool| selects(&pool["spec"]["nodeSelector"], labels));
    let none = |how: &str| {
        Stop::Fatal(format!("{how} MCP found that matches performance profile node selector {labels}"))
    };
    let pool = found.next().ok_or_else(|| none("no"))?;
    if found.next().is_some() { Err(none("more than one")) } else { Ok(pool) }
}

/// What a profile asks of its pool.
fn objects_of(profile: &Value, pool: &Value, partitioned: bool) -> [Value; 4] {
    let (name, spec) = (name(profile), &profile["spec"]);
    let owner = json!({"performance.openshift.io/weak-owner-reference-name": name});
    let metadata = |name: String| {
        let annotations = json!({"tinderbox/demo": "rendered by the demo release"});
        json!({"annotations": annotations, "labels": owner, "name": name})
    };
    let reserved = spec["cpu"]["reserved"].as_str().unwrap_or_default();
    let files = if partitioned {
        pinning(reserved, "/etc/crio/crio.conf.d/99-workload-pinning.conf").into()
    } else {
        Vec::new()
    };
    let selector = spec["nodeSelector"].as_object().and_then(|all| all.keys().next());
    let role = selector.and_then(|key| key.rsplit('/').next()).unwrap_or_default();
    let mut labels = owner.clone();
    labels[ROLE] = role.into();
    let kernel = if spec["realTimeKernel"]["enabled"] == true { "realtime" } else { "" };
    let topology = spec["numa"]["topologyPolicy"].as_str().unwrap_or("best-effort");
    let mut tuned = metadata(format!("openshift-node-performance-{name}"));
    tuned["namespace"] = "openshift-cluster-node-tuning-operator".into();
    let profile = format!("openshift-node-performance-{name}");
    [
        machine_config(&format!("50-performance-{name}"), &labels, kernel, &files),
        json!({
            "apiVersion": format!("{MCO}/v1"),
            "kind": "KubeletConfig",
            "metadata": metadata(format!("performance-{name}")),
            "spec": {
                "kubeletConfig": {
                    "cpuManagerPolicy": "static",
                    "reservedSystemCPUs": reserved,
                    "topologyManagerPolicy": topology,
                },
                "machineConfigPoolSelector": {"matchLabels": pool["metadata"]["labels"]},
            },
            // As the real one writes it.
            "status": {"conditions": null},
        }),
        json!({
            "apiVersion": "tuned.openshift.io/v1",
            "kind": "Tuned",
            "metadata": tuned,
            "spec": {
                "profile": [{"data": "# demo release\n[main]\nsummary=demo release\n", "name": profile}],
                "recommend": [{"machineConfigLabels": {ROLE: role}, "priority": 20, "profile": profile}],
            },
        }),
        json!({
            "apiVersion": "node.k8s.io/v1",
            "handler": "high-performance",
            "kind": "RuntimeClass",
            "metadata": metadata(format!("performance-{name}")),
            "scheduling": {"nodeSelector": spec["nodeSelector"]},
        }),
    ]
}
