//! The questions that the release's own programs answer, in the sandbox.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::PATCHED;
use super::questions::Trial;
use super::reading::{Reading, WithoutFailures, reason};
use crate::base::fs;
use crate::base::hint::{Problems, chain};
use crate::base::value::Value;
use crate::base::yaml::{self, Source};
use crate::cli::diff::hand_over;
use crate::cli::{Error, Result};
use crate::compare::readiness::flags::{self, Answer, Asked};
use crate::compare::readiness::{Finding, Level, Section};
use crate::engine::recipe::{GraphNode, NodeIndex};
use crate::engine::sandbox::{Ended, Limits, Program};
use crate::engine::store::Object;
use crate::engine::tree::TreeWriter;
use crate::openshift::pod;
use crate::openshift::workspace::{Env, Workspace, WorkspaceError};

/// A program to ask.
struct Command {
    /// What people call it.
    name: String,
    /// The derivation with its image; none if no recipe has it.
    image: Option<NodeIndex>,
    argv: Vec<String>,
}

/// How long a program may take to print its help.
const PATIENCE: Duration = Duration::from_secs(20);

/// Builders that run programs of images.
const RUN: [&str; 2] = ["run", "mco-render"];

/// Where programs are, if a pod names one without a path.
const PATH: [&str; 5] = ["/usr/bin", "/usr/local/bin", "/bin", "/usr/sbin", "/usr/local/sbin"];

impl Trial<'_> {
    /// What the release's own programs say: about flags, and which objects their renders make.
    pub(super) fn programs(&mut self) -> Result<()> {
        let commands = self.commands()?;
        let nodes = self.there.workspace.graph.nodes();
        let images: BTreeSet<&str> =
            commands.iter().filter_map(|command| command.image).map(|at| nodes[at].name.as_str()).collect();
        let reading =
            Reading::of(self.env, self.there.workspace, self.jobs, &images.into_iter().collect::<Vec<_>>())?;
        let mut asked = Vec::new();
        for command in commands {
            if self.env.cancel.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            match ask(self.env, &reading, &command) {
                Ok(said) => asked.push((command.name, said)),
                Err(why) => self.not_asked(Section::Flags, &command.name, why),
            }
        }
        self.findings.extend(flags::findings(&asked));
        self.renders()
    }

    /// Every program that a static pod or a recipe calls, with its flags.
    fn commands(&mut self) -> Result<Vec<Command>> {
        let there = self.there;
        let graph = &there.workspace.graph;
        let components = there.components();
        let mut commands = Vec::new();
        let pods = there.texts(PATCHED, "static-pods")?;
        if pods.is_empty() {
            self.not_asked(Section::Flags, "static pods", "they cannot be made there");
        }
        for (path, text) in &pods {
            for root in yaml::go_documents(Source { name: path, text }, &mut Problems::default()) {
                for container in pod::containers(&root, text) {
                    let component = components.iter().find(|(_, spec)| **spec == container.image);
                    let component = component.map(|(name, _)| format!("components/{name}"));
                    let (mut argv, flags) = (container.program, container.flags);
                    argv.extend(flags.into_iter().map(|flag| match flag.value {
                        Some(value) => format!("--{}={value}", flag.name),
                        None => format!("--{}", flag.name),
                    }));
                    let image =
                        graph.nodes().entries().find(|(_, node)| is_whole_image(node, component.as_deref()));
                    commands.push(Command { name: container.name, image: image.map(|(at, _)| at), argv });
                }
            }
        }
        for node in graph.nodes().iter().filter(|node| RUN.contains(&node.builder.0.as_str())) {
            let image = node.inputs.get("image").map(|edge| edge.node);
            for argv in steps(node) {
                let program = argv.first().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
                let name = format!("{program} ({})", node.name);
                // What is rendered with placeholders first is asked once.
                match commands.iter_mut().find(|known| known.image == image && known.argv == argv) {
                    Some(known) => known.name = name,
                    None => commands.push(Command { name, image, argv }),
                }
            }
        }
        Ok(commands)
    }

    /// Objects that only the operators' own renders make.
    fn renders(&mut self) -> Result<()> {
        let events = WithoutFailures(self.env.events);
        let env = Env { events: &events, ..self.env };
        let compared = match hand_over::compare_in(self.there.workspace, env, self.jobs) {
            Ok(compared) => compared,
            Err(error) if error.is_interrupt() => return Err(error),
            Err(error) => {
                let why = match &error {
                    Error::Workspace(WorkspaceError::Failed(failed)) => reason(failed),
                    error => chain(error),
                };
                self.not_asked(Section::Renders, "all operators", why);
                return Ok(());
            }
        };
        // Images that are not there were named with the flags.
        for (name, why) in compared.failed.iter().filter(|(name, _)| hand_over::is_render(name)) {
            self.not_asked(Section::Renders, name, why.as_str());
        }
        let missing = compared.missing.iter().filter(|one| one.reason.is_none());
        let items = missing.map(|one| format!("{} ({})", one.object, one.render)).collect();
        let message = "objects that operators' renders make, and neither we nor the payload";
        let finding = Finding::new(Level::Look, Section::Renders, "object-only-in-render", message, items);
        self.findings
            .extend(finding.advice("`tinderbox diff hand-over render` compares them in detail").if_any());
        Ok(())
    }
}

/// Whether a derivation is the whole image of a component, or without one of the release.
fn is_whole_image(node: &GraphNode, component: Option<&str>) -> bool {
    let reference = node.inputs.get("reference").and_then(|edge| edge.path.as_deref());
    let whole = Value::List(vec![Value::from("/")]);
    node.builder.0 == "image" && node.params.get("paths") == Some(&whole) && reference == component
}

/// The command lines of a `run` recipe.
fn steps(node: &GraphNode) -> Vec<Vec<String>> {
    let Some(Value::List(steps)) = node.params.get("steps") else { return Vec::new() };
    let run = |step: &Value| match step {
        Value::Map(step) => match step.get("run") {
            Some(Value::List(words)) => {
                Some(words.iter().filter_map(|word| Some(word.as_text()?.to_owned())).collect())
            }
            _ => None,
        },
        _ => None,
    };
    steps.iter().filter_map(run).collect()
}

/// Asks one program in the sandbox; an error says why it cannot be asked.
fn ask(env: Env<'_>, images: &Reading<'_>, command: &Command) -> std::result::Result<Asked, String> {
    let node = command.image.map(|at| images.workspace.graph.nodes()[at].name.as_str());
    let node = node.ok_or("no recipe has its image")?;
    let Some(image) = images.done.get(node) else {
        return Err(images.failed.get(node).cloned().unwrap_or_else(|| "its image was not fetched".into()));
    };
    let program = command.argv.first().ok_or("it names no program")?;
    let path = match program.starts_with('/') {
        true => program.clone(),
        false => {
            let in_image =
                |directory: &&&str| image.listing.get(&format!("{}/{program}", &directory[1..])).is_some();
            let directory =
                PATH.iter().find(in_image).ok_or(format!("its image has no program `{program}`"))?;
            format!("{directory}/{program}")
        }
    };
    let argv: Vec<String> = std::iter::once(path).chain(command.argv.iter().skip(1).cloned()).collect();
    flags::ask(&argv, &mut |argv| {
        let scratch = images.session().stage(false).map_err(|error| chain(&error))?;
        let answer = run(env, images.workspace, image, argv, &scratch);
        images.session().abandon(scratch);
        answer
    })
}

fn run(
    env: Env<'_>,
    workspace: &Workspace,
    image: &Object,
    argv: &[String],
    scratch: &TreeWriter<'_>,
) -> std::result::Result<Answer, String> {
    let scratch = scratch.scratch("program").map_err(|error| chain(&error))?;
    let output = scratch.path().join("out");
    fs::create_dir(&output, 0o700).map_err(|error| chain(&error))?;
    let program = Program {
        root: &image.path,
        argv,
        environment: &BTreeMap::new(),
        directory: "/",
        inputs: &[],
        output: &output,
        scratch: scratch.path(),
        addresses: &[],
        registry: None,
        limits: Limits { time: PATIENCE, ..Limits::default() },
    };
    let ran = workspace.sandbox().run(&program, env.cancel).map_err(|error| chain(&error))?;
    match ran.ended {
        Ended::Exited(code) => Ok(Answer { success: code == 0, output: ran.log.text() }),
        Ended::TimeLimit(_) => Err(format!("it did not answer within {} seconds", PATIENCE.as_secs())),
        ended => Err(format!("it ended unexpectedly: {ended:?}")),
    }
}
