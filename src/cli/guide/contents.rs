//! The contents of artifacts in the guide: masked, cut to a size that a page can hold, and shown once.

use std::collections::BTreeMap;

use crate::base::redact::Redactor;
use crate::cli::node_entries::NodeEntry;
use crate::cli::store::scan;
use crate::cli::{Result, artifact};
use crate::compare::guide::{GuideEntry, GuideFile, GuidePart};
use crate::compare::parts::Format;
use crate::engine::recipe::GraphNode;
use crate::engine::store::Object;
use crate::engine::tree::EntryKind;
use crate::openshift::workspace::{self, Env, Workspace};

/// A longer file is cut.
const MOST: usize = 24 << 10;
/// An artifact with more files is only counted.
const FEW: usize = 4;
/// More parts than this are not listed.
const PARTS: usize = 80;
/// Why there is no content.
const SECRET: &str = "secret";

pub(super) struct Contents {
    redactor: Redactor,
    /// Where a content was shown first.
    shown: BTreeMap<String, String>,
}

impl Contents {
    pub(super) fn new(env: Env<'_>, workspace: &Workspace) -> Result<Self> {
        let store = workspace::open_store(env.store, env.directory)?;
        let redactor = Redactor::new(store.patterns(&scan::known(env, &workspace.directory)?)?);
        Ok(Self { redactor, shown: BTreeMap::new() })
    }

    /// A file of the user, with numbered lines.
    pub(super) fn user_file(&mut self, name: &str, bytes: Vec<u8>) -> GuideFile {
        let text = String::from_utf8_lossy(&bytes);
        let content = Some(self.redactor.text(&text));
        GuideFile { path: name.to_owned(), content, note: None, numbered: true }
    }

    /// One file of an object.
    pub(super) fn file(&mut self, object: &Object, derivation: &str, path: &str) -> Result<GuideFile> {
        let entry = object.listing.get(path);
        let is_secret = entry.is_some_and(|entry| entry.secret);
        let is_file = entry.is_some_and(|entry| matches!(entry.kind, EntryKind::File { .. }));
        if is_secret || !is_file {
            let said = if is_secret { SECRET } else { "a link" };
            return Ok(without_content(path, said.to_owned()));
        }
        let text = artifact::file(object, derivation, path, false)?.content;
        Ok(self.shown(path, format!("{derivation}:{path}"), &text))
    }

    /// A public text: masked, cut, and shown once.
    fn shown(&mut self, path: &str, name: String, text: &str) -> GuideFile {
        if text.len() > 200 {
            if let Some(first) = self.shown.get(text) {
                return without_content(path, format!("the same as {first}"));
            }
            self.shown.insert(text.to_owned(), name);
        }
        let mut end = text.len().min(MOST);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let left = text[end..].lines().count();
        let note = (end < text.len()).then(|| format!("cut: {left} more lines"));
        let content = Some(self.redactor.text(&text[..end]));
        GuideFile { path: path.to_owned(), content, note, numbered: false }
    }

    /// The files and parts of a derivation.
    pub(super) fn fill(
        &mut self,
        object: &Object,
        node: &GraphNode,
        leaves: &[String],
        entry: &mut GuideEntry,
    ) -> Result<()> {
        // The digests in it are a file for `realize`; its parts say what nodes get.
        let is_node = node.name.starts_with("ignition/");
        if let (true, Some(config)) = (is_node, leaves.iter().find(|path| path.ends_with(".ign"))) {
            let text = crate::base::fs::read_text(&object.path.join(config))?;
            entry.parts = parts(config, &text, false);
            entry.files = vec![without_content(config, SECRET.to_owned())];
            return Ok(());
        }
        if leaves.len() > FEW {
            entry.files = vec![without_content(&node.name, format!("{} files", leaves.len()))];
            return Ok(());
        }
        for path in leaves {
            entry.files.push(self.file(object, &node.name, path)?);
            let is_secret = object.listing.get(path).is_some_and(|found| found.secret);
            if let Ok(text) = crate::base::fs::read_text(&object.path.join(path))
                && entry.parts.is_empty()
            {
                entry.parts = parts(path, &text, is_secret);
            }
        }
        self.mask(entry);
        Ok(())
    }

    /// The content and parts of a node's file.
    pub(super) fn fill_node_file(&mut self, one: &NodeEntry, text: Option<&str>, entry: &mut GuideEntry) {
        let path = one.on_node();
        let file = match (one.secret, text) {
            (true, _) => without_content(&path, SECRET.to_owned()),
            (false, Some(text)) => self.shown(&path, path.clone(), text),
            (false, None) => {
                let words = [Some(one.kind), one.mode.as_deref(), one.state.as_deref()];
                without_content(&path, words.into_iter().flatten().collect::<Vec<_>>().join(", "))
            }
        };
        entry.files = vec![file];
        if let Some(text) = text {
            entry.parts = parts(&path, text, one.secret);
        }
        self.mask(entry);
    }

    /// Nothing that is known to be secret leaves here.
    fn mask(&self, entry: &mut GuideEntry) {
        for part in &mut entry.parts {
            part.part.value = self.redactor.text(&part.part.value);
        }
    }
}

/// The parts of a text. Of a secret one, only formats that mask their values.
fn parts(path: &str, text: &str, is_secret: bool) -> Vec<GuidePart> {
    let Some(format) = Format::of(path, text) else { return Vec::new() };
    if is_secret && format != Format::Kubeconfig {
        return Vec::new();
    }
    let found = format.parts(text).into_iter().take(PARTS);
    found.map(|part| GuidePart { part, meaning: Some(format.name().to_owned()) }).collect()
}

fn without_content(path: &str, note: String) -> GuideFile {
    GuideFile { path: path.to_owned(), content: None, note: Some(note), numbered: false }
}
