//! Kubernetes' own types, from a table.
//!
//! The table is generated from k8s-openapi, not linked: that crate takes most of a minute to compile in every profile,
//! it drops a Kubernetes version as soon as upstream does (1.31 and 1.32, those of OpenShift 4.18 and 4.19, are gone
//! from its newest release), and its schemas are mostly prose. In the table, types are short, searchable lines for the
//! same engine. Types only grow within an API version, so those of 1.32 work for 1.31 too.
//!
//! OpenAPI omits what Kubernetes checks in code. The few of those rules that can stop a boot are here: `ENUMS` and
//! `KEYED`; rules about several fields are separate checks.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::format::Format;
use super::meta::Name;
use super::tree::{Json, Tree};
use super::{Additional, Id, Kind, ListType, Rules, Schema};

const TABLE: &str = include_str!("core.txt");

/// The type of every object's metadata.
const OBJECT_META: &str = "meta.v1.ObjectMeta";

/// Fields with few values: type, field, values.
const ENUMS: [(&str, &str, &[&str]); 15] = [
    ("core.v1.Container", "imagePullPolicy", &["Always", "IfNotPresent", "Never"]),
    ("core.v1.Container", "terminationMessagePolicy", &["FallbackToLogsOnError", "File"]),
    ("core.v1.ContainerPort", "protocol", &["SCTP", "TCP", "UDP"]),
    ("core.v1.HTTPGetAction", "scheme", &["HTTP", "HTTPS"]),
    ("core.v1.PodSpec", "dnsPolicy", &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"]),
    ("core.v1.PodSpec", "preemptionPolicy", &["Never", "PreemptLowerPriority"]),
    ("core.v1.PodSpec", "restartPolicy", &["Always", "Never", "OnFailure"]),
    ("core.v1.ServicePort", "protocol", &["SCTP", "TCP", "UDP"]),
    ("core.v1.ServiceSpec", "sessionAffinity", &["ClientIP", "None"]),
    ("core.v1.ServiceSpec", "type", &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]),
    ("core.v1.Taint", "effect", &["NoExecute", "NoSchedule", "PreferNoSchedule"]),
    ("core.v1.Toleration", "operator", &["Equal", "Exists"]),
    ("rbac.v1.RoleRef", "kind", &["ClusterRole", "Role"]),
    ("rbac.v1.RoleRef", "apiGroup", &["rbac.authorization.k8s.io"]),
    ("rbac.v1.Subject", "kind", &["Group", "ServiceAccount", "User"]),
];

/// Lists whose elements have a key: type, field, key.
const KEYED: [(&str, &str, &str); 5] = [
    ("core.v1.Container", "volumeMounts", "mountPath"),
    ("core.v1.PodSpec", "containers", "name"),
    ("core.v1.PodSpec", "initContainers", "name"),
    ("core.v1.PodSpec", "volumes", "name"),
    ("apiextensions.v1.CustomResourceDefinitionSpec", "versions", "name"),
];

#[derive(Debug, Default)]
struct Table {
    /// The type of an apiVersion and kind.
    objects: BTreeMap<(&'static str, &'static str), &'static str>,
    /// The fields of a type: name, whether it is required, type.
    types: BTreeMap<&'static str, Vec<(&'static str, bool, &'static str)>>,
}

/// Parsed once, on first use.
fn table() -> &'static Table {
    static READ: OnceLock<Table> = OnceLock::new();
    READ.get_or_init(|| {
        let mut table = Table::default();
        let mut fields = &mut Vec::new();
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["=", version, kind, name] => {
                    table.objects.insert((version, kind), name);
                }
                [name] => fields = table.types.entry(name).or_default(),
                [field, kind] => {
                    let name = field.trim_end_matches('!');
                    fields.push((name, name.len() < field.len(), kind));
                }
                _ => {}
            }
        }
        table
    })
}

/// Every apiVersion and kind of Kubernetes itself.
pub(crate) fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    table().objects.keys().copied()
}

/// The schema of a kind of Kubernetes itself.
pub(crate) fn schema(version: &str, kind: &str) -> Option<Schema> {
    let found = table().objects.iter().find(|((one, other), _)| *one == version && *other == kind);
    found.map(|(_, name)| compile(name))
}

/// The schema of `metadata`.
pub(super) fn object_meta() -> &'static Schema {
    static COMPILED: OnceLock<Schema> = OnceLock::new();
    COMPILED.get_or_init(|| compile(OBJECT_META))
}

/// The name format of a kind.
pub(crate) fn name_of(version: &str, kind: &str) -> Name {
    match (version, kind) {
        ("rbac.authorization.k8s.io/v1", _) | ("apiregistration.k8s.io/v1", _) => Name::Segment,
        ("v1", "Namespace") => Name::Label,
        ("v1", "Service") => Name::Label1035,
        _ => Name::Subdomain,
    }
}

fn compile(name: &'static str) -> Schema {
    let mut compiler = Compiler { rules: Vec::new(), known: BTreeMap::new() };
    compiler.object(name);
    Schema { rules: compiler.rules, custom: false }
}

struct Compiler {
    rules: Vec<Rules>,
    /// Types that already have an id: they may be recursive.
    known: BTreeMap<&'static str, Id>,
}

impl Compiler {
    fn object(&mut self, name: &'static str) -> Id {
        if let Some(id) = self.known.get(name) {
            return *id;
        }
        let id = self.push(Rules::default());
        self.known.insert(name, id);
        let mut rules = Rules { kind: Some(Kind::Object), ..Rules::default() };
        for (field, required, kind) in table().types.get(name).map(Vec::as_slice).unwrap_or_default() {
            let below = self.kind(kind);
            self.refine(below, name, field);
            rules.properties.insert((*field).to_owned(), below);
            if *required {
                rules.required.push((*field).to_owned());
            }
        }
        self.rules[id] = rules;
        id
    }

    fn kind(&mut self, kind: &'static str) -> Id {
        let plain = |kind| Rules { kind: Some(kind), ..Rules::default() };
        let formatted = |kind, format| Rules { kind: Some(kind), format: Some(format), ..Rules::default() };
        if let Some(of) = kind.strip_prefix("[]") {
            let items = Some(self.kind(of));
            return self.push(Rules { items, ..plain(Kind::Array) });
        }
        if let Some(of) = kind.strip_prefix("{}") {
            let additional = Additional::Each(self.kind(of));
            return self.push(Rules { additional, ..plain(Kind::Object) });
        }
        let rules = match kind {
            "string" => plain(Kind::Text),
            "bool" => plain(Kind::Boolean),
            "number" => plain(Kind::Number),
            "quantity" => plain(Kind::Quantity),
            "int-or-string" => plain(Kind::IntOrString),
            "int32" => formatted(Kind::Integer, Format::Int32),
            "int64" => formatted(Kind::Integer, Format::Int64),
            "time" => formatted(Kind::Text, Format::DateTime),
            "bytes" => formatted(Kind::Text, Format::Bytes),
            "any" => Rules { keeps_unknown: true, nullable: true, ..Rules::default() },
            name => return self.object(name),
        };
        self.push(rules)
    }

    /// Adds what OpenAPI omits for a field; its rules are not shared, since only named types are.
    fn refine(&mut self, id: Id, name: &str, field: &str) {
        if let Some((.., values)) = ENUMS.iter().find(|(one, other, _)| *one == name && *other == field) {
            let text =
                |value: &&str| Tree { line: 0, json: Json::Text((*value).to_owned()), raw: String::new() };
            self.rules[id].allowed = values.iter().map(text).collect();
        }
        if let Some((.., key)) = KEYED.iter().find(|(one, other, _)| *one == name && *other == field) {
            self.rules[id].list = ListType::Map(vec![(*key).to_owned()]);
        }
    }

    fn push(&mut self, rules: Rules) -> Id {
        self.rules.push(rules);
        self.rules.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_is_named_is_there() {
        let table = table();
        assert!(table.objects.len() > 40 && table.types.len() > 300, "{}", table.types.len());
        for (at, name) in &table.objects {
            assert!(table.types.contains_key(name), "{at:?}");
        }
        for (name, fields) in &table.types {
            for (field, _, kind) in fields {
                let base = kind.trim_start_matches(['[', ']', '{', '}']);
                assert!(!base.contains('.') || table.types.contains_key(base), "{name}.{field}: {kind}");
            }
        }
        for (name, field) in ENUMS
            .iter()
            .map(|(name, field, _)| (name, field))
            .chain(KEYED.iter().map(|(name, field, _)| (name, field)))
        {
            assert!(table.types[name].iter().any(|(one, ..)| one == field), "{name}.{field}");
        }
        kinds().for_each(|(version, kind)| assert!(schema(version, kind).is_some()));
    }
}
