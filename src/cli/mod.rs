//! The command line. One verb, one file: its arguments, its help, the call, and the result as text for people.
//!
//! Data goes to stdout, the rest to stderr; nothing outside this module prints or reads the environment. A verb is a
//! struct of arguments whose doc comment is its help, and a `run`. This file lists them.
//!
//! The other modules:
//!
//! | module | responsibility |
//! |---|---|
//! | `arguments` | arguments that several verbs take |
//! | `environment` | the environment variables that we read, and those that programs of the host see |
//! | `document` | what `--json` prints, and its schemas |
//! | `output`, `table`, `pager`, `progress`, `verdict` | results, what does not fit on the terminal, events, and how a build ends |
//! | `error` | errors of verbs, for people and as an exit code |
//! | `artifact`, `node_entries` | a built derivation, and a node's entries in it |
//! | `complete` | what shells complete |
//! | `unchanged` | what a build says if nothing changed |
//! | `adoption` | until when operators adopt the handed-over authorities |
//! | `fleet` | many clusters at once |
//! | `about` | what a file, object or artifact is for |
//! | `explain` | what determined a line of an artifact |

mod about;
mod adoption;
mod affects;
mod arguments;
mod artifact;
mod attest;
mod blame;
mod build;
mod cache;
mod challenge;
mod check;
mod complete;
mod completions;
mod diff;
mod dist;
mod document;
mod drift;
mod environment;
mod error;
mod expiry;
mod explain;
mod export;
mod fleet;
mod generations;
mod graph;
mod guide;
mod init;
mod interpreter;
mod key;
mod lock;
mod node_entries;
mod output;
mod pager;
mod partial_build;
mod passphrase;
mod progress;
mod pull;
mod push;
mod realize;
mod release;
mod renew;
mod report;
mod rollback;
mod schema;
mod seed;
mod show;
mod store;
mod table;
mod targets;
mod unchanged;
mod verdict;
mod why;
mod worker;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use clap::{CommandFactory as _, Parser};

use arguments::Global;
use error::{Error, Result};
use output::Printer;
use progress::Progress;

use crate::base::cancel::Cancel;
use crate::base::fs;
use crate::openshift::workspace::{Env, Missing, Network, StoreChoice};

/// Verbs, one line each; every one has its arguments and its `run` in a file of its own.
macro_rules! verbs {
    ($doc:literal; $($(#[$attribute:meta])* $verb:ident($arguments:ty),)*) => {
        #[doc = $doc]
        #[derive(Debug, clap::Subcommand)]
        pub(in crate::cli) enum Verb { $($(#[$attribute])* $verb($arguments),)* }

        impl Verb {
            pub(in crate::cli) fn run(
                self,
                env: $crate::openshift::workspace::Env<'_>,
                printer: $crate::cli::Printer<'_>,
            ) -> $crate::cli::Result<std::process::ExitCode> {
                match self { $(Self::$verb(verb) => verb.run(env, printer),)* }
            }
        }

        impl $crate::cli::document::Documents for Verb {
            fn documents(verb: &str, to: &mut Vec<$crate::cli::document::NamedDocument>) {
                $(<$arguments>::documents(&$crate::cli::document::below(verb, stringify!($verb)), to);)*
            }
        }
    };
}
use verbs;

/// The package's version, and in a build for release the commit that it is of.
const VERSION: &str = match option_env!("TINDERBOX_COMMIT") {
    Some(commit) => commit,
    None => env!("CARGO_PKG_VERSION"),
};

/// A Nix-style, content-addressed build system for OpenShift bootstrap artifacts.
///
/// Every artifact of a cluster is a pure derivation of install-config.yaml, cluster.yaml, cluster.lock and
/// cluster.seed.
#[derive(Debug, Parser)]
#[command(
    name = "tinderbox",
    version = VERSION,
    propagate_version = true,
    max_term_width = 110,
    after_help = "\
Examples:
  tinderbox init mycluster && cd mycluster   a commented cluster directory
  tinderbox build                            all artifacts, below result/
  tinderbox build --dry-run                  what an edit would rebuild
  tinderbox why infra/haproxy                which field made it rebuild
  tinderbox show manifest/cluster-dns-02-config

Exit codes: 0 done, 1 failure, 2 a wrong command line, 130 interrupted. A command line is wrong if it has an unknown \
verb or option, an impossible value, or the name of a target, file in one, node, field, object or generation that \
does not exist. `diff`, `fleet diff`, `drift` and `challenge`: 0 the same, 1 different, 2 trouble. `release try`: 0 the cluster can move, 1 it cannot, 2 trouble."
)]
struct Args {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    verb: Verb,
}

verbs! {
    "All verbs";
    Init(init::Args),
    Lock(lock::Args),
    Build(build::Args),
    Targets(targets::Args),
    Check(check::Args),
    Why(why::Args),
    Affects(affects::Args),
    Blame(blame::Args),
    Graph(graph::Args),
    Show(show::Args),
    Diff(diff::Args),
    Drift(drift::Args),
    Guide(guide::Args),
    Report(report::Args),
    Export(export::Args),
    Generations(generations::Args),
    Rollback(rollback::Args),
    Expiry(expiry::Args),
    Renew(renew::Args),
    #[command(subcommand)]
    Seed(seed::Verb),
    #[command(subcommand)]
    Realize(realize::Verb),
    #[command(subcommand)]
    Release(release::Verb),
    #[command(subcommand)]
    Store(store::Verb),
    Push(push::Args),
    Pull(pull::Args),
    Attest(attest::Args),
    Challenge(challenge::Args),
    #[command(subcommand)]
    Cache(cache::Verb),
    #[command(subcommand)]
    Key(key::Verb),
    Schema(schema::Args),
    #[command(subcommand)]
    Fleet(fleet::Verb),
    Completions(completions::Args),
    #[command(subcommand, hide = true)]
    Dist(dist::Verb),
    #[command(hide = true)]
    Worker(worker::Args),
}

/// How long a cancelled verb may take to end in order.
const CANCEL_GRACE: Duration = Duration::from_secs(10);

/// No core dumps: the memory contains the seed. One byte, because with zero a core handler is still started.
fn forbid_core_dumps() {
    let limit = rustix::process::Rlimit { current: Some(1), maximum: Some(1) };
    // Fails only where the limit is zero already.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, limit);
}

pub fn main() -> ExitCode {
    forbid_core_dumps();
    if let Some(code) = interpreter::run() {
        return code;
    }
    clap_complete::CompleteEnv::with_factory(Args::command).complete();
    let given = arguments::with_explained_flag(std::env::args_os(), Args::command);
    let args = match Args::try_parse_from(given) {
        Ok(args) => args,
        Err(error) => {
            return error::print_usage(&error, environment::wants_json(), Args::command());
        }
    };
    let cancel = Cancel::default();
    let interrupts = AtomicU32::new(0);
    let flag = cancel.clone();
    // Without a handler, Ctrl-C ends the process at once, which the store survives too.
    let _ = ctrlc::set_handler(move || {
        flag.set();
        if interrupts.fetch_add(1, Ordering::Relaxed) >= 1 {
            std::process::exit(130);
        }
        // Waits look at the flag. Work that does not, such as a slow disk, ends soon too.
        std::thread::spawn(|| {
            std::thread::sleep(CANCEL_GRACE);
            error::print_interrupted();
            std::process::exit(130);
        });
    });
    let json = args.global.json;
    // For these, 1 is an answer: different, or cannot go.
    let answers = matches!(
        args.verb,
        Verb::Diff(_)
            | Verb::Drift(_)
            | Verb::Challenge(_)
            | Verb::Fleet(fleet::Verb::Diff(_))
            | Verb::Release(release::Verb::Try(_))
    );
    match run(args, &cancel) {
        Ok(code) => code,
        Err(error) => {
            // Whatever broke off because the user cancelled, that is the reason.
            let error = if cancel.is_set() { error.interrupted() } else { error };
            let code = error::print(&error, json);
            if answers { ExitCode::from(2) } else { code }
        }
    }
}

fn run(Args { global, verb }: Args, cancel: &Cancel) -> Result<ExitCode> {
    let log = global.events.as_deref().map(fs::create_or_truncate).transpose()?;
    let progress = Progress::new(global.level(), log);
    let store =
        StoreChoice { named: global.store(), data: environment::data_directory(), cancel: cancel.clone() };
    let executable = environment::executable();
    let seed = global.seed()?;
    let config = environment::config_directory();
    let env = Env {
        directory: &global.directory,
        store: &store,
        events: &progress,
        cancel,
        proxy: &environment::proxy_settings(),
        programs: &environment::programs(),
        executable: executable.as_deref(),
        identity: global.identity()?,
        seed: seed.as_ref(),
        config: config.as_deref(),
        network: Network::All,
        site: None,
    };
    // An archive is not what is printed.
    let output = global.output.as_deref();
    let file = output
        .filter(|file| *file != Path::new("-") && !matches!(verb, Verb::Realize(realize::Verb::Gather(_))));
    if let Some(file) = file {
        spare_inputs(&global.directory, file)?;
        output::capture();
    }
    let printer = Printer { output, json: global.json, events: &progress };
    let done = match &global.site {
        Some(site) => run_on_site(env, site, verb, printer)?,
        None => verb.run(env, printer)?,
    };
    if let (Some(file), Some(bytes)) = (file, output::take_captured()) {
        fs::write_out(file, &bytes, 0o644)?;
        match global.json {
            true => output::json(&WrittenFile { path: file.to_owned() }),
            false => output::line(file.display()),
        }
    }
    match output::failure() {
        None => Ok(done),
        Some(error) => Err(fs::Error::new("write", Path::new("standard output"), error).into()),
    }
}

/// Runs a verb on one site of a fleet.
fn run_on_site(env: Env<'_>, site: &str, verb: Verb, printer: Printer<'_>) -> Result<ExitCode> {
    let missing = match &verb {
        Verb::Build(_) | Verb::Export(_) => Missing::Make,
        Verb::Fleet(_)
        | Verb::Init(_)
        | Verb::Lock(_)
        | Verb::Renew(_)
        | Verb::Seed(_)
        | Verb::Rollback(_) => {
            let message = "`--site` is for verbs that ask about a cluster, and for `build` and `export`";
            let advice =
                "`tinderbox fleet export SITE DIR` writes it as a directory, on which every verb works";
            return Err(Error::usage(message, advice));
        }
        _ => Missing::Imagine,
    };
    fleet::Opened::open(env, missing)?.within(env, site, |env| verb.run(env, printer))
}

/// Where `-o` put the result.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
struct WrittenFile {
    path: PathBuf,
}

/// `-o` never overwrites what the user or `lock` wrote.
fn spare_inputs(directory: &Path, file: &Path) -> Result<()> {
    use crate::openshift::workspace::{CLUSTER, INSTALL_CONFIG, LOCK, SEALED, SEED};
    for name in [INSTALL_CONFIG, CLUSTER, LOCK, SEED, SEALED] {
        let input = directory.join(name);
        let same = match (fs::optional(fs::canonical(&input))?, fs::optional(fs::canonical(file))?) {
            (Some(input), Some(file)) => input == file,
            _ => false,
        };
        if same {
            let message = format!("`{}` is an input of this cluster", file.display());
            return Err(Error::usage(message, "name another file with `-o`"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }
}
