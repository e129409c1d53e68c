//! The demo release's machine-config-operator and machine-config-controller.
//!
//! They keep the contract of the real ones as they were observed: flags, inputs, what is fatal and with which exit code,
//! what goes silently wrong, names and places of the outputs. What they render is small and says that it is a demo. They
//! see no clock, network or randomness, and nothing of the environment but `RELEASE_VERSION`.
//!
//! ```text
//! operator.rs    step 1: CRs, pull secret and image references → ControllerConfig and pools
//! controller.rs  step 2: a directory of manifests and the templates → rendered MachineConfigs
//! template.rs    /etc/mcc/templates → MachineConfigs        generated.rs  kubelet, registries and runtime configs
//! merge.rs       many MachineConfigs → one                  manifests.rs  reading and writing objects
//! go_yaml.rs     YAML as the real programs write it         flags.rs      the command line
//! ```
//!
//! # How they are programs of an image
//!
//! In the image stands a script of one line, `#!/.tinderbox/interpreter machine-config@1 4.18`: its interpreter is
//! tinderbox, which the sandbox brings along ([`crate::engine::sandbox`]). So the demo's digest depends on no compiler, and
//! the programs share this project's readers. The price: their code is not in the image. What they render is part of ids
//! all the same, so a change of it is a change of [`CONTRACT`], as with a builder; a test pins it.

mod controller;
mod flags;
mod generated;
mod go_yaml;
mod manifests;
mod merge;
mod operator;
mod template;

use std::cell::RefCell;
use std::path::Path;

use crate::engine::sandbox::INTERPRETER;

/// What the programs render, by name and number. Other bytes for the same inputs mean another number.
const CONTRACT: &str = "machine-config@1";

/// The file that stands for both programs in the image of a version.
pub(super) fn script(version: &str) -> String {
    format!(
        "#!{INTERPRETER} {CONTRACT} {version}\n\
         # A program of tinderbox's demo release. Only tinderbox's own sandbox can run it: the program is tinderbox.\n"
    )
}

/// A program as it was started.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// What stands after the interpreter in the script's first line.
    pub script: &'a str,
    /// The path that the program was started by: it has two names.
    pub path: &'a str,
    pub arguments: &'a [String],
    /// Where it was started.
    pub directory: &'a Path,
    /// `RELEASE_VERSION` in its environment.
    pub release_version: Option<&'a str>,
}

/// How a program ended, and what it printed.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    pub code: u8,
    pub stdout: String,
    pub stderr: String,
}

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

type Done<T> = Result<T, Stop>;

/// What both programs know of the build that they belong to, and their log.
struct Build<'a> {
    /// `4.18`.
    minor: &'a str,
    directory: &'a Path,
    release_version: Option<&'a str>,
    log: RefCell<String>,
}

/// Runs one of the programs.
pub(crate) fn run(call: &Call<'_>) -> Ended {
    let Some(minor) = call.script.strip_prefix(CONTRACT).map(str::trim) else {
        let problem = format!(
            "this program is `{}`, and this tinderbox has `{CONTRACT}`: take the tinderbox that the release was made with\n",
            call.script
        );
        return Ended { code: 126, stderr: problem, ..Ended::default() };
    };
    let build = Build {
        minor,
        directory: call.directory,
        release_version: call.release_version,
        log: RefCell::default(),
    };
    let name = call.path.rsplit('/').next().unwrap_or_default();
    let done = build.start(name, call.arguments);
    let mut stderr = build.log.into_inner();
    let (code, stdout) = match done {
        Ok(stdout) => (0, stdout),
        Err(stop) => {
            let (last, code) = match stop {
                Stop::Usage(problem) => {
                    (format!("Error: {problem}\n{}", line('F', "Error executing the command")), 1)
                }
                Stop::Fatal(problem) => (line('F', &problem), 255),
                Stop::Panic(problem) => (format!("panic: {problem}\n\ngoroutine 1 [running]:"), 2),
            };
            stderr.push_str(&format!("{last}\n"));
            (code, String::new())
        }
    };
    Ended { code, stdout, stderr }
}

impl Build<'_> {
    /// Runs the program of this name; what it prints to stdout.
    fn start(&self, name: &str, arguments: &[String]) -> Done<String> {
        let step = match name {
            "machine-config-operator" => operator::bootstrap,
            "machine-config-controller" => controller::bootstrap,
            _ => return Err(Stop::Usage(format!("this program does not know itself as `{name}`"))),
        };
        match arguments.split_first() {
            Some((verb, rest)) if verb == "bootstrap" => step(self, rest).map(|()| String::new()),
            Some((verb, _)) if verb == "version" => Ok(format!("{name} {}\n", self.version())),
            Some((verb, _)) => {
                Err(Stop::Usage(format!("the demo knows only `bootstrap` and `version`, not `{verb}`")))
            }
            None => Err(Stop::Usage("say `bootstrap`".into())),
        }
    }

    /// What both programs sign their files with, and compare.
    fn version(&self) -> String {
        format!("v{}.0-demo", self.minor)
    }

    /// The Ignition spec that this version renders.
    fn ignition_version(&self) -> &'static str {
        if self.minor == "4.18" { "3.4.0" } else { "3.5.0" }
    }

    fn info(&self, message: &str) {
        self.log.borrow_mut().push_str(&format!("{}\n", line('I', message)));
    }

    fn warning(&self, message: &str) {
        self.log.borrow_mut().push_str(&format!("{}\n", line('W', message)));
    }
}

/// A line as the real programs log it, at a time that never changes.
fn line(level: char, message: &str) -> String {
    format!("{level}0101 00:00:00.000000       1 demo.go:1] {message}")
}

/// The name that a rendered config must have: for tests that compare.
#[cfg(test)]
pub(super) fn rendered_name(pool: &str, config: &str) -> Option<String> {
    let config = manifests::documents("a config", config).ok()?.into_iter().next()?;
    Some(controller::rendered_name(pool, &config["spec"]))
}
