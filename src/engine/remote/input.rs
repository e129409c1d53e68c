//! The input tree of an action: directories by digest, and where the bytes of each blob are.
//!
//! ```text
//! bin/tinderbox        this very program
//! lib/                 its loader and its libraries; a static one needs none
//! derivation.json      what to build: [`super::description`]
//! inputs/<n>/          the inputs, in the order of their aliases
//! ```
//!
//! Links are links where the server allows absolute ones. Elsewhere they are left out: the description lists them, and the worker
//! makes them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use data_encoding::HEXLOWER;
use prost::Message as _;

use super::Flaw;
use crate::base::digest::Digest;
use crate::base::fs;
use crate::engine::reapi::{Blob, Capabilities, DigestFunction, proto};
use crate::engine::sandbox::own_libraries;
use crate::engine::tree::{EntryKind, Listing};

pub(super) const PROGRAM: &str = "tinderbox";
pub(super) const DESCRIPTION: &str = "derivation.json";

/// Where the bytes of a blob are.
#[derive(Debug, Clone)]
pub(super) enum Bytes {
    Here(Vec<u8>),
    File(PathBuf),
}

/// Blobs that an action needs.
pub(super) type Blobs = BTreeMap<Blob, Bytes>;

/// The program that workers run, with its libraries.
#[derive(Debug)]
pub(super) struct Tool {
    bin: proto::DirectoryNode,
    lib: Option<proto::DirectoryNode>,
    pub(super) blobs: Blobs,
    /// How it is started, below the root of the input tree.
    pub(super) command: Vec<String>,
}

impl Tool {
    pub(super) fn of(can: &Capabilities, executable: &Path) -> Result<Self, Flaw> {
        let mut blobs = Blobs::new();
        let executable = fs::canonical(executable)?;
        let program = vec![file_node(can, PROGRAM, &executable, &mut blobs)?];
        let bin =
            directory(can, "bin", proto::Directory { files: program, ..Default::default() }, &mut blobs);
        let libraries = own_libraries();
        let mut command = Vec::new();
        let mut files = BTreeMap::new();
        for (path, is_loader) in &libraries {
            let name = path.file_name().and_then(|name| name.to_str()).ok_or("its library has no name")?;
            if *is_loader {
                command.extend([format!("lib/{name}"), "--library-path".to_owned(), "lib".to_owned()]);
            }
            files.insert(name.to_owned(), file_node(can, name, &fs::canonical(path)?, &mut blobs)?);
        }
        if command.is_empty() && !libraries.is_empty() {
            return Err("this tinderbox cannot find its own loader".into());
        }
        let files: Vec<_> = files.into_values().collect();
        let lib = (!files.is_empty())
            .then(|| directory(can, "lib", proto::Directory { files, ..Default::default() }, &mut blobs));
        command.extend([format!("bin/{PROGRAM}"), "worker".to_owned()]);
        Ok(Self { bin, lib, blobs, command })
    }
}

fn file_node(
    can: &Capabilities,
    name: &str,
    path: &Path,
    blobs: &mut Blobs,
) -> Result<proto::FileNode, Flaw> {
    let blob = can.function.of_reader(&mut fs::open(path)?).map_err(|error| Flaw::Here(error.to_string()))?;
    let digest = Some(blob.to_proto());
    blobs.insert(blob, Bytes::File(path.to_owned()));
    Ok(proto::FileNode { name: name.to_owned(), digest, is_executable: true, ..Default::default() })
}

fn directory(
    can: &Capabilities,
    name: &str,
    content: proto::Directory,
    blobs: &mut Blobs,
) -> proto::DirectoryNode {
    let bytes = content.encode_to_vec();
    let blob = can.function.of(&bytes);
    let digest = Some(blob.to_proto());
    blobs.insert(blob, Bytes::Here(bytes));
    proto::DirectoryNode { name: name.to_owned(), digest }
}

/// What files are called by the server, by their digests in listings. Files of the store never change.
#[derive(Debug, Default)]
pub(super) struct Names(Mutex<BTreeMap<Digest, Blob>>);

impl Names {
    fn of(&self, can: &Capabilities, file: &File<'_>) -> Result<Blob, Flaw> {
        let File { digest, size, secret, path } = file;
        if can.function == DigestFunction::Blake3 && !secret {
            return Ok(Blob { hash: HEXLOWER.encode(digest.as_bytes()), size: *size });
        }
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(blob) = known().get(digest) {
            return Ok(blob.clone());
        }
        let blob =
            can.function.of_reader(&mut fs::open(path)?).map_err(|error| Flaw::Here(error.to_string()))?;
        known().insert(**digest, blob.clone());
        Ok(blob)
    }
}

struct File<'a> {
    digest: &'a Digest,
    size: u64,
    secret: bool,
    path: PathBuf,
}

/// One input, as its user asked for it.
pub(super) struct InputDir<'a> {
    pub(super) root: &'a Path,
    pub(super) listing: Listing,
}

/// The root of an action's input tree.
pub(super) fn root(
    can: &Capabilities,
    tool: &Tool,
    description: Vec<u8>,
    inputs: &[InputDir<'_>],
    names: &Names,
) -> Result<(Blob, Blobs), Flaw> {
    let mut blobs = Blobs::new();
    let described = can.function.of(&description);
    let files = vec![proto::FileNode {
        name: DESCRIPTION.to_owned(),
        digest: Some(described.to_proto()),
        ..Default::default()
    }];
    blobs.insert(described, Bytes::Here(description));
    let mut nodes = Vec::new();
    for (at, input) in inputs.iter().enumerate() {
        nodes.push(tree(can, &at.to_string(), input, names, &mut blobs)?);
    }
    nodes.sort_by(|one, other| one.name.cmp(&other.name));
    let inputs = proto::Directory { directories: nodes, ..Default::default() };
    let inputs = directory(can, "inputs", inputs, &mut blobs);
    let directories = [Some(tool.bin.clone()), Some(inputs), tool.lib.clone()];
    let directories = directories.into_iter().flatten().collect();
    let root = proto::Directory { files, directories, ..Default::default() }.encode_to_vec();
    let digest = can.function.of(&root);
    blobs.insert(digest.clone(), Bytes::Here(root));
    Ok((digest, blobs))
}

/// One input as directories: deepest first, so that each knows the digests of those in it.
fn tree(
    can: &Capabilities,
    name: &str,
    input: &InputDir<'_>,
    names: &Names,
    blobs: &mut Blobs,
) -> Result<proto::DirectoryNode, Flaw> {
    let mut open: BTreeMap<&str, proto::Directory> = BTreeMap::new();
    for (path, entry) in input.listing.entries() {
        let (parent, leaf) = path.rsplit_once('/').unwrap_or(("", path));
        match &entry.kind {
            EntryKind::Dir => drop(open.entry(path).or_default()),
            EntryKind::File { exec, size } => {
                let full = input.root.join(path);
                let file = File { digest: &entry.digest, size: *size, secret: entry.secret, path: full };
                let blob = names.of(can, &file)?;
                open.entry(parent).or_default().files.push(proto::FileNode {
                    name: leaf.to_owned(),
                    digest: Some(blob.to_proto()),
                    is_executable: *exec,
                    ..Default::default()
                });
                blobs.insert(blob, Bytes::File(file.path));
            }
            EntryKind::Link { target } if can.links => {
                open.entry(parent).or_default().symlinks.push(proto::SymlinkNode {
                    name: leaf.to_owned(),
                    target: target.clone(),
                    ..Default::default()
                });
            }
            EntryKind::Link { .. } => {}
        }
    }
    while let Some((path, mut content)) = open.pop_last() {
        content.files.sort_by(|one, other| one.name.cmp(&other.name));
        content.directories.sort_by(|one, other| one.name.cmp(&other.name));
        content.symlinks.sort_by(|one, other| one.name.cmp(&other.name));
        if path.is_empty() {
            return Ok(directory(can, name, content, blobs));
        }
        let (parent, leaf) = path.rsplit_once('/').unwrap_or(("", path));
        let node = directory(can, leaf, content, blobs);
        open.entry(parent).or_default().directories.push(node);
    }
    Ok(directory(can, name, proto::Directory::default(), blobs))
}
