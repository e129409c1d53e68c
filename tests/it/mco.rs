//! The node OS, rendered by the demo release's own MCO programs in the sandbox.

use std::fs;

use super::harness::{Workspace, list, mode, source, tree};

const CONFIG: &str = "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 99-mine\n  labels: {machineconfiguration.openshift.io/role: worker}\nspec:\n  kernelArguments: [quiet]\n  config: {ignition: {version: 3.2.0}}\n";
const KUBELET: &str = "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: mine}\nspec:\n  machineConfigPoolSelector: {matchLabels: {pools.operator.machineconfiguration.openshift.io/master: ''}}\n  kubeletConfig: {maxPods: 333}\n";
const RUNTIME: &str = "apiVersion: machineconfiguration.openshift.io/v1\nkind: ContainerRuntimeConfig\nmetadata: {name: mine}\nspec:\n  machineConfigPoolSelector: {matchLabels: {pools.operator.machineconfiguration.openshift.io/worker: ''}}\n  containerRuntimeConfig: {pidsLimit: 2048}\n";

fn name(ws: &Workspace, pool: &str) -> String {
    fs::read_to_string(ws.path_of(&format!("mco/{pool}")).join("name")).unwrap()
}

#[test]
fn a_plain_user_without_a_network_renders_the_same() {
    let ws = Workspace::in_memory().filled();
    ws.build(&["mco"]);
    let rendered = tree(&ws.path_of("mco/rendered"));
    assert_eq!(
        rendered.keys().filter(|path| path.contains("rendered-master-")).count(),
        1,
        "{:?}",
        rendered.keys()
    );
    assert_eq!(rendered.keys().filter(|path| path.contains("rendered-worker-")).count(), 1);

    let other = Workspace::in_memory().filled();
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
    let ws = Workspace::in_memory().filled();
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
    let ws = Workspace::in_memory().filled();
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
        let ws = Workspace::in_memory().filled();
        change(&ws);
        ws.run(&["build", "-q", "mco"])
    };
    let recipe = |ws: &Workspace, from: &str, to: &str| {
        let text = fs::read_to_string(source("recipes/60-mco/inputs.toml")).unwrap();
        assert!(text.contains(from), "{from}");
        ws.write("recipes/60-mco/inputs.toml", &text.replace(from, to));
    };
    // A missing CR.
    insta::assert_snapshot!(fails(&|ws| recipe(ws, "\"Proxy.config.openshift.io/cluster\" = [\"*\"]\n", "")), @"");
    // An unrendered FeatureGate, and one with half its lists.
    insta::assert_snapshot!(fails(&|ws| ws.write("patches/gate.yaml", "target: {kind: FeatureGate}\npatch: {status: null}\n")), @"");
    insta::assert_snapshot!(fails(&|ws| ws.write("patches/gate.yaml", "target: {kind: FeatureGate}\njson:\n- {op: replace, path: /status/featureGates/0/disabled, value: []}\n- {op: replace, path: /status/featureGates/0/enabled, value: []}\n")), @"");
    // A foreign ControllerConfig.
    insta::assert_snapshot!(fails(&|ws| ws.write("manifests/foreign.yaml", "apiVersion: machineconfiguration.openshift.io/v1\nkind: ControllerConfig\nmetadata:\n  name: machine-config-controller\n  annotations: {machineconfiguration.openshift.io/generated-by-version: v4.11.0}\nspec: {}\n")), @"");
    // No pool.
    insta::assert_snapshot!(fails(&|ws| {
        let text = fs::read_to_string(source("recipes/60-mco/rendered.toml")).unwrap();
        let from = "from = [\"/out/operator/bootstrap/manifests\", ";
        assert!(text.contains(from));
        let only = "from = [\"/out/operator/bootstrap/manifests/machineconfigcontroller-controllerconfig.yaml\", \"/out/operator/bootstrap/manifests/worker.machineconfigpool.yaml\", ";
        ws.write("recipes/60-mco/rendered.toml", &text.replace(from, only));
    }), @"");
}

/// A rendered config is known by its name; whatever else was done to it is noticed.
#[test]
fn a_changed_render_is_refused() {
    let ws = Workspace::in_memory().filled();
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
    let ws = Workspace::in_memory().filled();
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
    ws.run(&["store", "gc"]);
    assert_eq!(list(&logs).len(), 0);
}

/// What a run builder must notice although the program says that all is well.
#[test]
fn what_programs_get_wrong_is_noticed() {
    let run = |more: &str| {
        let ws = Workspace::in_memory().filled();
        ws.write("recipes/61-mine/run.toml", &format!("# Mine.\nbuilder = \"run\"\n{more}"));
        ws.run(&["build", "-q", "mine/run"])
    };
    let program = "[inputs]\nimage = \"mco/image\"\n[[params.steps]]\nrun = [\"/usr/bin/machine-config-controller\", \"version\"]\n";
    insta::assert_snapshot!(run(&format!("{program}[params.outputs]\n\"x\" = \"/out/x\"\n")), @"");
    insta::assert_snapshot!(run(&program.replace("controller", "controler").replace("\"version\"]\n", "\"version\"]\n[params.outputs]\n\"x\" = \"/out/x\"\n")), @"");
    insta::assert_snapshot!(run("[inputs]\nimage = \"mco/image\"\ninputs = \"mco/inputs\"\n[params.mounts]\ninputs = \"/in\"\n[params.require]\ninputs = [\"tls/none.crt\"]\n[[params.steps]]\nrun = [\"/x\"]\n[params.outputs]\n\"x\" = \"/out/x\"\n"), @"");
    insta::assert_snapshot!(run("[inputs]\nimage = \"mco/image\"\nunused = \"mco/inputs\"\n[[params.steps]]\nrun = [\"/x\"]\n[params.outputs]\n\"x\" = \"/out/x\"\n"), @"");
    insta::assert_snapshot!(run("[inputs]\nimage = \"mco/image\"\n[[params.steps]]\nrun = [\"/x\", \"${verson}\"]\n[params.outputs]\n\"x\" = \"/out/x\"\n"), @"");
    insta::assert_snapshot!(run("[inputs]\nimage = \"mco/image\"\n[[params.steps]]\nrum = [\"/x\"]\n[params.outputs]\n\"x\" = \"/out/x\"\n"), @"");
    insta::assert_snapshot!(run("[inputs]\nimage = \"mco/image\"\n[[params.steps]]\nrun = [\"/x\"]\n[params.outputs]\n\"x\" = \"/etc\"\n"), @"");
}

/// An impure recipe is built whenever it is asked for, and nothing is made of it.
#[test]
fn what_is_impure_is_never_cached_and_never_an_input() {
    let ws = Workspace::in_memory().filled();
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
    insta::assert_snapshot!(ws.run(&["build", "-q", "mine/user"]), @"");
}
