//! A farm's content-addressable storage and action cache as a cache. It holds the same documents as a registry, so the same
//! signatures count, and the same bytes are verified.
//!
//! ```text
//! action cache
//!   Action{command: tinderbox cache <name>, salt}     one for each name: drv-<DrvId>-<key id>, closure-<ClosureId>-<key id>
//!     output_files[0]  manifest.json                  the document, which carries the signed statement
//!     output_files[1..] sha256/<digest>               every blob that it names: servers keep what their results name
//!     execution_metadata.auxiliary_metadata           the document again, if it is small: one request less
//! content-addressable storage
//!   all of these blobs, called by the server's digest function
//! ```
//!
//! Farms drop blobs as they like, and some believe in results whose blobs are gone, so every blob of a document is asked for
//! before the document counts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prost::Message as _;

use super::manifest::{Contents, FILE};
use super::oci::FIRST_ANSWER;
use super::storage::{Open, Storage};
use super::{CacheUrl, Scheme};
use crate::engine::reapi::{Any, Blob, Capabilities, Client, DigestFunction, proto};
use crate::engine::registry::{Access, Descriptor, ImageName, Reference, RegistryError, Sha256, Verified};

type Result<T, E = RegistryError> = std::result::Result<T, E>;

const DOCUMENT: &str = "manifest.json";

/// Type of the document among the metadata.
const TYPE: &str = "tinderbox/application/vnd.oci.image.manifest.v1+json";

/// Changes whenever an older reader would misunderstand what is there.
const SALT: &[u8] = b"tinderbox cache v1";

/// Larger documents are only a blob: servers keep results in memory.
const SMALL: usize = 64 << 10;

/// Larger documents are not read, as from a registry.
const LIMIT: u64 = 8 << 20;

/// How many blobs are remembered. What a farm says before anybody verified it must not fill the memory; who forgets asks again.
const REMEMBERED: usize = 200_000;

/// An instance of a farm.
pub(super) struct Farm {
    client: Client,
    /// What is known of blobs by the name that documents have for them.
    blobs: Mutex<BTreeMap<Sha256, Known>>,
}

#[derive(Clone)]
struct Known {
    blob: Blob,
    /// Whether the server has it, if it was asked.
    present: Option<bool>,
}

impl CacheUrl {
    /// Whoever is there, spoken to as a farm.
    pub(in crate::engine) fn client(&self, access: Access) -> Result<Client> {
        Client::new(&self.registry, &self.repository, self.scheme == Scheme::Grpcs, access)
    }
}

impl Farm {
    pub(super) fn new(url: &CacheUrl, access: Access) -> Result<Self> {
        Ok(Self { client: url.client(access)?, blobs: Mutex::default() })
    }

    fn can(&self) -> Result<&Capabilities> {
        self.client.capabilities(FIRST_ANSWER)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<Sha256, Known>> {
        self.blobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the server calls a blob; none if it has another digest function, and nobody has said.
    fn name_of(&self, can: &Capabilities, blob: &Descriptor) -> Option<Blob> {
        match can.function {
            DigestFunction::Sha256 => Some(Blob { hash: blob.digest.hex(), size: blob.size }),
            DigestFunction::Blake3 => self
                .known()
                .get(&blob.digest)
                .map(|known| known.blob.clone())
                .filter(|known| known.size == blob.size),
        }
    }

    /// Asks for all blobs of a document, and remembers the answers. The first one that is missing.
    fn ask_for(&self, can: &Capabilities, blobs: &[Descriptor]) -> Result<Option<Descriptor>> {
        let named: Vec<(&Descriptor, Blob)> =
            blobs.iter().filter_map(|blob| Some((blob, self.name_of(can, blob)?))).collect();
        let digests: BTreeSet<Sha256> = named.iter().map(|(blob, _)| blob.digest).collect();
        let unknown = blobs.iter().find(|blob| !digests.contains(&blob.digest));
        let mut wanted: Vec<Blob> = named.iter().map(|(_, name)| name.clone()).collect();
        wanted.sort();
        wanted.dedup();
        let missing = self.client.find_missing(can, &wanted)?;
        let mut first = unknown.cloned();
        let mut known = self.known();
        if known.len() > REMEMBERED {
            known.clear();
        }
        for (blob, name) in named {
            let present = !missing.contains(&name);
            if !present && first.is_none() {
                first = Some(blob.clone());
            }
            known.insert(blob.digest, Known { blob: name, present: Some(present) });
        }
        Ok(first)
    }

    /// The document of a result, and what the result calls the blobs.
    fn document(&self, can: &Capabilities, result: &proto::ActionResult, what: &str) -> Result<Vec<u8>> {
        let malformed =
            |problem: &str| RegistryError::Malformed { image: what.to_owned(), problem: problem.into() };
        if self.known().len() > REMEMBERED {
            self.known().clear();
        }
        for file in &result.output_files {
            let digest =
                file.path.strip_prefix("sha256/").and_then(|hex| format!("sha256:{hex}").parse().ok());
            // Where the digest is the same, so is the name.
            if can.function == DigestFunction::Blake3
                && let (Some(digest), Some(blob)) = (digest, Blob::from_proto(file.digest.as_ref()))
            {
                self.known().entry(digest).or_insert(Known { blob, present: None });
            }
        }
        let mut metadata = result.execution_metadata.iter().flat_map(|metadata| &metadata.auxiliary_metadata);
        if let Some(own) = metadata.find(|one| one.type_url == TYPE) {
            return Ok(own.value.clone());
        }
        // Servers may drop metadata.
        let file = result.output_files.iter().find(|file| file.path == DOCUMENT);
        let blob = file.and_then(|file| Blob::from_proto(file.digest.as_ref()));
        let blob = blob.filter(|blob| blob.size <= LIMIT).ok_or_else(|| malformed("it has no document"))?;
        let mut bytes = Vec::new();
        let stream = self.client.read(can, &blob, false)?;
        stream.take(LIMIT).read_to_end(&mut bytes).map_err(|error| {
            RegistryError::from_io(error).unwrap_or_else(|_| malformed("its document cannot be read"))
        })?;
        let found = can.function.of(&bytes);
        if found == blob {
            return Ok(bytes);
        }
        Err(RegistryError::Mismatch {
            image: what.to_owned(),
            what: "its document".to_owned(),
            expected: blob.hash,
            found: found.hash,
        })
    }

    fn put(&self, can: &Capabilities, bytes: &[u8], missing: &BTreeSet<Blob>) -> Result<()> {
        let blob = can.function.of(bytes);
        match missing.contains(&blob) {
            true => self.client.write(can, &blob, &mut &bytes[..], false),
            false => Ok(()),
        }
    }
}

/// The action that stands for a name, with its command: nobody ever executes it.
fn action(can: &Capabilities, tag: &str) -> (Vec<u8>, Vec<u8>) {
    let command = proto::Command {
        arguments: ["tinderbox", "cache", tag].map(str::to_owned).to_vec(),
        output_paths: vec![DOCUMENT.to_owned()],
        ..Default::default()
    };
    let command = command.encode_to_vec();
    let action = proto::Action {
        command_digest: Some(can.function.of(&command).to_proto()),
        input_root_digest: Some(can.function.of(b"").to_proto()),
        salt: SALT.to_vec(),
        ..Default::default()
    };
    (action.encode_to_vec(), command)
}

fn tag_of(name: &ImageName) -> &str {
    match &name.reference {
        Reference::Tag(tag) => tag,
        Reference::Digest(_) => "",
    }
}

impl Storage for Farm {
    fn tags(&self, _: &ImageName) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn tagged(&self, name: &ImageName, first: Duration) -> Result<Vec<u8>> {
        let can = self.client.capabilities(first)?;
        let tag = tag_of(name);
        let what = format!("the entry `{tag}`");
        let key = can.function.of(&action(can, tag).0);
        let result = self.client.action_result(can, &what, &key)?;
        let bytes = self.document(can, &result, &what)?;
        let Contents { blobs, is_index } = Contents::of(&bytes)
            .map_err(|flaw| RegistryError::Malformed { image: what.clone(), problem: flaw.to_owned() })?;
        match self.ask_for(can, &blobs)? {
            // What misses a blob is as good as not there; of an index, everything else is still useful.
            Some(missing) if !is_index => Err(RegistryError::NotFound {
                image: what,
                what: format!("blob {}", missing.digest),
                place: name.registry.clone(),
            }),
            _ => Ok(bytes),
        }
    }

    fn manifest(&self, name: &ImageName, digest: &Sha256) -> Result<Vec<u8>> {
        let bytes = self.tagged(name, FIRST_ANSWER)?;
        let found = Sha256::of(&bytes);
        if found == *digest {
            return Ok(bytes);
        }
        Err(RegistryError::Mismatch {
            image: name.to_string(),
            what: "its manifest".to_owned(),
            expected: digest.to_string(),
            found: found.to_string(),
        })
    }

    fn blob<'a>(&'a self, name: &ImageName, blob: &Descriptor) -> Result<Box<dyn Read + Send + 'a>> {
        let can = self.can()?;
        let missing = || RegistryError::NotFound {
            image: name.to_string(),
            what: format!("blob {}", blob.digest),
            place: name.registry.clone(),
        };
        if self.known().get(&blob.digest).is_some_and(|known| known.present == Some(false)) {
            return Err(missing());
        }
        let called = self.name_of(can, blob).ok_or_else(missing)?;
        let bytes = match self.client.read(can, &called, blob.media_type == FILE) {
            Err(RegistryError::NotFound { .. }) => return Err(missing()),
            bytes => bytes?,
        };
        Ok(Box::new(Verified::new(bytes, name, blob)))
    }

    fn has_blob(&self, _: &ImageName, blob: &Descriptor) -> Result<bool> {
        Ok(self.ask_for(self.can()?, std::slice::from_ref(blob))?.is_none())
    }

    fn put_blob(&self, name: &ImageName, blob: &Descriptor, open: &Open<'_>) -> Result<()> {
        let can = self.can()?;
        let called = match self.name_of(can, blob) {
            Some(called) => called,
            None => can.function.of_reader(&mut open()?).map_err(|error| RegistryError::Malformed {
                image: name.to_string(),
                problem: format!("blob {} cannot be read: {error}", blob.digest),
            })?,
        };
        let mut bytes = Verified::new(open()?, name, blob);
        self.client.write(can, &called, &mut bytes, blob.media_type == FILE)?;
        self.known().insert(blob.digest, Known { blob: called, present: Some(true) });
        Ok(())
    }

    fn put_manifest(&self, name: &ImageName, _: &str, bytes: &[u8], tag: &str) -> Result<()> {
        let can = self.can()?;
        let what = format!("the entry `{tag}`");
        let malformed =
            |problem: &str| RegistryError::Malformed { image: what.clone(), problem: problem.into() };
        if !can.updates {
            let problem = format!("{} does not let clients write to its action cache", name.registry);
            return Err(malformed(&problem));
        }
        let Contents { blobs, .. } = Contents::of(bytes).map_err(malformed)?;
        let (action, command) = action(can, tag);
        let own = [bytes, &action, &command];
        let missing = self.client.find_missing(can, &own.map(|bytes| can.function.of(bytes)))?;
        own.into_iter().try_for_each(|bytes| self.put(can, bytes, &missing))?;
        let file = |path: String, blob: &Blob| proto::OutputFile {
            path,
            digest: Some(blob.to_proto()),
            ..Default::default()
        };
        let mut files = BTreeMap::new();
        for blob in &blobs {
            let called =
                self.name_of(can, blob).ok_or_else(|| malformed("it names a blob that nobody sent"))?;
            let path = format!("sha256/{}", blob.digest.hex());
            files.insert(path.clone(), file(path, &called));
        }
        let document = file(DOCUMENT.to_owned(), &can.function.of(bytes));
        let metadata =
            (bytes.len() <= SMALL).then(|| Any { type_url: TYPE.to_owned(), value: bytes.to_vec() });
        let result = proto::ActionResult {
            output_files: std::iter::once(document).chain(files.into_values()).collect(),
            execution_metadata: Some(proto::ExecutedActionMetadata {
                auxiliary_metadata: metadata.into_iter().collect(),
                ..Default::default()
            }),
            ..Default::default()
        };
        self.client.set_action_result(can, &what, &can.function.of(&action), result)
    }
}
