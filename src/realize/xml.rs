//! libvirt's XML: read, and compared with ours.
//!
//! libvirt adds to what it is given (addresses, controllers, defaults), so ours is looked for in what it has: every element
//! and attribute of ours must be there. Where a list is ours alone ([`OWNED`]), nothing else may be in it.

use std::collections::{BTreeMap, BTreeSet};

use super::RealizeError;

/// Elements that only we add: one more of them is a difference.
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

/// An element without its place in a document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Element {
    pub(super) name: String,
    /// The namespace, as a URI; empty for libvirt's own.
    pub(super) namespace: String,
    pub(super) attributes: BTreeMap<String, String>,
    /// The text directly in it, trimmed.
    pub(super) text: String,
    pub(super) children: Vec<Element>,
}

/// Something of ours that is not as we want it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    /// Where: `devices/disk/target@bus`.
    pub(super) path: String,
    pub(super) wanted: Option<String>,
    pub(super) found: Option<String>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, wanted, found } = self;
        match (found.as_deref(), wanted.as_deref()) {
            (Some(found), Some(wanted)) => write!(f, "{path}: `{found}` becomes `{wanted}`"),
            (None, Some("")) => write!(f, "{path} is missing"),
            (None, Some(wanted)) => write!(f, "{path}: `{wanted}` is missing"),
            (Some(""), None) => write!(f, "{path} is too much"),
            (Some(found), None) => write!(f, "{path}: `{found}` is too much"),
            (None, None) => f.write_str(path),
        }
    }
}

impl Element {
    /// Reads a document; `what` is what it describes, for messages.
    pub(super) fn parse(what: &str, text: &str) -> Result<Self, RealizeError> {
        let wrong = |source| RealizeError::Xml { what: what.to_owned(), source };
        Ok(element(roxmltree::Document::parse(text).map_err(wrong)?.root_element()))
    }

    /// The element at a path of names; the first of several.
    pub(super) fn at(&self, path: &str) -> Option<&Self> {
        path.split('/').try_fold(self, |at, name| at.children.iter().find(|child| child.name == name))
    }

    /// All children of that name.
    pub(super) fn all<'s>(&'s self, name: &str) -> impl Iterator<Item = &'s Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The text at a path; empty if there is nothing.
    pub(super) fn text_at(&self, path: &str) -> &str {
        self.at(path).map_or("", |found| &found.text)
    }

    /// An attribute; empty if it is not there.
    pub(super) fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }

    /// Whether both say the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.differences(other).is_empty() && other.differences(self).is_empty()
    }

    /// Written out again, without namespaces.
    pub(super) fn to_xml(&self) -> String {
        let escape = |text: &str| {
            text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
        };
        let attributes: String =
            self.attributes.iter().map(|(name, value)| format!(" {name}=\"{}\"", escape(value))).collect();
        let children: String = self.children.iter().map(Self::to_xml).collect();
        format!("<{0}{attributes}>{1}{children}</{0}>", self.name, escape(&self.text))
    }

    /// What of this element is not in that one.
    pub(super) fn differences(&self, found: &Self) -> Vec<Difference> {
        let mut all = Vec::new();
        compare(self, found, "", &mut all);
        all
    }

    /// An element in a few words: what tells it from its neighbours.
    fn words(&self) -> String {
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

fn compare(wanted: &Element, found: &Element, path: &str, all: &mut Vec<Difference>) {
    for (name, value) in &wanted.attributes {
        let there = found.attributes.get(name);
        if !there.is_some_and(|there| same(name, value, there)) {
            let path = format!("{path}@{name}").trim_start_matches('@').to_owned();
            all.push(Difference { path, wanted: Some(value.clone()), found: there.cloned() });
        }
    }
    if !wanted.text.is_empty() && wanted.text != found.text {
        let found = (!found.text.is_empty()).then(|| found.text.clone());
        all.push(Difference { path: path.to_owned(), wanted: Some(wanted.text.clone()), found });
    }
    let mut taken = BTreeSet::new();
    for child in &wanted.children {
        let path = below(path, &child.name);
        // The nearest of those that are left; equal ones are taken first, so that one change is told as one.
        let candidates = found.children.iter().enumerate().filter(|(at, other)| {
            !taken.contains(at) && other.name == child.name && other.namespace == child.namespace
        });
        let nearest =
            candidates.map(|(at, other)| (child.differences(other).len(), at, other)).min_by_key(|one| one.0);
        match nearest {
            Some((0, at, _)) => drop(taken.insert(at)),
            Some((_, at, other)) if wanted.all(&child.name).count() == 1 => {
                taken.insert(at);
                compare(child, other, &path, all);
            }
            _ => all.push(Difference { path, wanted: Some(child.words()), found: None }),
        }
    }
    for (at, other) in found.children.iter().enumerate() {
        let owned = OWNED.contains(&other.name.as_str()) && !taken.contains(&at);
        if owned && !(other.attributes.is_empty() && other.children.is_empty() && other.text.is_empty()) {
            let path = below(path, &other.name);
            all.push(Difference { path, wanted: None, found: Some(other.words()) });
        }
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}

/// Whether libvirt writes one value as the other: `q35` becomes the newest machine of that kind.
fn same(attribute: &str, wanted: &str, found: &str) -> bool {
    let newest = |prefix: &str| found.strip_prefix(prefix).is_some_and(|version| version.starts_with('-'));
    wanted == found
        || attribute == "machine" && (newest(wanted) || newest(&format!("pc-{wanted}")))
        || attribute == "address" && wanted.eq_ignore_ascii_case(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(wanted: &str, found: &str) -> String {
        let [wanted, found] = [wanted, found].map(|text| Element::parse("a test", text).unwrap());
        wanted.differences(&found).iter().map(|one| format!("{one}\n")).collect()
    }

    #[test]
    fn what_libvirt_adds_is_no_difference() {
        let ours = "<domain><os><type machine='q35'>hvm</type><boot dev='hd'/></os><!-- why --></domain>";
        let theirs = "<domain id='3'><os><type arch='x' machine='pc-q35-7.2'>hvm</type><boot dev='hd'/></os>\
                      <devices><controller type='usb'/></devices></domain>";
        assert_eq!(differences(ours, theirs), "");
    }

    #[test]
    fn changes_are_named_by_their_place() {
        let ours = "<network><name>a</name><dns><host ip='1'><hostname>x</hostname></host>\
                    <host ip='2'><hostname>y</hostname></host></dns><ip address='10.0.0.1' prefix='24'/></network>";
        let theirs = "<network><name>b</name><dns><host ip='2'><hostname>y</hostname></host>\
                      <host ip='3'><hostname>z</hostname></host></dns><ip address='10.0.0.1' prefix='16'/></network>";
        insta::assert_snapshot!(differences(ours, theirs), @r"
        name: `b` becomes `a`
        dns/host: `ip=1 x` is missing
        dns/host: `ip=3 z` is too much
        ip@prefix: `16` becomes `24`
        ");
    }

    /// A mark in another namespace is somebody else's.
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
