//! A static pod as written: programs, their flags with the comments above them, and the node paths of the files that
//! flags name.
//!
//! Works on the text and not on a typed Pod, which would lose lines and comments. Lenient: missing parts are empty.
//! Checks decide whether a pod is valid.

use std::collections::BTreeMap;

use crate::base::yaml::YamlNode;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    pub name: String,
    pub image: String,
    /// The words of command and arguments that are not flags: `hyperkube`, `kube-apiserver`.
    pub program: Vec<String>,
    pub flags: Vec<Flag>,
    /// Host path mounts: the path in the container, and the path on the node.
    pub mounts: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// Without dashes.
    pub name: String,
    /// The text after `=`, if any.
    pub value: Option<String>,
    /// From 1.
    pub line: usize,
    /// The comment directly above it, as one text; may be empty.
    pub comment: String,
}

/// The containers of a pod, init containers included. `text` is the file that `root` was parsed from.
pub fn containers(root: &YamlNode, text: &str) -> Vec<Container> {
    let Some(spec) = root.get("spec") else { return Vec::new() };
    let lines: Vec<&str> = text.lines().collect();
    let volumes: BTreeMap<&str, &str> = items(spec, "volumes")
        .filter_map(|volume| Some((word(volume, "name"), volume.get("hostPath")?.get("path")?.text()?)))
        .collect();
    let of = |container: &YamlNode| {
        let words = items(container, "command").chain(items(container, "args"));
        let mut program = Vec::new();
        let mut flags = Vec::new();
        for node in words {
            let word = node.text().unwrap_or_default();
            match word.strip_prefix("--") {
                Some(flag) => flags.push(Flag::read(flag, node.line, &lines)),
                None => program.push(word.to_owned()),
            }
        }
        let mounts = items(container, "volumeMounts").filter_map(|mount| {
            let host = volumes.get(word(mount, "name"))?;
            Some((word(mount, "mountPath").to_owned(), (*host).to_owned()))
        });
        Container {
            name: word(container, "name").to_owned(),
            image: word(container, "image").to_owned(),
            program,
            flags,
            mounts: mounts.collect(),
        }
    };
    items(spec, "initContainers").chain(items(spec, "containers")).map(of).collect()
}

/// The comment directly above a line (from 1), without comment marks and without an empty line between.
pub(crate) fn comment_above(lines: &[&str], line: usize) -> String {
    let above = lines[..line.saturating_sub(1).min(lines.len())].iter().rev();
    let mut found: Vec<&str> = above.map_while(|line| line.trim().strip_prefix('#')).map(str::trim).collect();
    found.reverse();
    found.join(" ").trim().to_owned()
}

impl Flag {
    fn read(flag: &str, line: usize, lines: &[&str]) -> Self {
        let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
        let comment = comment_above(lines, line);
        Self { name: name.to_owned(), value: value.map(str::to_owned), line, comment }
    }

    /// The files that its value names: absolute paths, alone or in a list.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.value.iter().flat_map(|value| value.split(',')).filter(|part| part.starts_with('/'))
    }
}

impl Container {
    /// The node path of a path in the container; none if it is not in a mount. The innermost mount counts.
    pub fn on_node(&self, path: &str) -> Option<String> {
        let below = |(mount, host): &(String, String)| {
            let rest = path.strip_prefix(mount.trim_end_matches('/'))?;
            (rest.is_empty() || rest.starts_with('/')).then(|| (mount.len(), format!("{host}{rest}")))
        };
        self.mounts.iter().filter_map(below).max_by_key(|(depth, _)| *depth).map(|(_, host)| host)
    }
}

fn items<'n>(node: &'n YamlNode, key: &str) -> impl Iterator<Item = &'n YamlNode> {
    node.get(key).into_iter().flat_map(YamlNode::items)
}

fn word<'n>(node: &'n YamlNode, key: &str) -> &'n str {
    node.get(key).and_then(YamlNode::text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::hint::Problems;
    use crate::base::yaml::{self, Source};

    const POD: &str = "\
spec:
  containers:
  - name: etcd
    image: registry/etcd@sha256:00
    command: [etcd]
    args:
    # Where the state is.
    # On the node.
    - --data-dir=/var/lib/etcd/member

    - --listen=
    # x
    - --cert-file=/etc/secrets/a.crt,/etc/secrets/own/b.crt
    - --auto-tls
    volumeMounts:
    - {name: secrets, mountPath: /etc/secrets}
    - {name: own, mountPath: /etc/secrets/own}
    - {name: tmp, mountPath: /tmp}
    - {name: data, mountPath: /var/lib/etcd/}
  volumes:
  - {name: secrets, hostPath: {path: /etc/kubernetes/bootstrap-secrets}}
  - {name: own, hostPath: {path: /srv}}
  - {name: data, hostPath: {path: /var/lib/etcd}}
  - {name: tmp, emptyDir: {}}
";

    fn container() -> Container {
        let mut problems = Problems::default();
        let root = yaml::parse(Source { name: "pod.yaml", text: POD }, &mut problems).unwrap();
        containers(&root, POD).remove(0)
    }

    #[test]
    fn flags_have_their_values_and_the_comments_above_them() {
        let container = container();
        assert_eq!(container.program, ["etcd"]);
        let flags: Vec<_> = container
            .flags
            .iter()
            .map(|flag| (flag.name.as_str(), flag.value.as_deref(), flag.line, flag.comment.as_str()))
            .collect();
        assert_eq!(
            flags,
            [
                ("data-dir", Some("/var/lib/etcd/member"), 9, "Where the state is. On the node."),
                ("listen", Some(""), 11, ""),
                ("cert-file", Some("/etc/secrets/a.crt,/etc/secrets/own/b.crt"), 13, "x"),
                ("auto-tls", None, 14, ""),
            ]
        );
    }

    #[test]
    fn a_file_is_where_the_innermost_mount_takes_it() {
        let container = container();
        let found: Vec<_> = container
            .flags
            .iter()
            .flat_map(Flag::files)
            .map(|path| container.on_node(path).unwrap_or_default())
            .collect();
        assert_eq!(found, ["/var/lib/etcd/member", "/etc/kubernetes/bootstrap-secrets/a.crt", "/srv/b.crt"]);
        assert_eq!(container.on_node("/etc/secretsauce"), None);
        assert_eq!(container.on_node("/tmp/x"), None);
        assert_eq!(container.on_node("/var/lib/etcd").as_deref(), Some("/var/lib/etcd"));
    }
}
