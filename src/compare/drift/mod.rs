//! Compares a live cluster with the closure that made it, by meaning. Pure: what the API said comes as data.
//!
//! | compared | with |
//! |---|---|
//! | every object of `manifests/` and `crds/`: the fields that we set | the live object, reduced to them (`projection`) |
//! | a node: its config, state and role | what the machine-config daemon wrote on its Node |
//! | the rendered config of each pool, file by file | the MachineConfig that the pool's nodes report |
//! | the release of the closure | the cluster's version history |
//! | the authorities that nodes trust | the certificate that the API presents; every handed-over certificate for its end |
//!
//! A difference that somebody of the cluster is supposed to make (`drift.toml`, `replaced`) is expected, with its reason.
//! What the API did not let us read is listed as not compared, never as equal.

mod projection;
mod replaced;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::base::pki::Certificate;
use crate::base::redact::patterns_and_whole;
use crate::base::secret::Secret;
use crate::base::time::rfc3339;
use crate::compare::delta::{
    self, Change, ChangeKind, DeltaContext, Edit, File, PlaceStep, ShownValue, StepKind,
};
use crate::compare::diff::{self, Diff, KnownSecrets, Side};
use crate::compare::report::diff_schema;
use crate::openshift::knowledge::{DriftKnowledge, ExpectedEdit, HandOver, HandedOver, LiveChange, Release};
use replaced::{Authorities, Replaced};

/// Identifies the format of the JSON document.
const SHAPE: &str = "tinderbox-drift/1";

/// How a live cluster differs from the closure that made it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Drift {
    /// `tinderbox-drift/1`.
    shape: &'static str,
    /// Where the cluster's API is.
    pub server: String,
    /// Number of objects that were compared.
    pub objects: usize,
    /// Number of nodes that were compared.
    pub nodes: usize,
    /// The differences, as the document of `diff`: the closure is the old side, the cluster the new one.
    #[schemars(schema_with = "diff_schema")]
    pub diff: Diff,
    /// Differences that somebody of the cluster is supposed to make.
    pub expected: Vec<ExpectedDifference>,
    /// What the API did not let us read.
    pub not_compared: Vec<NotCompared>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub(crate) struct ExpectedDifference {
    pub object: String,
    /// Fields of the object that differ; empty if it is the whole object.
    pub fields: Vec<String>,
    /// Who changes it, and why.
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub(crate) struct NotCompared {
    /// A kind with its group.
    pub kind: String,
    /// Names with their namespaces.
    pub names: Vec<String>,
    pub why: String,
}

/// Which object: what a path in the API is made from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectRef {
    /// `config.openshift.io/v1`.
    pub api_version: String,
    pub kind: String,
    /// Empty if it has none.
    pub namespace: String,
    pub name: String,
}

impl ObjectRef {
    /// None for a document that is not an object.
    pub(crate) fn of(object: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Some(Self {
            api_version: text(&object["apiVersion"])?,
            kind: text(&object["kind"])?,
            namespace: text(&object["metadata"]["namespace"]).unwrap_or_default(),
            name: text(&object["metadata"]["name"])?,
        })
    }

    /// `DNS.config.openshift.io`.
    fn full_kind(&self) -> String {
        match self.api_version.split_once('/') {
            Some((group, _)) => format!("{}.{group}", self.kind),
            None => self.kind.clone(),
        }
    }

    fn full_name(&self) -> String {
        match self.namespace.as_str() {
            "" => self.name.clone(),
            namespace => format!("{namespace}/{}", self.name),
        }
    }
}

/// What the API said of something.
#[derive(Debug, Clone)]
pub(crate) enum Answer<T = Value> {
    Found(T),
    Missing,
    /// Why it could not be read.
    Denied(String),
}

/// The closure: what there should be.
#[derive(Debug, Default)]
pub(crate) struct Closure {
    pub side: Side,
    /// Objects with their files in the closure.
    pub objects: Vec<(String, ObjectRef, Value)>,
    /// Rendered configs by pool.
    pub pools: BTreeMap<String, RenderedConfig>,
    pub nodes: Vec<ClosureNode>,
    /// Version and digest of the release.
    pub release: Option<(String, String)>,
    /// The authorities of its PKI.
    pub authorities: Vec<Certificate>,
    /// The authorities with which a node that joins verifies the API.
    pub trusted: Vec<Certificate>,
}

#[derive(Debug, Clone)]
pub(crate) struct RenderedConfig {
    pub name: String,
    pub object: Value,
}

#[derive(Debug, Clone)]
pub(crate) struct ClosureNode {
    /// In cluster.yaml.
    pub node: String,
    /// In the API.
    pub name: String,
    /// Its role, and the name of its pool.
    pub role: String,
}

/// The cluster: what there is.
#[derive(Debug)]
pub(crate) struct LiveCluster {
    pub server: String,
    pub objects: BTreeMap<ObjectRef, Answer>,
    pub nodes: Answer<Vec<Value>>,
    /// Rendered configs that nodes report, by name.
    pub configs: BTreeMap<String, Answer>,
    pub version: Answer,
    /// The certificates that the API presents, its own first.
    pub presented: Vec<Certificate>,
}

/// What the tables know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DriftTables<'k> {
    pub drift: &'k DriftKnowledge,
    pub hand_over: &'k HandOver,
    pub release: Option<Release>,
}

/// Compares them. `now` decides which certificates have expired.
pub(crate) fn compare(
    closure: &Closure,
    live: &LiveCluster,
    tables: DriftTables<'_>,
    now: OffsetDateTime,
) -> diff::Result<Drift> {
    let mut comparison = Comparison::new(closure, live, tables, now)?;
    comparison.release();
    comparison.objects();
    comparison.nodes();
    comparison.configs();
    comparison.presented();
    Ok(comparison.finish())
}

struct Comparison<'a> {
    closure: &'a Closure,
    live: &'a LiveCluster,
    tables: DriftTables<'a>,
    now: OffsetDateTime,
    /// Whether the cluster has another release than the closure.
    upgraded: bool,
    authorities: Authorities,
    known: KnownSecrets,
    context: DeltaContext,
    objects: usize,
    nodes: usize,
    found: Vec<diff::Found>,
    same: BTreeSet<String>,
    expected: BTreeMap<(String, String), BTreeSet<String>>,
    not_compared: BTreeMap<(String, String), Vec<String>>,
}

impl<'a> Comparison<'a> {
    fn new(
        closure: &'a Closure,
        live: &'a LiveCluster,
        tables: DriftTables<'a>,
        now: OffsetDateTime,
    ) -> diff::Result<Self> {
        let history = history(&live.version);
        let upgraded = match (&closure.release, &history) {
            (Some((version, _)), Some(history)) => history["version"] != version.as_str(),
            _ => false,
        };
        Ok(Self {
            closure,
            live,
            tables,
            now,
            upgraded,
            authorities: authorities(closure, live, tables),
            known: KnownSecrets::of([&closure.side], live_secrets(live))?,
            context: DeltaContext { components: diff::components(&closure.side, &closure.side)?, limit: 0 },
            objects: 0,
            nodes: 0,
            found: Vec::new(),
            same: BTreeSet::new(),
            expected: BTreeMap::new(),
            not_compared: BTreeMap::new(),
        })
    }

    fn finish(self) -> Drift {
        let same =
            self.same.iter().filter(|name| !self.found.iter().any(|one| one.artifact == **name)).count();
        let expected = self.expected.into_iter().map(|((object, reason), fields)| ExpectedDifference {
            object,
            fields: fields.into_iter().filter(|field| !field.is_empty()).collect(),
            reason,
        });
        let not_compared = self.not_compared.into_iter();
        let not_compared = not_compared.map(|((kind, why), names)| NotCompared { kind, names, why });
        Drift {
            shape: SHAPE,
            server: self.live.server.clone(),
            objects: self.objects,
            nodes: self.nodes,
            diff: diff::assemble(&self.closure.side.title, &self.live.server, self.found, same),
            expected: expected.collect(),
            not_compared: not_compared.collect(),
        }
    }

    /// Sorts the changes of one thing into drift and what is expected.
    fn add(&mut self, artifact: &str, object: &str, changes: Vec<Change>, replaced: Option<&Replaced>) {
        let mut drift = Vec::new();
        for change in self.known.mask(changes) {
            let field = field(&change);
            let is_below = |one: &String| {
                field.strip_prefix(one.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let by_operator =
                replaced.filter(|one| one.fields.iter().any(is_below)).map(|one| one.why.clone());
            let asked = LiveChange { object, field: &field, edit: edit(&change), upgraded: self.upgraded };
            match by_operator.or_else(|| self.tables.drift.why(self.tables.release, asked)) {
                Some(reason) => {
                    self.expected.entry((object.to_owned(), reason)).or_default().insert(field);
                }
                None => drift.push(change),
            }
        }
        match drift.is_empty() {
            true => drop(self.same.insert(artifact.to_owned())),
            false => self.found.push(diff::Found { artifact: artifact.to_owned(), changes: drift }),
        }
    }

    fn refused(&mut self, kind: String, name: String, why: &str) {
        self.not_compared.entry((kind, why.to_owned())).or_default().push(name);
    }

    fn objects(&mut self) {
        let (closure, live) = (self.closure, self.live);
        for (file, at, ours) in &closure.objects {
            let object = format!("{} {}", at.full_kind(), at.full_name());
            match live.objects.get(at) {
                Some(Answer::Denied(why)) => self.refused(at.full_kind(), at.full_name(), why),
                Some(Answer::Found(found)) => {
                    self.objects += 1;
                    let (mine, theirs) = projection::comparable(ours, found);
                    let changes = self.delta(file, Some(&mine), Some(&theirs));
                    let row = handed_over(self.tables, at);
                    let (signers, sides) = (&self.tables.hand_over.signers, (&mine, &theirs));
                    let replaced = row.filter(|_| !changes.is_empty()).and_then(|row| {
                        replaced::explained(row, signers, sides, &self.authorities, self.now)
                    });
                    self.add(file, &object, changes, replaced.as_ref());
                    if row.is_some() {
                        self.expiry(file, at, found);
                    }
                }
                Some(Answer::Missing) | None => {
                    self.objects += 1;
                    let changes = self.delta(file, Some(ours), None);
                    let changes = changes.into_iter().map(|change| missing(change, at)).collect();
                    self.add(file, &object, changes, None);
                }
            }
        }
    }

    /// A certificate of an operator that has expired, whoever wrote it.
    fn expiry(&mut self, file: &str, at: &ObjectRef, live: &Value) {
        let Some(found) = replaced::certificate(live).filter(|found| found.not_after() <= self.now) else {
            return;
        };
        let step = |into, name: &str| PlaceStep { into, name: name.to_owned() };
        let change = Change {
            place: vec![
                step(StepKind::File, file),
                step(StepKind::Object, &format!("{} {}", at.kind, at.full_name())),
                step(StepKind::Certificate, &found.subject()),
                step(StepKind::Field, "expired"),
            ],
            kind: ChangeKind::Certificate,
            edit: Edit::Added { new: ShownValue::Text(rfc3339(found.not_after())) },
            tone: None,
            note: None,
        };
        self.add(file, "", vec![change], None);
    }

    /// Two documents of one file, as JSON.
    fn delta(&self, path: &str, ours: Option<&Value>, live: Option<&Value>) -> Vec<Change> {
        let text = |value: Option<&Value>| value.map(|value| value.to_string().into_bytes());
        let (ours, live) = (text(ours), text(live));
        let file = |content| File { path, content, secret: false, executable: false };
        delta::files(ours.as_deref().map(file), live.as_deref().map(file), &self.context)
    }

    fn release(&mut self) {
        let at = &self.tables.drift.history;
        let kind = format!("{}.{}", at.kind, at.group);
        let Some((version, digest)) = &self.closure.release else { return };
        let ours = json!({"version": version, "image": digest, "state": "Completed"});
        match &self.live.version {
            Answer::Denied(why) => self.refused(kind, at.name.clone(), &why.clone()),
            _ => {
                let live = history(&self.live.version).unwrap_or_else(|| json!({}));
                let changes = self.delta("release.json", Some(&ours), Some(&live));
                self.add("release", &format!("{kind} {}", at.name), changes, None);
            }
        }
    }

    fn nodes(&mut self) {
        let (closure, live) = (self.closure, self.live);
        let found = match &live.nodes {
            Answer::Denied(why) => {
                let names = closure.nodes.iter().map(|node| node.name.clone());
                names.for_each(|name| self.refused("Node".to_owned(), name, why));
                return;
            }
            Answer::Missing => &[][..],
            Answer::Found(found) => found,
        };
        for node in &closure.nodes {
            self.nodes += 1;
            let config = closure.pools.get(&node.role).map(|pool| pool.name.as_str()).unwrap_or_default();
            let ours = json!({"role": node.role, "ready": true, "schedulable": true, "state": self.tables.drift.daemon.done,
                "currentConfig": config, "desiredConfig": config});
            let is_it = |one: &&Value| one["metadata"]["name"] == node.name.as_str();
            let live = found.iter().find(is_it).map(|live| self.node(live, &node.role));
            let (artifact, object) = (format!("node/{}", node.node), format!("Node {}", node.name));
            let changes = self.delta(&format!("{}.json", node.name), Some(&ours), live.as_ref());
            self.add(&artifact, &object, changes, None);
        }
        let is_ours = |name: &str| closure.nodes.iter().any(|node| node.name == name);
        for stranger in found {
            let name = stranger["metadata"]["name"].as_str().unwrap_or_default();
            if !is_ours(name) {
                self.nodes += 1;
                let live = self.node(stranger, "");
                let changes = self.delta(&format!("{name}.json"), None, Some(&live));
                self.add(&format!("node/{name}"), &format!("Node {name}"), changes, None);
            }
        }
    }

    /// A live node, as its closure would describe it.
    fn node(&self, node: &Value, role: &str) -> Value {
        let daemon = &self.tables.drift.daemon;
        let annotation = |name: &str| node["metadata"]["annotations"][name].clone();
        let labels = node["metadata"]["labels"].as_object();
        let roles = labels.into_iter().flat_map(|labels| labels.keys());
        let roles: Vec<&str> = roles.filter_map(|label| label.strip_prefix(&daemon.role)).collect();
        let role = if roles.contains(&role) { role.to_owned() } else { roles.join(", ") };
        let conditions = node["status"]["conditions"].as_array();
        let is_ready = |one: &Value| one["type"] == "Ready" && one["status"] == "True";
        let mut found = json!({
            "role": role,
            "ready": conditions.is_some_and(|all| all.iter().any(is_ready)),
            "schedulable": node["spec"]["unschedulable"] != true,
            "state": annotation(&daemon.state),
            "currentConfig": annotation(&daemon.current),
            "desiredConfig": annotation(&daemon.desired),
        });
        if annotation(&daemon.state) != daemon.done.as_str()
            && let Some(reason) = annotation(&daemon.reason).as_str().filter(|reason| !reason.is_empty())
        {
            found["reason"] = json!(crate::base::redact::one_line(reason, 200));
        }
        found
    }

    /// The files of each pool, as the config that its nodes report has them.
    fn configs(&mut self) {
        let (closure, live) = (self.closure, self.live);
        let Answer::Found(nodes) = &live.nodes else { return };
        let daemon = &self.tables.drift.daemon;
        for (pool, ours) in &closure.pools {
            let of_pool = |node: &&ClosureNode| node.role == *pool;
            let names: BTreeSet<&str> = closure
                .nodes
                .iter()
                .filter(of_pool)
                .filter_map(|node| nodes.iter().find(|one| one["metadata"]["name"] == node.name.as_str()))
                .filter_map(|node| node["metadata"]["annotations"][&daemon.current].as_str())
                .collect();
            for name in names {
                let (kind, file) = (format!("{}.{}", daemon.kind, daemon.group), format!("mco/{pool}"));
                match live.configs.get(name) {
                    Some(Answer::Denied(why)) => self.refused(kind, name.to_owned(), why),
                    Some(Answer::Found(found)) => {
                        self.objects += 1;
                        // Which config it is, the nodes say: here it is about its content.
                        let content = |object: &Value| {
                            json!({"apiVersion": object["apiVersion"], "kind": object["kind"],
                            "metadata": {"name": pool}, "spec": object["spec"]})
                        };
                        let (mine, theirs) = projection::whole(&content(&ours.object), &content(found));
                        let changes = self.delta(&format!("{pool}.json"), Some(&mine), Some(&theirs));
                        self.add(&file, &format!("{kind} {name}"), changes, None);
                    }
                    _ => {
                        let changes = self.delta(
                            &format!("{pool}.json"),
                            Some(&json!({"exists": true})),
                            Some(&json!({"exists": false})),
                        );
                        self.add(&file, &format!("{kind} {name}"), changes, None);
                    }
                }
            }
        }
    }

    /// Whether a node that joins with the closure's Ignition trusts the API.
    fn presented(&mut self) {
        let Some(first) = self.live.presented.first() else { return };
        let chain = &self.live.presented;
        let trusted = &self.closure.trusted;
        let is_trusted = chain.iter().any(|one| {
            trusted.iter().any(|root| root.fingerprint() == one.fingerprint() || one.is_issued_by(root))
        });
        let issuer = if is_trusted { "an authority of the closure".to_owned() } else { first.issuer() };
        let ours = json!({"issuer": "an authority of the closure", "expired": false});
        let live = json!({"issuer": issuer, "expired": first.not_after() <= self.now});
        let changes = self.delta("api.json", Some(&ours), Some(&live));
        self.add("certificate/api", "", changes, None);
    }
}

/// A missing object, in one line instead of all that it said.
fn missing(change: Change, at: &ObjectRef) -> Change {
    let mut place: Vec<PlaceStep> =
        change.place.into_iter().filter(|step| step.into == StepKind::File).collect();
    place.push(PlaceStep { into: StepKind::Object, name: format!("{} {}", at.kind, at.full_name()) });
    let old = ShownValue::Text(format!("{} {}", at.full_kind(), at.full_name()));
    Change { place, kind: ChangeKind::Object, edit: Edit::Removed { old }, tone: None, note: None }
}

/// The path in an object, with dots.
fn field(change: &Change) -> String {
    let inside =
        change.place.iter().skip_while(|step| matches!(step.into, StepKind::File | StepKind::Object));
    inside.map(|step| step.name.as_str()).collect::<Vec<_>>().join(".")
}

fn edit(change: &Change) -> ExpectedEdit {
    match change.edit {
        Edit::Added { .. } => ExpectedEdit::Added,
        Edit::Removed { .. } => ExpectedEdit::Removed,
        _ => ExpectedEdit::Changed,
    }
}

/// The newest entry of a version history, as the closure would describe it.
fn history(version: &Answer) -> Option<Value> {
    let Answer::Found(version) = version else { return None };
    let last = version["status"]["history"].get(0)?;
    let image = last["image"].as_str().unwrap_or_default();
    let digest = image.split_once('@').map_or(image, |(_, digest)| digest);
    Some(json!({"version": last["version"], "image": digest, "state": last["state"]}))
}

fn handed_over<'k>(tables: DriftTables<'k>, at: &ObjectRef) -> Option<&'k HandedOver> {
    let is_it = |row: &&HandedOver| row.kind == at.kind && row.name == at.full_name();
    tables.hand_over.objects.select(tables.release).find(is_it)
}

/// The authorities that may be in a bundle.
fn authorities(closure: &Closure, live: &LiveCluster, tables: DriftTables<'_>) -> Authorities {
    let rows = tables.hand_over.signers(tables.release);
    let is_signer =
        |at: &ObjectRef| rows.iter().any(|(row, _)| row.kind == at.kind && row.name == at.full_name());
    let signers =
        live.objects.iter().filter(|(at, _)| is_signer(at)).filter_map(|(_, answer)| match answer {
            Answer::Found(found) => replaced::certificate(found),
            _ => None,
        });
    Authorities {
        ours: closure.authorities.clone(),
        signers: signers.collect(),
        names: rows.iter().map(|(row, _)| row.name.replacen('/', "_", 1)).collect(),
    }
}

/// What must not be shown, wherever it stands: the values of live Secrets.
fn live_secrets(live: &LiveCluster) -> Vec<(String, Vec<Secret>)> {
    use base64::Engine as _;
    let mut found = Vec::new();
    for (at, answer) in live.objects.iter().filter(|(at, _)| at.kind == "Secret") {
        let Answer::Found(secret) = answer else { continue };
        for (key, value) in secret["data"].as_object().into_iter().flatten() {
            let bytes = base64::engine::general_purpose::STANDARD.decode(value.as_str().unwrap_or_default());
            let bytes = zeroize::Zeroizing::new(bytes.unwrap_or_default());
            // Certificates and authorities are public.
            if !bytes.starts_with(b"-----BEGIN CERTIFICATE") && !key.ends_with(".pub") {
                found.push((at.full_name(), patterns_and_whole(key, &bytes)));
            }
        }
    }
    found
}
