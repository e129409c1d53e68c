//! The demo release's machine-config-operator and machine-config-controller: one static program, two names.
//!
//! It keeps the contract of the real ones as they were observed: flags, inputs, what is fatal and with which exit code,
//! what goes silently wrong, names and places of the outputs. What it renders is small and says that it is a demo.
//! Standard library only; it runs in an empty root, without /etc, /proc and /dev. It sees no clock, network or randomness.
//!
//! ```text
//! operator.rs    step 1: CRs, pull secret and image references → ControllerConfig and pools
//! controller.rs  step 2: a directory of manifests and the templates → rendered MachineConfigs
//! template.rs    /etc/mcc/templates → MachineConfigs        generated.rs  kubelet, registries and runtime configs
//! merge.rs       many MachineConfigs → one                  manifests.rs  reading objects
//! read.rs flow.rs write.rs value.rs  YAML and JSON          md5.rs encode.rs
//! ```

mod controller;
mod encode;
mod flags;
mod flow;
mod generated;
mod manifests;
mod md5;
mod merge;
mod operator;
mod read;
mod template;
mod value;
mod write;

use std::process::ExitCode;

/// The OpenShift version that this build belongs to: the build script compiles one program for each.
const MINOR: &str = match option_env!("TINDERBOX_DEMO_VERSION") {
    Some(version) => version,
    None => "4.18",
};

/// Why a program ends early.
#[derive(Debug, PartialEq)]
enum Stop {
    /// The command line is wrong: exit 1.
    Usage(String),
    /// As the real programs' log library does it: exit 255.
    Fatal(String),
    /// As the real programs' runtime does it: exit 2.
    Panic(String),
}

/// The one line that every result has, whatever goes wrong.
type Done<T> = Result<T, Stop>;

fn main() -> ExitCode {
    let mut arguments = std::env::args();
    let name = arguments.next().unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or_default().to_owned();
    let arguments: Vec<String> = arguments.collect();
    let (stop, code) = match run(&name, &arguments) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Stop::Usage(problem)) => {
            (format!("Error: {problem}\n{}", log('F', "Error executing the command")), 1)
        }
        Err(Stop::Fatal(problem)) => (log('F', &problem), 255),
        Err(Stop::Panic(problem)) => (format!("panic: {problem}\n\ngoroutine 1 [running]:"), 2),
    };
    eprintln!("{stop}");
    ExitCode::from(code)
}

/// Runs the program of this name.
fn run(name: &str, arguments: &[String]) -> Done<()> {
    let step = match name {
        "machine-config-operator" => operator::bootstrap,
        "machine-config-controller" => controller::bootstrap,
        _ => return Err(Stop::Usage(format!("this program does not know itself as `{name}`"))),
    };
    match arguments.split_first() {
        Some((verb, rest)) if verb == "bootstrap" => step(rest),
        Some((verb, _)) if verb == "version" => {
            println!("{name} {}", version());
            Ok(())
        }
        Some((verb, _)) => {
            Err(Stop::Usage(format!("the demo knows only `bootstrap` and `version`, not `{verb}`")))
        }
        None => Err(Stop::Usage("say `bootstrap`".into())),
    }
}

/// What both programs sign their files with, and compare: they are one build.
fn version() -> String {
    format!("v{MINOR}.0-demo")
}

/// The Ignition spec that this version renders.
fn ignition_version() -> &'static str {
    if MINOR == "4.18" { "3.4.0" } else { "3.5.0" }
}

/// A line as the real programs log it, at a time that never changes.
fn log(level: char, message: &str) -> String {
    format!("{level}0101 00:00:00.000000       1 demo.go:1] {message}")
}

fn info(message: &str) {
    eprintln!("{}", log('I', message));
}

fn warning(message: &str) {
    eprintln!("{}", log('W', message));
}

/// How many documents the reader finds: for tests that read more than it was made for.
#[cfg(test)]
pub(super) fn documents(text: &str) -> Result<usize, String> {
    read::documents(text).map(|documents| documents.len())
}

/// The name that a rendered config must have: for tests that compare.
#[cfg(test)]
pub(super) fn rendered_name(pool: &str, config: &str) -> Option<String> {
    let config = read::documents(config).ok()?.into_iter().next()?;
    Some(controller::rendered_name(pool, config.get("spec")?))
}
