//! examples/ci: the workflow's own commands, run as a forge would. They are not judged by GitHub's schema: it is not to be had offline.

use std::fs;
use std::path::Path;
use std::process::Output;

use tinderbox::internals::hint::Problems;
use tinderbox::internals::yaml::{Source, YamlNode, parse};

use super::console;
use crate::harness::{SEED, Workspace, source};

/// What the step of this name runs.
fn script(workflow: &YamlNode, name: &str) -> String {
    let steps = workflow.get("jobs").and_then(|jobs| jobs.get("build")?.get("steps")).unwrap().items();
    let step = steps.iter().find(|step| step.get("name").and_then(YamlNode::text) == Some(name));
    step.and_then(|step| step.get("run")?.text()).unwrap_or_else(|| panic!("no step `{name}`")).to_owned()
}

/// A step in a checkout at the workspace's root, as `bash -e`.
fn run(ws: &Workspace, script: &str, seed: Option<&str>) -> Output {
    let runner = ws.temp().join("runner");
    let mut bash = ws.command_of(Path::new("bash"), &["-eo", "pipefail", "-c", script]);
    bash.current_dir(ws.temp()).env("PATH", console::path_with_program(ws)).env("CLUSTER", "ocp4");
    bash.env("RUNNER_TEMP", &runner).env("GITHUB_STEP_SUMMARY", runner.join("summary"));
    bash.env("GITHUB_ENV", runner.join("env")).env("BASE", "main");
    bash.env("TINDERBOX_SEED_FILE", runner.join("seed")).envs(seed.map(|seed| ("SEED", seed)));
    bash.output().unwrap()
}

#[test]
fn the_workflow_comments_and_guards() {
    let text = fs::read_to_string(source("examples/ci/pull-request.yaml")).unwrap();
    let mut problems = Problems::default();
    let workflow = parse(Source { name: "pull-request.yaml", text: &text }, &mut problems);
    let workflow = workflow.unwrap_or_else(|| panic!("{problems}"));
    let ws = Workspace::example().prebuilt();
    let runner = ws.temp().join("runner");
    fs::create_dir(&runner).unwrap();
    let succeeds = |script: &str, seed: Option<&str>| {
        let output = run(&ws, script, seed);
        assert!(output.status.success(), "{script}: {}", ws.text(&output));
    };
    fs::remove_file(ws.dir.join("cluster.seed")).unwrap();
    fs::write(ws.temp().join(".gitignore"), "/bin\n/runner\n/store\n").unwrap();
    let commit = "git add . && git -c user.name=me -c user.email=me@example.com commit -qm";
    succeeds(&format!("git init -q -b main . && {commit} base"), None);
    succeeds(&script(&workflow, "Seed"), Some(&data_encoding::BASE64.encode(&SEED)));
    succeeds(&script(&workflow, "Check"), None);

    // A pull request without a difference, and one that moves a worker.
    let comment = || fs::read_to_string(runner.join("comment.md")).unwrap();
    let compare = script(&workflow, "Compare with the base");
    succeeds(&compare, None);
    assert_eq!(comment(), "No artifact changes.\n");
    succeeds("git worktree remove --force runner/base && git checkout -q -b move", None);
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.120");
    succeeds(&compare, None);
    assert!(comment().contains("worker-0") && !comment().contains("master-0"), "{}", comment());
    assert!(fs::read_to_string(runner.join("summary")).unwrap().ends_with(&comment()));

    // The gate passes for what was deployed, and fails for anything else.
    let gate = script(&workflow, "Drift gate");
    succeeds("git checkout -q -f main", None);
    succeeds(
        r#"basename "$(tinderbox -C ocp4 --store runner/store -q build --no-link)" > ocp4/deployed"#,
        None,
    );
    succeeds(&gate, None);
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.120");
    assert_eq!(run(&ws, &gate, None).status.code(), Some(1));
    succeeds(&script(&workflow, "Forget the seed"), None);
    assert!(!runner.join("seed").exists());
}
