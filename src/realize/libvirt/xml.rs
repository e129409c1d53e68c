//! libvirt's XML: parsed, and compared with ours.
//!
//! libvirt adds to what it is given (addresses, controllers, defaults), so a comparison asks only whether every element and
//! attribute of ours is in libvirt's. In lists that we own ([`OWNED`]), anything else is a difference too.

use std::collections::{BTreeMap, BTreeSet};

use super::LibvirtError;
use crate::realize::Result;

/// Elements that only we add: an extra one is a difference.
const OWNED: [&str; 13] = [
    "boot",
    "dhcp",
    "disk",
    "dns",
    "entry",
    "host",
    "hostname",
    "interface",
    "ip",
    "option",
    "range",
    "srv",
    "sysinfo",
];

/// An element, detached from its document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Element {
    pub(super) name: String,
    /// The namespace, as a URI; empty for libvirt's own.
    pub(super) namespace: String,
    pub(super) attributes: BTreeMap<String, String>,
    /// Its own text, trimmed.
    pub(super) text: String,
    pub(super) children: Vec<Element>,
}

/// A place where libvirt's XML differs from ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct XmlDifference {
    /// For example `devices/disk/target@bus`.
    pub(super) path: String,
    pub(super) desired: Option<String>,
    pub(super) found: Option<String>,
}

impl std::fmt::Display for XmlDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, desired, found } = self;
        match (found.as_deref(), desired.as_deref()) {
            (Some(found), Some(desired)) => write!(f, "{path}: `{found}` becomes `{desired}`"),
            (None, Some("")) => write!(f, "{path} is missing"),
            (None, Some(desired)) => write!(f, "{path}: `{desired}` is missing"),
            (Some(""), None) => write!(f, "{path} is unexpected"),
            (Some(found), None) => write!(f, "{path}: `{found}` is unexpected"),
            (None, None) => f.write_str(path),
        }
    }
}

impl Element {
    /// Parses a document; `what` names it in errors.
    pub(super) fn parse(what: &str, text: &str) -> Result<Self> {
        let wrong = |source| LibvirtError::Xml { what: what.to_owned(), source };
        Ok(element(roxmltree::Document::parse(text).map_err(wrong)?.root_element()))
    }

    /// The first element at a path of names.
    pub(super) fn at(&self, path: &str) -> Option<&Self> {
        path.split('/').try_fold(self, |at, name| at.children.iter().find(|child| child.name == name))
    }

    pub(super) fn all<'s>(&'s self, name: &str) -> impl Iterator<Item = &'s Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The text at a path; empty if there is no such element.
    pub(super) fn text_at(&self, path: &str) -> &str {
        self.at(path).map_or("", |found| &found.text)
    }

    /// An attribute; empty if it is absent.
    pub(super) fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.differences(other).is_empty() && other.differences(self).is_empty()
    }

    /// Serialized, without namespaces.
    pub(super) fn to_xml(&self) -> String {
        let escape = |text: &str| {
            text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
        };
        let attributes: String =
            self.attributes.iter().map(|(name, value)| format!(" {name}=\"{}\"", escape(value))).collect();
        let children: String = self.children.iter().map(Self::to_xml).collect();
        format!("<{0}{attributes}>{1}{children}</{0}>", self.name, escape(&self.text))
    }

    /// What this element has and the other lacks, or has differently.
    pub(super) fn differences(&self, found: &Self) -> Vec<XmlDifference> {
        let mut all = Vec::new();
        compare(self, found, "", &mut all);
        all
    }

    /// An element in a few words that distinguish it from its siblings.
    fn summary(&self) -> String {
        let own = self.attributes.iter().map(|(name, value)| format!("{name}={value}"));
        let text = (!self.text.is_empty()).then(|| self.text.clone());
        let below = self.children.iter().flat_map(|child| {
            let text = (!child.text.is_empty()).then(|| child.text.clone());
            child.attributes.values().cloned().chain(text).take(1)
        });
        own.chain(text).chain(below).take(4).collect::<Vec<_>>().join(" ")
    }
}

fn element(node: roxmltree::Node<'_, '_>) -> Element {
    let text: String =
        node.children().filter_map(|child| if child.is_text() { child.text() } else { None }).collect();
    Element {
        name: node.tag_name().name().to_owned(),
        namespace: node.tag_name().namespace().unwrap_or_default().to_owned(),
        attributes: node
            .attributes()
            .map(|attribute| (attribute.name().to_owned(), attribute.value().to_owned()))
            .collect(),
        text: text.trim().to_owned(),
        children: node.children().filter(roxmltree::Node::is_element).map(element).collect(),
    }
}

fn compare(desired: &Element, found: &Element, path: &str, all: &mut Vec<XmlDifference>) {
    for (name, value) in &desired.attributes {
        let there = found.attributes.get(name);
        if !there.is_some_and(|there| same(name, value, there)) {
            let path = format!("{path}@{name}").trim_start_matches('@').to_owned();
            all.push(XmlDifference { path, desired: Some(value.clone()), found: there.cloned() });
        }
    }
    if !desired.text.is_empty() && desired.text != found.text {
        let found = (!found.text.is_empty()).then(|| found.text.clone());
        all.push(XmlDifference { path: path.to_owned(), desired: Some(desired.text.clone()), found });
    }
    let mut taken = BTreeSet::new();
    for child in &desired.children {
        let path = below(path, &child.name);
        // Pair with the closest remaining sibling, so that one change is reported once.
        let candidates = found.children.iter().enumerate().filter(|(at, other)| {
            !taken.contains(at) && other.name == child.name && other.namespace == child.namespace
        });
        let nearest =
            candidates.map(|(at, other)| (child.differences(other).len(), at, other)).min_by_key(|one| one.0);
        match nearest {
            Some((0, at, _)) => drop(taken.insert(at)),
            Some((_, at, other)) if desired.all(&child.name).count() == 1 => {
                taken.insert(at);
                compare(child, other, &path, all);
            }
            _ => all.push(XmlDifference { path, desired: Some(child.summary()), found: None }),
        }
    }
    for (at, other) in found.children.iter().enumerate() {
        let owned = OWNED.contains(&other.name.as_str()) && !taken.contains(&at);
        if owned && !(other.attributes.is_empty() && other.children.is_empty() && other.text.is_empty()) {
            let path = below(path, &other.name);
            all.push(XmlDifference { path, desired: None, found: Some(other.summary()) });
        }
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}

/// Whether libvirt rewrites one value as the other: `q35` becomes its newest version.
fn same(attribute: &str, desired: &str, found: &str) -> bool {
    let newest = |prefix: &str| found.strip_prefix(prefix).is_some_and(|version| version.starts_with('-'));
    desired == found
        || attribute == "machine" && (newest(desired) || newest(&format!("pc-{desired}")))
        || attribute == "address" && desired.eq_ignore_ascii_case(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(desired: &str, found: &str) -> String {
        let [desired, found] = [desired, found].map(|text| Element::parse("a test", text).unwrap());
        desired.differences(&found).iter().map(|one| format!("{one}\n")).collect()
    }

    #[test]
    fn additions_of_libvirt_are_not_differences() {
        let ours = "<domain><os><type machine='q35'>hvm</type><boot dev='hd'/></os><!-- why --></domain>";
        let theirs = "<domain id='3'><os><type arch='x' machine='pc-q35-7.2'>hvm</type><boot dev='hd'/></os>\
                      <devices><controller type='usb'/></devices></domain>";
        assert_eq!(differences(ours, theirs), "");
    }

    #[test]
    fn differences_name_their_path() {
        let ours = "<network><name>a</name><dns><host ip='1'><hostname>x</hostname></host>\
                    <host ip='2'><hostname>y</hostname></host></dns><ip address='10.0.0.1' prefix='24'/></network>";
        let theirs = "<network><name>b</name><dns><host ip='2'><hostname>y</hostname></host>\
                      <host ip='3'><hostname>z</hostname></host></dns><ip address='10.0.0.1' prefix='16'/></network>";
        insta::assert_snapshot!(differences(ours, theirs), @r"
        name: `b` becomes `a`
        dns/host: `ip=1 x` is missing
        dns/host: `ip=3 z` is unexpected
        ip@prefix: `16` becomes `24`
        ");
    }

    /// A marker in another namespace belongs to somebody else.
    #[test]
    fn namespaces_count() {
        let ours = "<m><t:node xmlns:t='urn:ours' name='a'/></m>";
        assert_eq!(differences(ours, "<m><u:node xmlns:u='urn:ours' name='a'/></m>"), "");
        assert_eq!(
            differences(ours, "<m><t:node xmlns:t='urn:theirs' name='a'/></m>"),
            "node: `name=a` is missing\n"
        );
    }
}
