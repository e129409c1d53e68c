//! `realize approve`: needs the closure, built if necessary, and the API of its cluster, but not libvirt.

use std::process::ExitCode;
use std::time::Duration;

use time::OffsetDateTime;

use super::{kubelet_state, request_state};
use crate::base::fs;
use crate::base::hint::{Hint as _, near};
use crate::cli::arguments::{Jobs, parse_age};
use crate::cli::document::{Document, Documented};
use crate::cli::error::explain;
use crate::cli::output::{Colour, line, stdout_paint, table};
use crate::cli::{Error, Printer, Result, build};
use crate::openshift::workspace::{Env, Missing, Workspace};
use crate::realize::RealizeError;
use crate::realize::api::{Client, Endpoint};
use crate::realize::approve::{ApprovalReport, Approver, Choice, NodeIdentity, SHOWN};

/// Approve the nodes' requests for certificates, and nobody else's
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox realize approve                       once
  tinderbox realize approve --watch               until every master and worker has joined
  tinderbox realize approve --watch --timeout 2h --json
  tinderbox realize approve --server localhost:6443
  tinderbox realize approve worker-0 --key 5f1d0c2e9ab34477     this one, although another key asks for worker-0 too

A node asks twice: for a client certificate, as the user of the bootstrap kubeconfig in its Ignition, and once it has joined \
for a serving certificate, as itself. Only that is approved, with exactly the subject, names, addresses and usages that \
such a node has. Everything else is reported and left alone: neither approved nor denied. libvirt is not needed.
If two keys ask for one node, or one asks after another got the certificate, `--key` says which is the node's: the beginning of the \
SHA-256 of its public key, as it is shown. A kubelet that restarts asks with a new key; requests that it has given up do not count.
Exit codes: 0 done, 1 the API cannot be used, or with `--watch`: nodes are still missing when the time is up.")]
pub(crate) struct Args {
    /// The node whose key `--key` names: only its client certificate is approved
    #[arg(value_name = "NODE", requires = "key")]
    node: Option<String>,
    /// What the SHA-256 of the node's public key begins with, at least 16 hexadecimal digits
    #[arg(long, value_name = "FINGERPRINT", value_parser = fingerprint, requires = "node", conflicts_with = "watch")]
    key: Option<String>,
    /// Continue until every master and worker has its certificates and is in the API
    #[arg(long)]
    watch: bool,
    /// How long to watch: 90s, 60m, 2h
    #[arg(long, value_name = "TIME", default_value = "60m", value_parser = parse_age, requires = "watch")]
    timeout: Duration,
    /// Where the API is, if not at `vips.api` of cluster.yaml; its certificate must still be for `api.<domain>`
    #[arg(long, value_name = "HOST:PORT")]
    server: Option<Endpoint>,
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<ApprovalReport>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let report = approve(env, &self)?;
        printer.answer(&report, || show(&report));
        if self.watch && !report.complete {
            let error = RealizeError::Absent { missing: report.missing(), seconds: self.timeout.as_secs() };
            explain(&error, error.hint());
            return Ok(ExitCode::FAILURE);
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn show(report: &ApprovalReport) {
    for one in &report.approved {
        let word = stdout_paint("approved", Colour::Green);
        line(format!("{word}  {}  {} certificate of {}", one.request, one.certificate.as_str(), one.node));
    }
    for one in &report.left {
        line(format!("{}  {}  {}", stdout_paint("left    ", Colour::Yellow), one.request, one.reason));
        one.hint.iter().for_each(|hint| line(format!("          {hint}")));
    }
    let rows = report.nodes.iter().map(|node| {
        let cells = [
            &node.node,
            kubelet_state(node),
            request_state(node.client),
            request_state(node.serving),
            &node.name,
        ];
        cells.map(str::to_owned).to_vec()
    });
    table(&["NODE", "IN THE API", "CLIENT", "SERVING", "NAME"], &rows.collect::<Vec<_>>());
}

/// Approves certificate requests of our own nodes only.
fn approve(env: Env<'_>, asked: &Args) -> Result<ApprovalReport> {
    let workspace = Workspace::load(env, Missing::Make)?;
    let report = build::build_or_fail(env, vec!["cluster".to_owned()], asked.jobs.count())?;
    let closure = report.targets.first().map(|target| target.path.clone());
    let closure = closure.ok_or(Error::NotBuilt { target: "cluster".into() })?;
    let nodes = NodeIdentity::read(&closure, &workspace.cluster)?;
    let kubeconfig = fs::read_text(&closure.join("auth/kubeconfig"))?;
    let vip = workspace.cluster.api_vips.first().map(|vip| Endpoint::of(*vip));
    let at = asked.server.clone().or(vip).ok_or(Error::usage(
        "cluster.yaml has no `vips.api`",
        "`--server HOST:PORT` says where the API is",
    ))?;
    let client = Client::new(&kubeconfig, &at, env.cancel).map_err(RealizeError::from)?;
    let choice = asked.node.clone().zip(asked.key.clone()).map(|(node, key)| Choice { node, key });
    if let Some(choice) = &choice {
        known(&nodes, &choice.node)?;
    }
    let approver =
        Approver { client: &client, nodes: &nodes, events: env.events, now, choice: choice.as_ref() };
    let done = match asked.watch {
        true => approver.watch(asked.timeout),
        false => approver.once(),
    };
    let report = done.map_err(RealizeError::from)?;
    match choice.filter(|_| report.approved.is_empty()) {
        Some(Choice { node, key }) => Err(RealizeError::NoSuchKey { node, key }.into()),
        None => Ok(report),
    }
}

/// Whether this is a master or worker.
fn known(nodes: &[NodeIdentity], name: &str) -> Result<()> {
    let joining = nodes.iter().filter(|node| node.bootstrapper.is_some());
    let names: Vec<&str> = joining.map(|node| node.node.as_str()).collect();
    match names.contains(&name) {
        true => Ok(()),
        false => Err(Error::Usage {
            message: format!("`{name}` is not a master or worker of cluster.yaml"),
            advice: near(name, names).map(|near| format!("did you mean `{near}`?")),
        }),
    }
}

/// The beginning of a fingerprint, in lower case and without colons.
fn fingerprint(text: &str) -> std::result::Result<String, String> {
    let digits: String = text.chars().filter(|c| *c != ':').flat_map(char::to_lowercase).collect();
    match digits.len() >= SHOWN && digits.len() <= 64 && digits.bytes().all(|c| c.is_ascii_hexdigit()) {
        true => Ok(digits),
        false => Err(format!("it has {SHOWN} to 64 hexadecimal digits")),
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a node has been there is counted from now")]
pub(in crate::cli) fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}
