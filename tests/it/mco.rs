//! The node OS, rendered by the demo release's own MCO programs in the sandbox.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use super::harness::{Workspace, in_mount_namespace, is_root, left_out, list, mode, source, tree};

const CONFIG: &str = "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 99-mine\n  labels: {machineconfiguration.openshift.io/role: worker}\nspec:\n  kernelArguments: [quiet]\n  config: {ignition: {version: 3.2.0}}\n";
const KUBELET: &str = "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: mine}\nspec:\n  machineConfigPoolSelector: {matchLabels: {pools.operator.machineconfiguration.openshift.io/master: ''}}\n  kubeletConfig: {maxPods: 333}\n";
const RUNTIME: &str = "apiVersion: machineconfiguration.openshift.io/v1\nkind: ContainerRuntimeConfig\nmetadata: {name: mine}\nspec:\n  machineConfigPoolSelector: {matchLabels: {pools.operator.machineconfiguration.openshift.io/worker: ''}}\n  containerRuntimeConfig: {pidsLimit: 2048}\n";

fn name(ws: &Workspace, pool: &str) -> String {
    fs::read_to_string(ws.path_of(&format!("mco/{pool}")).join("name")).unwrap()
}

#[test]
fn a_plain_user_without_a_network_renders_the_same() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["mco"]);
    let rendered = tree(&ws.path_of("mco/rendered"));
    assert_eq!(
        rendered.keys().filter(|path| path.contains("rendered-master-")).count(),
        1,
        "{:?}",
        rendered.keys()
    );
    assert_eq!(rendered.keys().filter(|path| path.contains("rendered-worker-")).count(), 1);

    let other = Workspace::example();
    fs::create_dir(&other.store).unwrap();
    other.give_away();
    let Some(mut command) = other.as_plain_user("a render as a plain user", &["build", "mco"]) else {
        return;
    };
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let id = |ws: &Workspace| list(&ws.store).into_iter().find(|name| name.ends_with("-mco-rendered"));
    assert_eq!(id(&other), id(&ws), "the same bytes");
    // And again, whatever is there.
    let said = ws.run(&["build", "-q", "--check", "mco"]);
    assert!(said.contains("[exit 0]"), "{said}");
}

/// What the facts say that a rendered config depends on; everything else leaves it alone.
#[test]
fn it_is_rendered_anew_when_it_must_be_and_not_else() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["mco"]);
    let (master, worker) = (name(&ws, "master"), name(&ws, "worker"));
    let renders = |ws: &Workspace| ws.build(&["mco"]).contains(&"mco/rendered".to_owned());
    let leave = [
        ("cluster.yaml", "ip: 192.168.126.101", "ip: 192.168.126.105"),
        ("cluster.yaml", "ip: 192.168.126.110", "ip: 192.168.126.115"),
        ("cluster.yaml", "ip: 192.168.126.100", "ip: 192.168.126.99"),
        ("install-config.yaml", "cidr: 10.128.0.0/14", "cidr: 10.132.0.0/14"),
        ("cluster.yaml", "\nrelease:", "\npki: {keyAlgorithm: rsa-2048}\nrelease:"),
    ];
    for (file, from, to) in leave {
        ws.edit(file, from, to);
        assert!(!renders(&ws), "{to}");
    }
    let change = [
        ("install-config.yaml", "  - 172.30.0.0/16", "  - 172.31.0.0/16"),
        ("install-config.yaml", "ZGVtbzpkZW1v", "ZGVtbzpvdGhlcg=="),
        ("install-config.yaml", "  name: ocp4", "  name: ocp5"),
        (
            "install-config.yaml",
            "platform:\n",
            "sshKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHXKZ0bxo0bxo0bxo0bxo0bxo0bxo0bxo0bxo0bxo0bx me\nplatform:\n",
        ),
        ("install-config.yaml", "platform:\n", "proxy: {httpProxy: 'http://proxy:3128'}\nplatform:\n"),
    ];
    let mut seen = vec![(master, worker)];
    for (file, from, to) in change {
        ws.edit(file, from, to);
        assert!(renders(&ws), "{to}");
        let now = (name(&ws, "master"), name(&ws, "worker"));
        assert!(!seen.contains(&now), "{to}: {now:?}");
        seen.push(now);
    }
    assert_eq!(ws.build(&["check/render"]), ["check/render"]);
}

/// MachineConfigs, KubeletConfigs and ContainerRuntimeConfigs of the user's go in; a comment in one does not count.
#[test]
fn the_users_own_take_part() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["mco"]);
    let sources = |ws: &Workspace, pool: &str| {
        let text = fs::read_to_string(ws.path_of("mco/rendered").join(format!("machine-pools/{pool}.yaml")))
            .unwrap();
        let names: Vec<String> =
            text.lines().filter_map(|line| line.trim().strip_prefix("name: ").map(str::to_owned)).collect();
        names
    };
    ws.write("manifests/mine.yaml", CONFIG);
    ws.write("manifests/kubelet.yaml", KUBELET);
    ws.write("manifests/runtime.yaml", RUNTIME);
    ws.build(&["mco", "check/render"]);
    assert!(sources(&ws, "worker").contains(&"99-mine".to_owned()));
    assert!(!sources(&ws, "master").contains(&"99-mine".to_owned()));
    let generated = |pool: &str, what: &str| {
        sources(&ws, pool).iter().any(|name| name.contains(&format!("-generated-{what}")))
    };
    assert!(
        generated("master", "kubelet") && generated("worker", "containerruntime"),
        "{:?}",
        sources(&ws, "worker")
    );
    let config = fs::read_to_string(ws.path_of("mco/worker").join("machine-config.json")).unwrap();
    assert!(config.contains(r#""kernelArguments":["quiet"]"#), "{config}");
    ws.write("manifests/mine.yaml", &format!("# Why.\n{CONFIG}"));
    assert!(!ws.build(&["mco"]).contains(&"mco/rendered".to_owned()));
}

/// What goes wrong, in the words of the recipe, of the program, and of whoever knows what to do.
#[test]
fn fatal_cases_are_said_in_words() {
    let fails = |change: &dyn Fn(&Workspace)| {
        let ws = Workspace::example().prebuilt();
        change(&ws);
        ws.run(&["build", "-q", "mco"])
    };
    let recipe = |ws: &Workspace, from: &str, to: &str| {
        let text = fs::read_to_string(source("recipes/60-mco/inputs.toml")).unwrap();
        assert!(text.contains(from), "{from}");
        ws.write("recipes/60-mco/inputs.toml", &text.replace(from, to));
    };
    // A missing CR.
    insta::assert_snapshot!(fails(&|ws| recipe(ws, "\"Proxy.config.openshift.io/cluster\" = [\"*\"]\n", "")), @r"
    [STORE]/[ID]-mco-image
    [STORE]/[ID]-mco-inputs
    [STORE]/[ID]-mco-shared-inputs
    [STORE]/[ID]-mco-shared
    [STORE]/[ID]-mco-rendered-inputs
    [stderr]
    error: `mco/rendered` cannot be built (built-in recipes/60-mco/rendered.toml)
    caused by: `/usr/bin/machine-config-operator` failed with exit code 255; its last output:
      I0101 00:00:00.000000       1 demo.go:1] Version: v4.18.0-demo (demo)
      F0101 00:00:00.000000       1 demo.go:1] error rendering bootstrap manifests: open /in/crs/proxy-cluster.yaml: no such file or directory
    hint: MCO needs Proxy `cluster`: a patch or a manifest of yours has taken it away
    [exit 1]
    ");
    // An unrendered FeatureGate, and one with half its lists.
    insta::assert_snapshot!(fails(&|ws| ws.write("patches/gate.yaml", "target: {kind: FeatureGate}\npatch: {status: null}\n")), @r#"
    [STORE]/[ID]-mco-image
    [STORE]/[ID]-mco-inputs
    [STORE]/[ID]-mco-shared-inputs
    [STORE]/[ID]-mco-shared
    [STORE]/[ID]-mco-rendered-inputs
    [stderr]
    error: `mco/rendered` cannot be built (built-in recipes/60-mco/rendered.toml)
    caused by: `/usr/bin/machine-config-controller` failed with exit code 255; its last output:
      I0101 00:00:00.000000       1 demo.go:1] Version: v4.18.0-demo (demo)
      F0101 00:00:00.000000       1 demo.go:1] error running MCC[BOOTSTRAP]: error creating feature gates handler: unable to determine features: missing desired version "4.18.0-demo" in featuregates.config.openshift.io/cluster
    hint: FeatureGate `cluster` must have its status for exactly this version, as `tinderbox show release/featuregate` has it: look at your manifests and patches of it
    [exit 1]
    "#);
    insta::assert_snapshot!(fails(&|ws| ws.write("patches/gate.yaml", "target: {kind: FeatureGate}\npatch:\n- {op: replace, path: /status/featureGates/0/disabled, value: []}\n- {op: replace, path: /status/featureGates/0/enabled, value: []}\n")), @r#"
    [STORE]/[ID]-mco-image
    [STORE]/[ID]-mco-inputs
    [STORE]/[ID]-mco-shared-inputs
    [STORE]/[ID]-mco-shared
    [STORE]/[ID]-mco-rendered-inputs
    [stderr]
    error: `mco/rendered` cannot be built (built-in recipes/60-mco/rendered.toml)
    caused by: `/usr/bin/machine-config-controller` failed with exit code 2; its last output:
      I0101 00:00:00.000000       1 demo.go:1] Version: v4.18.0-demo (demo)
      panic: feature "NodeSwap" is not registered in FeatureGates
      goroutine 1 [running]:
    hint: FeatureGate `cluster` must have complete lists of gates, as `tinderbox show release/featuregate` has them: look at your manifests and patches of it
    [exit 1]
    "#);
    // A foreign ControllerConfig.
    insta::assert_snapshot!(fails(&|ws| ws.write("manifests/foreign.yaml", "apiVersion: machineconfiguration.openshift.io/v1\nkind: ControllerConfig\nmetadata:\n  name: machine-config-controller\n  annotations: {machineconfiguration.openshift.io/generated-by-version: v4.11.0}\nspec: {}\n")), @r"
    [STORE]/[ID]-mco-image
    [STORE]/[ID]-mco-inputs
    [STORE]/[ID]-mco-shared-inputs
    [STORE]/[ID]-mco-shared
    [STORE]/[ID]-mco-rendered-inputs
    [stderr]
    error: `mco/rendered` cannot be built (built-in recipes/60-mco/rendered.toml)
    caused by: `/usr/bin/machine-config-controller` failed with exit code 255; its last output:
      I0101 00:00:00.000000       1 demo.go:1] Version: v4.18.0-demo (demo)
      F0101 00:00:00.000000       1 demo.go:1] error running MCC[BOOTSTRAP]: Ignoring controller config generated from v4.11.0 (my version: v4.18.0-demo)
    hint: a ControllerConfig among your manifests is from another version of MCO: remove it, MCO makes its own
    [exit 1]
    ");
    // An image that the release does not have.
    insta::assert_snapshot!(fails(&|ws| {
        let text = fs::read_to_string(source("recipes/60-mco/rendered.toml")).unwrap();
        let from = "release/payload:image-references";
        assert!(text.contains(from));
        ws.write("recipes/60-mco/rendered.toml", &text.replace(from, "mine/references:image-references"));
        ws.write("recipes/59-mine/references.toml", "# Mine.\nbuilder = \"tree\"\n[files]\nimage-references = \"references.json\"\n");
        ws.write("recipes/59-mine/references.json", r#"{"kind":"ImageStream","apiVersion":"image.openshift.io/v1","metadata":{"name":"x"},"spec":{"tags":[]}}"#);
    }), @r"
    [STORE]/[ID]-mco-image
    [STORE]/[ID]-mco-inputs
    [STORE]/[ID]-mco-shared-inputs
    [STORE]/[ID]-mco-shared
    [STORE]/[ID]-mco-rendered-inputs
    [stderr]
    error: `mco/rendered` cannot be built (recipes/60-mco/rendered.toml)
    caused by: `/usr/bin/machine-config-operator` failed with exit code 255; its last output:
      I0101 00:00:00.000000       1 demo.go:1] Version: v4.18.0-demo (demo)
      F0101 00:00:00.000000       1 demo.go:1] Failed to find machine-config-operator in image references
    hint: the release does not have an image that MCO needs: it is no whole OpenShift release, or one that tinderbox does not know yet
    [exit 1]
    ");
    // No pool.
    insta::assert_snapshot!(fails(&|ws| {
        let text = fs::read_to_string(source("recipes/60-mco/rendered.toml")).unwrap();
        let from = "from = [\"/out/operator/bootstrap/manifests\", ";
        assert!(text.contains(from));
        let only = "from = [\"/out/operator/bootstrap/manifests/machineconfigcontroller-controllerconfig.yaml\", \"/out/operator/bootstrap/manifests/worker.machineconfigpool.yaml\", ";
        ws.write("recipes/60-mco/rendered.toml", &text.replace(from, only));
    }), @r#"
    [STORE]/[ID]-mco-image
    [STORE]/[ID]-mco-inputs
    [STORE]/[ID]-mco-shared-inputs
    [STORE]/[ID]-mco-shared
    [STORE]/[ID]-mco-rendered-inputs
    [stderr]
    error: `mco/rendered` cannot be built (recipes/60-mco/rendered.toml)
    caused by: `/usr/bin/machine-config-controller` exited with 0 but did not make `machine-configs/rendered-master-*.yaml`; its last output:
            cloudConfig:
              name: ""
            platformSpec:
              type: None
          status:
            apiServerInternalURI: https://api-int.ocp4.example.com:6443
            controlPlaneTopology: HighlyAvailable
            cpuPartitioning: None
            infrastructureTopology: HighlyAvailable
            platform: None
            platformStatus:
              type: None
        ipFamilies: IPv4
        kubeAPIServerServingCAData: U3RhbmRzIGluIGZvciB0aGUgcm9vdCBDQS4gTUNPIHB1dHMgaXQgaW50byBpdHMgQ29udHJvbGxlckNvbmZpZywgd2hpY2ggd2UgZG8gbm90IGtlZXA7IG5vIHJlbmRlcmVkIGNvbmZpZyBoYXMgaXQuCg==
        networkType: OVNKubernetes
        osImageURL: ""
        platform: none
        proxy: {}
        releaseImage: stand-in.invalid/release@sha256:0000000000000000000000000000000000000000000000000000000000000000
        rootCAData: U3RhbmRzIGluIGZvciB0aGUgcm9vdCBDQS4gTUNPIHB1dHMgaXQgaW50byBpdHMgQ29udHJvbGxlckNvbmZpZywgd2hpY2ggd2UgZG8gbm90IGtlZXA7IG5vIHJlbmRlcmVkIGNvbmZpZyBoYXMgaXQuClN0YW5kcyBpbiBmb3IgdGhlIHJvb3QgQ0EuIE1DTyBwdXRzIGl0IGludG8gaXRzIENvbnRyb2xsZXJDb25maWcsIHdoaWNoIHdlIGRvIG5vdCBrZWVwOyBubyByZW5kZXJlZCBjb25maWcgaGFzIGl0Lgo=
    hint: MCO renders a pool that it finds: a MachineConfigPool among your manifests takes the place of MCO's own, or selects nothing
    [exit 1]
    "#);
}

/// A spec that this release's MCO cannot read is said of the user's file, whatever MCO's own words are.
#[test]
fn an_ignition_spec_that_mco_cannot_read_is_said_of_the_users_file() {
    let ws = Workspace::example();
    ws.write("manifests/mine.yaml", &CONFIG.replace("3.2.0", "3.5.0"));
    let said = ws.run(&["build", "--keep-going", "check/manifests", "mco"]);
    let wanted = "mine.yaml:8: spec.config.ignition.version: this release's MCO cannot read Ignition spec `3.5.0` [machine-config-ignition]";
    assert!(
        said.contains(wanted) && said.contains("hint: write it for spec 3.4.0, or an older one"),
        "{said}"
    );
    assert!(
        said.contains(
            "warning: `mco/rendered` names what is in manifests/mine.yaml:1: MachineConfig `99-mine`"
        ),
        "{said}"
    );
    // From 4.19 on it can.
    ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.19");
    ws.relock();
    ws.build(&["check/manifests"]);
}

/// CustomNoUpgrade is computed from the default gates; what TechPreview cannot have can be left out of it.
#[test]
fn custom_feature_gates_are_those_of_the_default_set_with_the_users() {
    let ws = Workspace::example();
    ws.build(&["mco"]);
    let default = name(&ws, "master");
    let gates = "featureSet: CustomNoUpgrade\nfeatureGates: [NodeSwap=true, OSStreams=false, NodeSwp=true]\nbaseDomain:";
    ws.edit("install-config.yaml", "baseDomain:", gates);
    ws.build(&["mco", "release/crds"]);
    assert_ne!(name(&ws, "master"), default, "the gates went into the render");
    let text =
        fs::read_to_string(ws.path_of("manifest/99_feature-gate").join("99_feature-gate.yaml")).unwrap();
    let (enabled, disabled) = text.split_once("status:").unwrap().1.split_once("disabled:").unwrap();
    assert!(
        enabled.contains("    - name: NodeSwap\n    - name: NodeSwp\n") && !disabled.contains("NodeSwap"),
        "{text}"
    );
    assert!(
        disabled.contains("    - name: OSStreams\n") && disabled.contains("    - name: EventedPLEG\n"),
        "{text}"
    );
    let crds = list(&ws.path_of("release/crds"));
    let variants = |set: &str| crds.iter().filter(|file| file.contains(set)).count();
    assert!(variants("-CustomNoUpgrade") > 3 && variants("-Default") == 0, "{crds:?}");
    // A gate that the release does not list is kept, as its config operator does, and said.
    let said = ws.run(&["check"]);
    let wanted =
        "spec.customNoUpgrade.enabled[1]: `NodeSwp` is a gate of this release; did you mean `NodeSwap`?";
    assert!(said.contains(wanted) && said.contains("[exit 0]"), "{said}");
}

/// A rendered config is known by its name; whatever else was done to it is noticed.
#[test]
fn a_changed_render_is_refused() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["mco"]);
    let rendered = ws.path_of("mco/rendered").join("machine-configs");
    let file = list(&rendered).into_iter().find(|name| name.starts_with("rendered-worker-")).unwrap();
    let text = fs::read_to_string(rendered.join(&file)).unwrap();
    let swap = |text: &str| {
        ws.write(&format!("recipes/61-fake/{file}"), text);
        ws.write(
            "recipes/61-fake/rendered.toml",
            &format!("# Not what MCO made.\nbuilder = \"tree\"\n[files]\n\"{file}\" = \"{file}\"\n"),
        );
        ws.write("recipes/62-fake/worker.toml", "# Whose name is wrong.\nbuilder = \"machineconfig\"\n[inputs]\nrendered = \"fake/rendered\"\n[params]\npool = \"worker\"\n");
        ws.run(&["build", "-q", "fake/worker"])
    };
    assert!(swap(&text).contains("[exit 0]"));
    for changed in
        [text.replacen("kernelType: default", "kernelType: realtime", 1), text[..text.len() - 20].to_owned()]
    {
        assert_ne!(changed, text);
        let said = swap(&changed);
        assert!(said.contains("is not what MCO rendered: by its content it is `rendered-worker-"), "{said}");
    }
}

/// What programs print is kept for their owner, without secrets; the trace says how they were kept apart.
#[test]
fn a_log_is_kept_without_secrets() {
    let ws = Workspace::example();
    // Rendered with the cluster's own pull secret, because of the domain in it.
    ws.write("manifests/mine.yaml", &CONFIG.replace("quiet", "host=api.ocp4.example.com"));
    ws.build(&["mco"]);
    let logs = ws.part("logs");
    let [log] = Vec::from_iter(list(&logs)).try_into().unwrap();
    let text = fs::read_to_string(logs.join(&log)).unwrap();
    assert!(
        text.contains("$ /usr/bin/machine-config-operator bootstrap")
            && text.contains("kind: ControllerConfig"),
        "{text}"
    );
    assert!(!text.contains("ZGVtbzpkZW1v") && !text.contains("demo:demo"), "{text}");
    assert_eq!(mode(&logs.join(&log)), 0o600);
    let trace = fs::read_to_string(ws.part("realisations").join(&log)).unwrap();
    assert!(trace.contains(r#""isolation":""#), "{trace}");
    // And goes when nothing leads to it any more.
    fs::remove_dir_all(ws.part("roots")).unwrap();
    fs::create_dir(ws.part("roots")).unwrap();
    let said = ws.run(&["store", "gc"]);
    assert_eq!(list(&logs).len(), 0, "{said}");
}

/// What a run builder must notice although the program says that all is well.
#[test]
fn what_programs_get_wrong_is_noticed() {
    let run = |more: &str| {
        let ws = Workspace::example().prebuilt();
        ws.write("recipes/61-mine/run.toml", &format!("# Mine.\nbuilder = \"run\"\n{more}"));
        ws.run(&["build", "-q", "mine/run"])
    };
    let program = "[inputs]\nimage = \"mco/image\"\n[[params.steps]]\nrun = [\"/usr/bin/machine-config-controller\", \"version\"]\n";
    insta::assert_snapshot!(run(&format!("{program}[params.outputs]\n\"x\" = \"/out/x\"\n")), @r"
    [stderr]
    error: `mine/run` cannot be built (recipes/61-mine/run.toml)
    caused by: `/usr/bin/machine-config-controller` exited with 0 but did not make `/out/x`; its last output:
      machine-config-controller v4.18.0-demo
    [exit 1]
    ");
    insta::assert_snapshot!(run(&program.replace("controller", "controler").replace("\"version\"]\n", "\"version\"]\n[params.outputs]\n\"x\" = \"/out/x\"\n")), @r"
    [stderr]
    error: `mine/run` cannot be built (recipes/61-mine/run.toml)
    caused by: the image has no program `/usr/bin/machine-config-controler`
    hint: did you mean `machine-config-controller`?
    [exit 1]
    ");
    insta::assert_snapshot!(run("[inputs]\nimage = \"mco/image\"\ninputs = \"mco/inputs\"\n[params.mounts]\ninputs = \"/in\"\n[params.require]\ninputs = [\"tls/none.crt\"]\n[[params.steps]]\nrun = [\"/x\"]\n[params.outputs]\n\"x\" = \"/out/x\"\n"), @r"
    [stderr]
    error: `mine/run` cannot be built (recipes/61-mine/run.toml)
    caused by: input `mco/inputs` has no `tls/none.crt`: the program would continue without it
    [exit 1]
    ");
    insta::assert_snapshot!(run("[inputs]\nimage = \"mco/image\"\nunused = \"mco/inputs\"\n[[params.steps]]\nrun = [\"/x\"]\n[params.outputs]\n\"x\" = \"/out/x\"\n"), @r"
    [stderr]
    error: `mine/run` cannot be built (recipes/61-mine/run.toml)
    caused by: the recipe sets `unused`, but nothing in `mounts` or the texts of the steps uses it
    hint: remove it: declared names cause rebuilds when they change
    [exit 1]
    ");
    insta::assert_snapshot!(run("[inputs]\nimage = \"mco/image\"\n[[params.steps]]\nrun = [\"/x\", \"${verson}\"]\n[params.outputs]\n\"x\" = \"/out/x\"\n"), @r"
    [stderr]
    error: `mine/run` cannot be built (recipes/61-mine/run.toml)
    caused by: parameter `verson` must be an input or a config value
    [exit 1]
    ");
    insta::assert_snapshot!(run("[inputs]\nimage = \"mco/image\"\n[[params.steps]]\nrum = [\"/x\"]\n[params.outputs]\n\"x\" = \"/out/x\"\n"), @r"
    [stderr]
    error: `mine/run` cannot be built (recipes/61-mine/run.toml)
    caused by: parameter `steps` must be a list of tables, each with `run`, or with `gather` and `from`
    [exit 1]
    ");
    insta::assert_snapshot!(run("[inputs]\nimage = \"mco/image\"\n[[params.steps]]\nrun = [\"/x\"]\n[params.outputs]\n\"x\" = \"/etc\"\n"), @r"
    [stderr]
    error: `mine/run` cannot be built (recipes/61-mine/run.toml)
    caused by: parameter `outputs` must be a table of paths below `/out`
    [exit 1]
    ");
}

/// An impure recipe is built whenever it is asked for, and nothing is made of it.
#[test]
fn what_is_impure_is_never_cached_and_never_an_input() {
    let ws = Workspace::example().prebuilt();
    ws.write(
        "recipes/61-mine/run.toml",
        "# Mine.\nbuilder = \"tree\"\nimpure = true\n[files]\n\"a\" = \"a\"\n",
    );
    ws.write("recipes/61-mine/a", "a");
    assert_eq!(ws.build(&["mine/run"]), ["mine/run"]);
    assert_eq!(ws.build(&["mine/run"]), ["mine/run"], "again");
    ws.write(
        "recipes/62-mine/user.toml",
        "# Mine.\nbuilder = \"tree\"\n[inputs]\nrun = \"mine/run\"\n[params.place]\nrun = \"\"\n",
    );
    insta::assert_snapshot!(ws.run(&["build", "-q", "mine/user"]), @r"
    [stderr]
    error: 1 problem:
    recipes/62-mine/user.toml:4: inputs.run: `mine/user` needs `mine/run`, which is impure (recipes/61-mine/run.toml): its output may differ each time
      hint: use a pure input; impure ones are only for `tinderbox build` and `show`
    [exit 1]
    ");
}

/// A link that leads nowhere is named where it is, and not by a program that trips over it.
#[test]
fn a_dangling_link_among_the_manifests_is_named() {
    let ws = Workspace::example().prebuilt();
    fs::create_dir(ws.dir.join("manifests")).unwrap();
    std::os::unix::fs::symlink("nowhere", ws.dir.join("manifests/mine.yaml")).unwrap();
    insta::assert_snapshot!(ws.run(&["build", "-q", "mco"]), @r"
    [stderr]
    error: cannot find `[DIR]/manifests/mine.yaml`
    caused by: No such file or directory (os error 2)
    [exit 1]
    ");
}

/// A container hides parts of its /proc: then no other can be mounted, and programs do without.
#[test]
fn inside_of_a_container_it_renders_the_same() {
    let part = "a render where /proc is masked";
    let Some(flags) = in_mount_namespace(part).filter(|_| is_root()) else { return };
    let ws = Workspace::example().prebuilt();
    ws.build(&["mco"]);
    let other = Workspace::example();
    fs::create_dir(&other.store).unwrap();
    other.give_away();
    let Some(command) = other.as_plain_user(part, &["build", "-q", "mco"]) else { return };
    let mut script = Command::new("unshare");
    script.args(&flags).args(["sh", "-c", "mount -t tmpfs tmpfs /proc/tty && exec \"$@\"", "sh"]);
    script.arg(command.get_program()).args(command.get_args()).current_dir(&other.dir);
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            script.env(name, value);
        }
    }
    let output = script.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let id = |ws: &Workspace| list(&ws.store).into_iter().find(|name| name.ends_with("-mco-rendered"));
    assert_eq!(id(&other), id(&ws));
}

/// Where there can be no sandbox, what to change is said.
#[test]
fn without_namespaces_the_setting_is_named() {
    let ws = Workspace::example();
    let command = ws.command(&["build", "-q", "mco"]);
    let mut script = Command::new("unshare");
    let forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all --bounding-set=-all \"$@\"";
    script.args(["--user", "--map-root-user", "sh", "-c", forbid, "sh"]);
    script.arg(command.get_program()).args(command.get_args()).current_dir(&ws.dir);
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            script.env(name, value);
        }
    }
    let output = match script.output() {
        Ok(output) if !String::from_utf8_lossy(&output.stderr).contains("unshare:") => output,
        other => {
            return left_out(
                "user namespaces that are forbidden",
                &format!("unshare, of Debian's util-linux: {other:?}"),
            );
        }
    };
    insta::assert_snapshot!(ws.text(&output), @r"
    [STORE]/[ID]-mco-image
    [STORE]/[ID]-mco-inputs
    [STORE]/[ID]-mco-shared-inputs
    [stderr]
    error: `mco/shared` cannot be built (built-in recipes/60-mco/rendered.toml)
    caused by: this machine does not allow a sandbox: cannot create user namespaces: the system's limit is reached
    hint: as root, `sysctl user.max_user_namespaces=15000`; or install bubblewrap
    [exit 1]
    ");
}

/// The machine-config daemon compares a node with its rendered config, byte by byte: whatever MCO rendered arrives as it is.
#[test]
fn what_was_rendered_reaches_the_nodes_unchanged() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["ignition"]);
    let read = |path: std::path::PathBuf| -> serde_json::Value {
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    };
    let files = |config: &serde_json::Value| -> BTreeMap<String, serde_json::Value> {
        let files = config["storage"]["files"].as_array().unwrap();
        files.iter().map(|file| (file["path"].as_str().unwrap().to_owned(), file.clone())).collect()
    };
    for (node, pool) in [("master-1", "master"), ("worker-0", "worker")] {
        let rendered = files(&read(ws.path_of(&format!("mco/{pool}")).join("config.ign")));
        let written = files(&read(ws.path_of(&format!("ignition/{node}")).join(format!("{node}.ign"))));
        let changed: Vec<&String> = rendered
            .iter()
            .filter(|(path, file)| {
                let here = &written[*path];
                here["mode"] != file["mode"]
                    || here["overwrite"] != file["overwrite"]
                    || content(here) != content(file)
            })
            .map(|(path, _)| path)
            .collect();
        assert_eq!(changed, Vec::<&String>::new(), "{node}");
    }
}

/// What a file holds, however its data URL says it.
fn content(file: &serde_json::Value) -> Vec<u8> {
    use base64::Engine as _;
    let source = file["contents"]["source"].as_str().unwrap_or("data:,");
    let (head, body) = source.strip_prefix("data:").unwrap().split_once(',').unwrap();
    let mut bytes = Vec::new();
    let mut left = body.as_bytes();
    while let Some((first, rest)) = left.split_first() {
        if *first == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&rest[..2]).unwrap(), 16).unwrap());
            left = &rest[2..];
        } else {
            bytes.push(*first);
            left = rest;
        }
    }
    match head.ends_with(";base64") {
        true => base64::engine::general_purpose::STANDARD.decode(bytes).unwrap(),
        false => bytes,
    }
}
