//! The render of the node OS that clusters share: with placeholders, public, and filled in with each cluster's values.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::harness::{Workspace, is_root, list, mode, source, tree};

/// A MachineConfig with one file.
fn machine_config(source: &str, mode: u32) -> String {
    format!(
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 99-mine\n  labels: {{machineconfiguration.openshift.io/role: worker}}\nspec:\n  config:\n    ignition: {{version: 3.2.0}}\n    storage: {{files: [{{path: /etc/mine, mode: {mode}, contents: {{source: '{source}'}}}}]}}\n"
    )
}

/// Why the render is not shared; empty if it is.
fn unsuitable(ws: &Workspace) -> String {
    let shared = ws.path_of("mco/shared");
    fs::read_to_string(shared.join("unsuitable")).unwrap_or_default()
}

fn machine_config_of(ws: &Workspace, pool: &str) -> String {
    fs::read_to_string(ws.path_of(&format!("mco/{pool}")).join("machine-config.json")).unwrap()
}

/// Runs the programs with the cluster's own values and compares.
fn assert_checked(ws: &Workspace) {
    let check = ws.json(&["build", "--check", "mco"]);
    assert_eq!(check["check"]["differences"], Value::Array(Vec::new()), "{check}");
}

/// Another name, another seed and another pull secret: the second cluster runs no program, and has what its own programs
/// would have made.
#[test]
fn two_clusters_share_one_render() {
    let one = Workspace::example();
    one.build(&["mco"]);
    assert_eq!(unsuitable(&one), "");
    let mut other = Workspace::example();
    other.store = one.store.clone();
    other.write_seed(&[8; 32]);
    other.edit("install-config.yaml", "  name: ocp4", "  name: edge-17");
    other.edit("install-config.yaml", "baseDomain: example.com", "baseDomain: sites.example.org");
    let pull_secret = "{\"auths\": {\"registry.example.org:5000\": {\"auth\": \"c29tZWJvZHk6d2l0aC1hLXBhc3N3b3Jk\", \"email\": \"a <b>@c\"}}}";
    other.edit(
        "install-config.yaml",
        "{\"auths\":{\"example.invalid\":{\"auth\":\"ZGVtbzpkZW1v\"}}}",
        pull_secret,
    );
    let logs = list(&one.part("logs"));
    let built = other.build(&["mco"]);
    for (name, is) in
        [("mco/rendered", true), ("mco/shared-inputs", true), ("mco/shared", false), ("mco/image", false)]
    {
        assert_eq!(built.contains(&name.to_owned()), is, "{name}: {built:?}");
    }
    assert_eq!(list(&one.part("logs")), logs, "no program ran");
    assert_eq!(one.path_of("mco/shared"), other.path_of("mco/shared"));
    assert_ne!(one.path_of("mco/rendered"), other.path_of("mco/rendered"));

    let config = machine_config_of(&other, "master");
    let login = "%7B%22auths%22%3A%7B%22registry.example.org%3A5000%22%3A%7B%22auth%22%3A%22c29tZWJvZHk6d2l0aC1hLXBhc3N3b3Jk%22%2C%22email%22%3A%22a%20%3Cb%3E%40c%22%7D%7D%7D";
    assert!(config.contains("api-int.edge-17.sites.example.org") && config.contains(login), "{config}");
    assert!(!config.contains("0-0.aa") && !config.contains("ocp4.example.com"), "{config}");
    // Its programs, with its values.
    assert_checked(&other);
    // And what they share is for everybody, with nothing of either cluster in it.
    for (path, (_, bytes)) in tree(&one.path_of("mco/shared")) {
        assert_eq!(mode(&one.path_of("mco/shared").join(&path)), 0o444);
        let text = String::from_utf8(bytes).unwrap();
        for word in ["example.com", "example.org", "example.invalid", "ZGVtbzpkZW1v", "c29tZWJvZHk6"] {
            assert!(!text.contains(word), "{path}: {word}");
        }
    }
    let rendered = one.path_of("mco/rendered").join("machine-pools/master.yaml");
    assert!(!is_root() || mode(&rendered) == 0o400, "with a pull secret in it, all of it is secret");
    other.assert_sound();
}

/// What says the domain elsewhere, is secret or has an unusual form is rendered with its own values, and says why.
#[test]
fn what_cannot_be_shared_is_rendered_for_the_cluster() {
    let of_file = |source: &'static str, mode: u32| {
        move |ws: &Workspace| ws.write("manifests/mine.yaml", &machine_config(source, mode))
    };
    let pull_secret = |more: &'static str| {
        move |ws: &Workspace| {
            ws.edit(
                "install-config.yaml",
                "{\"auth\":\"ZGVtbzpkZW1v\"}}}",
                &format!("{{\"auth\":\"ZGVtbzpkZW1v\"}}}}{more}}}"),
            );
        }
    };
    let domain = "own/machineconfig-99-mine.yaml` names the cluster's domain";
    let private =
        "own/machineconfig-99-mine.yaml` has something that looks like a secret, or that only root may read";
    type Edit<'a> = &'a dyn Fn(&Workspace);
    let cases: [(&str, Edit<'_>); 8] = [
        (domain, &of_file("data:,https://api-int.ocp4.example.com:6443%0A", 420)),
        // https://console.apps.ocp4.example.com
        (domain, &of_file("data:;base64,aHR0cHM6Ly9jb25zb2xlLmFwcHMub2NwNC5leGFtcGxlLmNvbQ==", 420)),
        (private, &of_file("data:,only-for-root%0A", 384)),
        (private, &of_file("data:,password%3A%20correct-horse-battery%0A", 420)),
        ("the pull secret has more than", &pull_secret(",\"credHelpers\":{\"a\":\"b\"}")),
        ("`crs/proxy-cluster.yaml` names the cluster's domain", &|ws| {
            ws.edit(
                "install-config.yaml",
                "platform:\n",
                "proxy: {httpProxy: 'http://proxy:3128'}\nplatform:\n",
            );
        }),
        ("the address of the cluster's API is not", &|ws| {
            let patch = "target: {kind: Infrastructure}\npatch: {status: {apiServerInternalURI: 'https://192.168.126.10:6443'}}\n";
            ws.write("patches/address.yaml", patch);
        }),
        ("", &of_file("data:,the%20same%20everywhere%0A", 420)),
    ];
    for (reason, change) in cases {
        let ws = Workspace::example().prebuilt();
        change(&ws);
        let built = ws.build(&["mco"]);
        assert!(built.contains(&"mco/rendered".to_owned()), "{reason}: {built:?}");
        let found = unsuitable(&ws);
        assert!(
            if reason.is_empty() { found.is_empty() } else { found.contains(reason) },
            "{reason}: {found}"
        );
        assert!(!machine_config_of(&ws, "worker").contains("0-0.aa"), "{reason}");
        assert_checked(&ws);
    }
}

/// A domain in the user's own words stays as they wrote it, in the cluster whose domain it is and in another one.
#[test]
fn a_domain_in_the_users_own_words_stays() {
    let ws = Workspace::example().prebuilt();
    ws.write(
        "manifests/mine.yaml",
        &machine_config("data:,see%20https://api-int.ocp4.example.com%20and%200-0.aa%0A", 420),
    );
    ws.build(&["mco"]);
    assert!(unsuitable(&ws).contains("names the cluster's domain"));
    assert_checked(&ws);
    ws.edit("install-config.yaml", "  name: ocp4", "  name: other");
    ws.build(&["mco"]);
    // It is no longer this cluster's; but it has a placeholder in it, which two renders show.
    assert!(
        unsuitable(&ws).contains("differ in more than these: machine-configs/rendered-worker-….yaml"),
        "{}",
        unsuitable(&ws)
    );
    let config = machine_config_of(&ws, "worker");
    assert!(
        config.contains("api-int.ocp4.example.com%20and%200-0.aa")
            && config.contains("api-int.other.example.com"),
        "{config}"
    );
    assert_checked(&ws);
}

/// Programs that do more with a value than write it down: both renders differ in more than the placeholders.
#[test]
fn another_trace_of_a_value_is_noticed() {
    let ws = Workspace::example().prebuilt();
    let recipe = fs::read_to_string(source("recipes/60-mco/rendered.toml")).unwrap();
    let (from, to) = ("\"machine-configs\" = ", "\"extra\" = \"/out/extra\"\n\"machine-configs\" = ");
    assert!(recipe.contains(from));
    let step =
        "[[params.steps]]\ngather = \"/out/extra\"\nfrom = [\"/in/pull-secret\"]\n\n[params.outputs]\n";
    let recipe = recipe.replace(from, to).replace("[params.outputs]\n", step);
    ws.write("recipes/60-mco/rendered.toml", &recipe);
    ws.build(&["mco"]);
    let reason = "differ in more than these: extra/secret-openshift-config-pull-secret.yaml\n";
    assert!(unsuitable(&ws).ends_with(reason), "{}", unsuitable(&ws));
    assert!(ws.path_of("mco/rendered").join("extra").is_dir());
    assert_checked(&ws);
}

/// The second look renders with the cluster's own values: a shared render that is wrong is found, with the reason.
#[test]
fn a_wrong_shared_render_is_found_by_a_check() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["mco"]);
    let mut recipe = "# Almost what MCO made.\nbuilder = \"tree\"\n[files]\n".to_owned();
    for (path, (_, bytes)) in tree(&ws.path_of("mco/shared")) {
        let mut text = String::from_utf8(bytes).unwrap();
        if path == "machine-pools/worker.yaml" {
            text.push_str("# and more\n");
        }
        let name = Path::new(&path).file_name().unwrap().to_str().unwrap().to_owned();
        ws.write(&format!("recipes/60-mco/wrong/{name}"), &text);
        recipe.push_str(&format!("\"{path}\" = \"wrong/{name}\"\n"));
    }
    ws.write("recipes/60-mco/wrong.toml", &recipe);
    let inputs = fs::read_to_string(source("recipes/60-mco/rendered-inputs.toml")).unwrap();
    assert!(inputs.contains("\"mco/shared\""));
    ws.write("recipes/60-mco/rendered-inputs.toml", &inputs.replace("\"mco/shared\"", "\"mco/wrong\""));
    ws.build(&["mco/rendered"]);
    let output = ws.output(&["build", "--check", "--json", "mco/rendered"]);
    let check: Value = serde_json::from_slice(&output.stdout).unwrap();
    let differences = check["check"]["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 1, "{check}");
    assert_eq!(differences[0]["name"], "mco/rendered");
    assert_eq!(differences[0]["paths"], serde_json::json!([["machine-pools/worker.yaml", "changed"]]));
    let reason = "whether the programs ran for it, or a shared output was filled in";
    assert_eq!(differences[0]["depends_on"], serde_json::json!([reason]));
}
