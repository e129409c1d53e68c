//! The node-tuning operator's render: what it makes goes into MCO's render and to bootkube.sh, and it runs only where it makes something.

use std::collections::BTreeSet;
use std::fs;

use super::harness::{Workspace, list};

const PROFILE: &str = "apiVersion: performance.openshift.io/v2
kind: PerformanceProfile
metadata: {name: low-latency}
spec:
  cpu: {isolated: 2-3, reserved: 0-1}
  nodeSelector: {node-role.kubernetes.io/worker: ''}
  realTimeKernel: {enabled: true}
";
const PINNING: &str = "apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 02-pinning
  labels: {machineconfiguration.openshift.io/role: master}
spec:
  config:
    ignition: {version: 3.2.0}
    storage:
      files:
      - {path: /etc/kubernetes/openshift-workload-pinning, mode: 420, contents: {source: 'data:,%7B%7D'}}
";
const POOL: &str = "apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata:
  name: infra
  labels: {pools.operator.machineconfiguration.openshift.io/infra: ''}
spec:
  machineConfigSelector:
    matchExpressions: [{key: machineconfiguration.openshift.io/role, operator: In, values: [worker, infra]}]
  nodeSelector: {matchLabels: {node-role.kubernetes.io/infra: ''}}
";

/// The example on a demo release.
fn on(version: &str) -> Workspace {
    let ws = Workspace::example().prebuilt();
    ws.edit("cluster.yaml", "release: demo:4.18", &format!("release: demo:{version}"));
    ws.relock();
    ws
}

fn partition(ws: &Workspace) {
    ws.edit("install-config.yaml", "baseDomain:", "cpuPartitioningMode: AllNodes\nbaseDomain:");
}

/// The MachineConfigs that a pool was rendered from.
fn sources(ws: &Workspace, pool: &str) -> BTreeSet<String> {
    let file = ws.path_of("mco/rendered").join(format!("machine-pools/{pool}.yaml"));
    let pool = fs::read_to_string(file).unwrap();
    let names = pool.lines().filter_map(|line| line.trim().strip_prefix("name: "));
    names.filter(|name| !name.starts_with("rendered-")).map(str::to_owned).collect()
}

fn rendered(ws: &Workspace, pool: &str) -> String {
    let configs = ws.path_of("mco/rendered").join("machine-configs");
    let name =
        list(&configs).into_iter().find(|name| name.starts_with(&format!("rendered-{pool}-"))).unwrap();
    fs::read_to_string(configs.join(name)).unwrap()
}

#[test]
fn partitioning_and_profiles_go_into_the_render_and_to_the_cluster() {
    for version in ["4.18", "4.22"] {
        let ws = on(version);
        ws.build(&["mco"]);
        let plain = rendered(&ws, "worker");
        partition(&ws);
        ws.write("manifests/profile.yaml", PROFILE);
        ws.build(&["cluster"]);
        for (pool, profile) in [("master", false), ("worker", true)] {
            let sources = sources(&ws, pool);
            assert!(sources.contains(&format!("01-{pool}-cpu-partitioning")), "{version}: {sources:?}");
            assert_eq!(sources.contains("50-performance-low-latency"), profile, "{version}: {sources:?}");
        }
        let worker = rendered(&ws, "worker");
        assert!(!plain.contains("kernelType: realtime") && worker.contains("kernelType: realtime"));
        assert!(worker.contains("/etc/kubernetes/openshift-workload-pinning"), "{worker}");
        let applied = list(&ws.path_of("cluster").join("manifests"));
        for name in [
            "00-namespace-node-tuning.yaml",
            "01_01-master-cpu-partitioning_workload_pinning_machineconfig.yaml",
            "01_01-worker-cpu-partitioning_workload_pinning_machineconfig.yaml",
            "low-latency_kubeletconfig.yaml",
            "low-latency_machineconfig.yaml",
            "low-latency_runtimeclass.yaml",
            "low-latency_tuned.yaml",
            "profile.yaml",
        ] {
            assert!(applied.contains(name), "{version}: {name} in {applied:?}");
        }
    }
}

#[test]
fn it_runs_only_where_it_has_something_to_write() {
    let ws = Workspace::example().prebuilt();
    ws.write("manifests/mine.yaml", PINNING);
    assert!(!ws.build(&["cluster"]).iter().any(|name| name.starts_with("node-tuning/")));
    let said = ws.run(&["build", "node-tuning/rendered"]);
    assert!(said.contains("there is no `node-tuning/rendered` here: its recipe asks for"), "{said}");

    // On a single node, this MachineConfig asked for partitioning before install-config could.
    ws.without_workers(1);
    let built = ws.build(&["cluster"]);
    assert!(built.contains(&"node-tuning/rendered".to_owned()), "{built:?}");
    assert!(sources(&ws, "master").contains("01-master-cpu-partitioning"));
}

#[test]
fn every_pool_has_its_own_and_patches_count() {
    let ws = Workspace::example().prebuilt();
    partition(&ws);
    ws.write("manifests/pool.yaml", POOL);
    ws.write(
        "patches/10-node.yaml",
        "target: {kind: MachineConfigPool, name: infra}\npatch: {metadata: {name: gpu}}\n",
    );
    // The patch comes first: the pool is called `gpu`.
    let said = ws.run(&["build", "-q", "mco"]);
    let made = list(&ws.path_of("node-tuning/rendered"));
    assert!(
        made.contains("01_01-gpu-cpu-partitioning_workload_pinning_machineconfig.yaml"),
        "{made:?} {said}"
    );
    assert_eq!(made.len(), 3, "{made:?}");
}

#[test]
fn what_is_not_fed_is_noticed() {
    let ws = Workspace::example().prebuilt();
    let patch =
        "target: {kind: Infrastructure, name: cluster}\npatch: {status: {cpuPartitioning: AllNodes}}\n";
    ws.write("patches/10-partition.yaml", patch);
    let said = ws.run(&["build", "-q", "check/render"]);
    assert!(
        said.contains("MachineConfig `01-master-cpu-partitioning` did not go into the render [render-drift]"),
        "{said}"
    );
    assert!(said.contains("hint: set `cpuPartitioningMode: AllNodes` in install-config.yaml"), "{said}");

    let ws = Workspace::example().prebuilt();
    ws.write("manifests/profile.yaml", PROFILE);
    let nothing = "# Mine.\nbuilder = \"template\"\n[files]\n\"notes.txt\" = \"notes.txt\"\n";
    ws.write("recipes/59-node-tuning/rendered.toml", nothing);
    ws.write("recipes/59-node-tuning/notes.txt", "nothing\n");
    let said = ws.run(&["build", "-q", "check/render"]);
    assert!(
        said.contains(
            "MachineConfig `50-performance-low-latency` of this profile went into the render of no pool"
        ),
        "{said}"
    );
}

#[test]
fn mistakes_have_hints() {
    let ws = Workspace::example().prebuilt();
    ws.write("manifests/profile.yaml", &PROFILE.replace("io/worker", "io/gpu"));
    let said = ws.run(&["build", "-q", "mco"]);
    assert!(
        said.contains("hint: `nodeSelector` of a PerformanceProfile has to select the nodes of a pool"),
        "{said}"
    );

    // As docs of an earlier version advised: the object would be there twice.
    let ws = Workspace::example().prebuilt();
    partition(&ws);
    ws.write("manifests/mine.yaml", &PINNING.replace("02-pinning", "01-master-cpu-partitioning"));
    let said = ws.run(&["build", "-q", "mco"]);
    assert!(
        said.contains("MachineConfig `01-master-cpu-partitioning`") && said.contains("[exit 1]"),
        "{said}"
    );
    assert!(said.contains("mine.yaml") && said.contains("node-tuning/rendered"), "{said}");
}
