//! The demo release's programs: machine-config-operator, machine-config-controller and cluster-node-tuning-operator.
//!
//! They follow the observed contract of the real ones: flags, inputs, what is fatal and with which exit code, what goes
//! silently wrong, names and locations of the outputs. What they render is small and declares itself a demo. They see
//! no clock or randomness, of a network only the registry that `HOME` names, and nothing else of the environment but
//! `RELEASE_VERSION`.
//!
//! ```text
//! operator.rs    step 1: CRs, pull secret and image references → ControllerConfig and pools
//! controller.rs  step 2: a directory of manifests and the templates → rendered MachineConfigs
//! template.rs    /etc/mcc/templates → MachineConfigs        generated.rs  kubelet, registries and runtime configs
//! merge.rs       many MachineConfigs → one                  policies.rs   image policies → policy.json
//! manifests.rs   reading and writing objects                streams.rs    which OS image is of which stream
//! go_yaml.rs     YAML as the real programs write it         flags.rs      the command line
//! on_prem.rs     pods that hold the VIPs on platform baremetal
//! node_tuning.rs before both: PerformanceProfiles and workload partitioning → MachineConfigs and KubeletConfigs
//! ```
//!
//! # How they become programs of an image
//!
//! The image contains a one-line script, `#!/.tinderbox/interpreter machine-config@1 4.18`: its interpreter is
//! tinderbox, which the sandbox provides ([`crate::engine::sandbox`]). So the demo's digest does not depend on a
//! compiler, and the programs share this project's parsers. The price: their code is not in the image. What they
//! render is still part of ids, so changing it requires a new version of its [`Contract`], as with a builder; a test pins it.

mod controller;
mod flags;
mod generated;
mod go_yaml;
mod manifests;
mod merge;
mod node_tuning;
mod on_prem;
mod operator;
mod policies;
mod streams;
mod template;

use std::cell::RefCell;
use std::path::Path;

use crate::base::version::Version;
use crate::engine::sandbox::INTERPRETER;

/// What some programs render. Other bytes for the same inputs require another version.
#[derive(Clone, Copy)]
pub(super) enum Contract {
    MachineConfig,
    NodeTuning,
}

impl Contract {
    const ALL: [Self; 2] = [Self::MachineConfig, Self::NodeTuning];

    /// Its name and version.
    fn text(self) -> &'static str {
        match self {
            Self::MachineConfig => "machine-config@1",
            Self::NodeTuning => "node-tuning@1",
        }
    }
}

/// The file that represents a program in the image of a version.
pub(super) fn script(contract: Contract, version: &str) -> String {
    format!(
        "#!{INTERPRETER} {} {version}\n\
         # A program of tinderbox's demo release. Only tinderbox's own sandbox can run it: the program is tinderbox.\n",
        contract.text()
    )
}

/// How a program was started.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The text after the interpreter in the script's first line.
    pub script: &'a str,
    /// The path that the program was started by: it has two names.
    pub path: &'a str,
    pub arguments: &'a [String],
    /// The working directory.
    pub directory: &'a Path,
    /// From its environment.
    pub release_version: Option<&'a str>,
    /// From its environment too.
    pub home: Option<&'a str>,
}

/// The exit status and output of a program.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    pub code: u8,
    pub stdout: String,
    pub stderr: String,
}

#[derive(Debug, PartialEq)]
enum Stop {
    /// The user asked for help: exit 0.
    Help(String),
    /// Invalid command line: exit 1.
    Usage(String),
    /// Like the real programs' log library: exit 255.
    Fatal(String),
    /// Like a Go panic: exit 2.
    Panic(String),
}

type Done<T> = Result<T, Stop>;

/// What a program does with its arguments.
type Command = fn(&Build<'_>, &[String]) -> Done<()>;

/// The build that both programs belong to, and their log.
struct Build<'a> {
    /// For example `4.18`.
    minor: &'a str,
    directory: &'a Path,
    release_version: Option<&'a str>,
    home: &'a str,
    log: RefCell<String>,
}

/// Runs one of the programs.
pub(crate) fn run(call: &Call<'_>) -> Ended {
    let known =
        |contract: Contract| call.script.strip_prefix(contract.text()).map(|rest| (contract, rest.trim()));
    let Some((contract, minor)) = Contract::ALL.into_iter().find_map(known) else {
        let mine = Contract::ALL.map(|contract| format!("`{}`", contract.text())).join(" and ");
        let problem = format!(
            "this program is `{}`, but this tinderbox has {mine}: use the tinderbox that created the release\n",
            call.script
        );
        return Ended { code: 126, stderr: problem, ..Ended::default() };
    };
    let build = Build {
        minor,
        directory: call.directory,
        release_version: call.release_version,
        home: call.home.unwrap_or_default(),
        log: RefCell::default(),
    };
    let name = call.path.rsplit('/').next().unwrap_or_default();
    let done = build.start(contract, name, call.arguments);
    let mut stderr = build.log.into_inner();
    let (code, stdout) = match done {
        Ok(stdout) => (0, stdout),
        Err(stop) => {
            let (last, code) = match stop {
                Stop::Help(help) => (help, 0),
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
    /// Runs the program of this name; returns its stdout.
    fn start(&self, contract: Contract, name: &str, arguments: &[String]) -> Done<String> {
        let (wanted, step): (_, Command) = match (contract, name) {
            (Contract::MachineConfig, "machine-config-operator") => ("bootstrap", operator::bootstrap),
            (Contract::MachineConfig, "machine-config-controller") => ("bootstrap", controller::bootstrap),
            (Contract::NodeTuning, "cluster-node-tuning-operator") => ("render", node_tuning::render),
            _ => return Err(Stop::Usage(format!("this program does not know itself as `{name}`"))),
        };
        match arguments.split_first() {
            Some((verb, rest)) if verb == wanted => step(self, rest).map(|()| String::new()),
            Some((verb, _)) if verb == "version" => Ok(format!("{name} {}\n", self.version())),
            Some((verb, _)) => {
                Err(Stop::Usage(format!("the demo knows only `{wanted}` and `version`, not `{verb}`")))
            }
            None => Err(Stop::Usage(format!("say `{wanted}`"))),
        }
    }

    /// The version that both programs write into their files, and compare.
    fn version(&self) -> String {
        format!("v{}.0-demo", self.minor)
    }

    /// The Ignition spec that this version renders.
    fn ignition_version(&self) -> &'static str {
        if self.is_from("4.19") { "3.5.0" } else { "3.4.0" }
    }

    /// Whether it is of this minor version or a later one.
    fn is_from(&self, first: &str) -> bool {
        let parse = |text: &str| text.parse::<Version>().ok();
        parse(self.minor) >= parse(first)
    }

    fn info(&self, message: &str) {
        self.log.borrow_mut().push_str(&format!("{}\n", line('I', message)));
    }

    fn warning(&self, message: &str) {
        self.log.borrow_mut().push_str(&format!("{}\n", line('W', message)));
    }
}

/// A log line in the format of the real programs, at a fixed time.
fn line(level: char, message: &str) -> String {
    format!("{level}0101 00:00:00.000000       1 demo.go:1] {message}")
}

/// The expected name of a rendered config, for tests.
#[cfg(test)]
pub(super) fn rendered_name(pool: &str, config: &str) -> Option<String> {
    let config = manifests::documents("a config", config).ok()?.into_iter().next()?;
    Some(controller::rendered_name(pool, &config["spec"]))
}
