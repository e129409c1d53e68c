//! Arguments of all verbs.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

/// A Nix-style, content-addressed build system for OpenShift bootstrap artifacts.
///
/// Every artifact of a cluster is a pure derivation of install-config.yaml, cluster.yaml, cluster.lock and cluster.seed.
#[derive(Debug, Parser)]
#[command(
    name = "tinderbox",
    version,
    propagate_version = true,
    max_term_width = 110,
    after_help = "\
Examples:
  tinderbox init mycluster && cd mycluster     a commented cluster directory
  tinderbox build                              everything; result/ is the artifact tree
  tinderbox build --dry-run                    what a config edit will rebuild
  tinderbox why infra/haproxy                  which field made it rebuild
  tinderbox show manifest/cluster-dns-02-config

Exit codes: 0 done, 1 failure, 2 usage."
)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) verb: Verb,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Global {
    /// The cluster directory
    #[arg(short = 'C', value_name = "DIR", global = true, default_value = ".", hide_default_value = true)]
    pub(super) directory: PathBuf,
    /// The store; default: the nearest `store/` above the cluster directory, else the user's data directory
    #[arg(long, value_name = "DIR", global = true, env = "TINDERBOX_STORE", hide_env = true)]
    pub(super) store: Option<PathBuf>,
    /// The file with your age identity, to open cluster.seed.age; default: what TINDERBOX_AGE_IDENTITY names
    #[arg(long, value_name = "FILE", global = true, env = "TINDERBOX_AGE_IDENTITY", hide_env = true)]
    pub(super) identity: Option<std::ffi::OsString>,
    /// Print one JSON document
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Print errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(super) quiet: bool,
    /// Say more: every derivation, cached ones too
    #[arg(short, long, global = true)]
    pub(super) verbose: bool,
    /// Write what happens as JSON lines
    #[arg(long, value_name = "FILE", global = true)]
    pub(super) events: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Write a commented, valid cluster directory; never overwrites
    #[command(after_help = "Examples:
  tinderbox init ocp4
  tinderbox init --from install-config.yaml    makes the cluster.yaml that fits it")]
    Init(Init),
    /// Pin what the outside world says into cluster.lock
    #[command(after_help = "Examples:
  tinderbox lock                               fills in what is missing
  tinderbox lock --update release=demo:4.19    the next build is of that release
  tinderbox lock --update epoch=2026-11-16T00:00:00Z")]
    Lock(Lock),
    /// Build targets and everything that they need
    #[command(after_help = "Examples:
  tinderbox build                              the target `cluster`; result/ points to it
  tinderbox build infra manifest/cluster-dns-02-config
  tinderbox build --dry-run --json
  tinderbox build --check                      build everything twice and compare")]
    Build(Build),
    /// Validate: read all files and make every check
    Check(Check),
    /// Say what made a derivation rebuild, or would
    #[command(after_help = "Example:
  tinderbox why infra/haproxy")]
    Why(Target),
    /// Say which derivations a config field reaches
    #[command(after_help = "Examples:
  tinderbox affects nodes.worker-0.ip
  tinderbox affects networking.serviceNetwork  fields of install-config.yaml work too")]
    Affects(Affects),
    /// Say where a file comes from: derivation, input, image, template line and config field
    #[command(after_help = "Examples:
  tinderbox blame ignition/master-0:/etc/hostname          a path on the node
  tinderbox blame cluster:manifests/cluster-dns-02-config.yml")]
    Blame(Blame),
    /// Print the graph of derivations, or with --trust who shows what to whom and who trusts it
    #[command(after_help = "Examples:
  tinderbox graph --format svg > graph.svg
  tinderbox graph infra --format dot | dot -Tpng > infra.png
  tinderbox graph --trust --format svg > trust.svg
  tinderbox graph --trust --json | jq '.presentations[] | select(.after.holds == false)'")]
    Graph(Graph),
    /// Show an artifact, or one file of it
    #[command(after_help = "Examples:
  tinderbox show infra/haproxy
  tinderbox show cluster:manifests/cluster-dns-02-config.yml
  tinderbox show ignition/master-0                         what the node gets
  tinderbox show ignition/master-0:/etc/hostname           one file of it
  tinderbox show static-pod/kube-apiserver --explain etcd-servers
  tinderbox show manifest/cluster-network-02-config --explain spec.serviceNetwork")]
    Show(Show),
    /// Say what differs between two builds, configs, releases, artifacts or files, by meaning, and why
    #[command(after_help = "Examples:
  tinderbox diff                               the last two generations
  tinderbox diff result cluster                what a build would change now
  tinderbox diff gen:3 gen:5 --only ignition/master-0
  tinderbox diff --release demo:4.18 demo:4.19 the upgrade, on this cluster
  tinderbox diff . ../other-cluster --format markdown
  tinderbox diff --format html > diff.html     one file, for a browser
  tinderbox diff ./old.ign ./new.ign
  tinderbox diff hand-over render              our objects beside those of the operators' own renders

Secrets are masked; that they changed is said.
Exit codes: 0 the same, 1 different, 2 trouble.")]
    Diff(super::diff::Diff),
    /// Write the last build as a page: graph with times, sizes, certificates, nodes, and where every object comes from
    #[command(after_help = "Examples:
  tinderbox report --open                      in your browser
  tinderbox report > build.html                one file, without any network
  tinderbox report --json                      the same as a document

Contents are not in it: names, ids, times and sizes only.")]
    Report(super::report::Asked),
    /// Copy an artifact tree to a plain directory; secrets get mode 0600
    Export(Export),
    /// List the builds of `cluster` that are kept
    Generations,
    /// Point result/ to an earlier generation
    Rollback(Rollback),
    /// List all certificates, the soonest to end first, and until when the artifacts can still boot
    #[command(after_help = "Examples:
  tinderbox expiry
  tinderbox expiry installer-tls --json")]
    Expiry(Expiry),
    /// Give certificates new dates, or single ones a new key; the next build makes them
    #[command(after_help = "Examples:
  tinderbox renew                              all dates from now on; every key stays
  tinderbox renew etcd-server                  one certificate
  tinderbox renew --rekey admin                a new key, and what is made from it
  tinderbox renew --dry-run                    what would be built again")]
    Renew(Renew),
    /// Encrypt the cluster's seed for named recipients, or decrypt it
    #[command(subcommand)]
    Seed(super::seed::Seed),
    /// Make the cluster's machines on libvirt
    #[command(subcommand)]
    Realize(super::realize::Realize),
    /// Look into a release, or copy it
    #[command(subcommand)]
    Release(Release),
    /// Look into the store, verify it, free space
    #[command(subcommand)]
    Store(Store),
    /// Print the JSON schema of cluster.yaml, for editors; or of a document that this program prints
    #[command(after_help = "Examples:
  tinderbox schema > cluster.schema.json       with the YAML language server:
  # yaml-language-server: $schema=cluster.schema.json    (first line of cluster.yaml)
  tinderbox schema diff                        what `diff --format json` prints")]
    Schema(Schema),
    /// Print shell completions
    #[command(after_help = "Example:
  tinderbox completions bash > ~/.local/share/bash-completion/completions/tinderbox")]
    Completions(Completions),
}

#[derive(Debug, ClapArgs)]
pub(super) struct Init {
    /// The directory to write; default: the cluster directory
    pub(super) dir: Option<PathBuf>,
    /// An existing install-config.yaml to make the cluster.yaml for
    #[arg(long, value_name = "FILE")]
    pub(super) from: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Lock {
    /// Change what is pinned: `epoch`, `epoch=TIME`, `release`, `release=REFERENCE` or `rhcos`
    #[arg(long, value_name = "FIELD[=VALUE]")]
    pub(super) update: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Build {
    /// Derivations or folders of them; default: cluster
    pub(super) targets: Vec<String>,
    /// Only say what would be built
    #[arg(long, conflicts_with = "check")]
    pub(super) dry_run: bool,
    /// Build everything a second time and compare byte by byte
    #[arg(long)]
    pub(super) check: bool,
    #[command(flatten)]
    pub(super) jobs: Jobs,
    /// Go on with what does not depend on a failure
    #[arg(short, long)]
    pub(super) keep_going: bool,
    /// Do not touch the `result` link
    #[arg(long)]
    pub(super) no_link: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Jobs {
    /// Derivations built at the same time; default: one per core
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) jobs: Option<u16>,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Check {
    /// List all checks, with what breaks at boot without them
    #[arg(long)]
    pub(super) list: bool,
    #[command(flatten)]
    pub(super) jobs: Jobs,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Target {
    /// A derivation
    pub(super) target: String,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Blame {
    /// `DERIVATION:PATH`; a path with a leading `/` is one on the node
    pub(super) target: String,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Affects {
    /// A config field: of the cluster model, of install-config.yaml or of cluster.yaml
    pub(super) field: String,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Graph {
    /// Only what these need; default: all
    pub(super) targets: Vec<String>,
    /// Who shows which certificate or token to whom, and what it is verified with, before and after the pivot; `ignition`
    /// must be built
    #[arg(long, conflicts_with = "targets")]
    pub(super) trust: bool,
    /// How to write it
    #[arg(long, value_enum, default_value_t = GraphFormat::Mermaid)]
    pub(super) format: GraphFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum GraphFormat {
    Mermaid,
    Dot,
    Json,
    Svg,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Show {
    /// A derivation, or `DERIVATION:PATH`
    pub(super) target: String,
    /// Say what a flag (`--etcd-servers`) or field (`spec.hostNetwork`) is for, what decides it, and who reads it
    #[arg(long, value_name = "FLAG|FIELD", allow_hyphen_values = true, conflicts_with = "reveal")]
    pub(super) explain: Option<String>,
    /// Show secrets; on a terminal only
    #[arg(long)]
    pub(super) reveal: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Export {
    /// A new or an empty directory
    pub(super) dir: PathBuf,
    /// What to export
    #[arg(default_value = "cluster")]
    pub(super) target: String,
    #[command(flatten)]
    pub(super) jobs: Jobs,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Expiry {
    /// Derivations or folders of them; default: cluster
    pub(super) targets: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Renew {
    /// Certificates by name; default: all
    #[arg(value_name = "NAME")]
    pub(super) names: Vec<String>,
    /// New keys too, for the named ones
    #[arg(long)]
    pub(super) rekey: bool,
    /// Only say what would be built again
    #[arg(long)]
    pub(super) dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Rollback {
    /// The generation; default: the one before the current
    pub(super) number: Option<u64>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Release {
    /// Say what a release is and what is in it
    #[command(after_help = "Examples:
  tinderbox release info
  tinderbox release info demo:4.19 --json")]
    Info {
        /// A release; default: the pinned one
        reference: Option<String>,
    },
    /// Copy a release to a registry or a layout; the copy builds with no other access
    #[command(
        allow_missing_positional = true,
        after_help = "Examples:
  tinderbox release mirror oci:mirror                     the pinned release, what a build needs of it
  tinderbox release mirror --all demo:4.19 registry.example.com:5000/ocp/release"
    )]
    Mirror {
        /// The release; default: the pinned one
        reference: Option<String>,
        /// Where to: `oci:DIR[:TAG]` or `registry/repository[:tag]`
        #[arg(required = true)]
        destination: String,
        /// All components, not only those that this cluster's build reads
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum Store {
    /// List all objects
    Ls,
    /// Say how much space the store takes
    Du,
    /// Print the path of an object
    Path {
        /// An id, or the beginning of one
        prefix: String,
    },
    /// Put a file or directory into the store
    Add {
        /// What to put
        path: PathBuf,
    },
    /// Hash everything again, and name every bad path
    Verify,
    /// Search everything that is not secret for secrets, and name every place
    #[command(after_help = "Examples:
  tinderbox store scan                     the store, cluster.lock, cluster.yaml, result/
  tinderbox store scan events.jsonl site/  and these

Searches for private keys, passwords, tokens, the pull secret and the seed: as they are, in base64 (also twice), hex,
URL encoding and JSON strings. What is compressed (image layers) is not opened. Values are never shown.
Exit codes: 0 clean, 1 something was found or could not be read.")]
    Scan(super::scan::Args),
    /// Remove what is bad, and build it again
    Repair(Jobs),
    /// Remove what no generation needs
    #[command(after_help = "Examples:
  tinderbox store gc --dry-run
  tinderbox store gc --keep-last 3
  tinderbox store gc --older-than 30d --max-size 10G")]
    Gc(Gc),
}

#[derive(Debug, ClapArgs)]
pub(super) struct Gc {
    /// Forget all but the newest N generations of each cluster; the current one always stays
    #[arg(long, value_name = "N")]
    pub(super) keep_last: Option<usize>,
    /// Forget generations older than this (`12h`, `30d`), and keep younger objects
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub(super) older_than: Option<Duration>,
    /// Remove the oldest unneeded objects, only until the store is at most this large (`500M`, `10G`)
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(super) max_size: Option<u64>,
    /// Only say what would be removed
    #[arg(long)]
    pub(super) dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Schema {
    /// Of what
    #[arg(value_enum, default_value_t = SchemaOf::Cluster)]
    pub(super) of: SchemaOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum SchemaOf {
    /// cluster.yaml
    Cluster,
    /// The document of `diff --format json`
    Diff,
    /// The document of `report --json`
    Report,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Completions {
    /// The shell
    pub(super) shell: clap_complete::Shell,
}

/// `90s`, `15m`, `12h`, `30d`, `2w`.
pub(super) fn parse_age(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_unit(text)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86400,
        "w" => 604_800,
        _ => return Err("write it as 90s, 15m, 12h, 30d or 2w".into()),
    };
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(|| "that is too long".into())
}

/// `4096`, `500M`, `10G`, with binary units.
fn parse_size(text: &str) -> Result<u64, String> {
    let (number, unit) = split_unit(text)?;
    let shift = match unit.trim_end_matches("iB").trim_end_matches('B') {
        "" => 0,
        "K" | "k" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err("write it as 4096, 500M or 10G".into()),
    };
    number.checked_mul(1 << shift).ok_or_else(|| "that is too large".into())
}

fn split_unit(text: &str) -> Result<(u64, &str), String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..end].parse().map_err(|_| "it must begin with a whole number".to_owned())?;
    Ok((number, &text[end..]))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn ages_and_sizes() {
        assert_eq!(parse_age("30d"), Ok(Duration::from_secs(30 * 86400)));
        assert!(
            parse_age("d").is_err()
                && parse_age("3y").is_err()
                && parse_age("99999999999999999999s").is_err()
        );
        assert_eq!(parse_size("10G"), Ok(10 << 30));
        assert_eq!(parse_size("1KiB"), Ok(1024));
        assert!(parse_size("10X").is_err() && parse_size("99999999999T").is_err());
    }
}
