//! A writable layout in a directory. A blob exists complete and verified, or not at all.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::layout::{Files, IMAGE_NAME, Layout, REF_NAME, blob_name};
use super::{Descriptor, ImageName, LAYOUT, MediaType, RegistryError, Result, Sha256, Target, Verified};
use crate::base::fs::{self, At};
use crate::base::json::canonical;

/// Files below a directory.
pub(super) struct Plain(pub(super) PathBuf);

impl Files for Plain {
    fn open(&self, name: &str) -> Result<Option<(Box<dyn Read + Send>, u64)>> {
        let path = self.0.join(name);
        let Some(file) = fs::optional(fs::open(&path))? else { return Ok(None) };
        let size = file.metadata().at("access", &path)?.len();
        Ok(Some((Box::new(file), size)))
    }
}

/// A writable layout. Several processes may use it at once.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Opens a layout, or creates an empty one.
    pub fn create(path: &Path) -> Result<Self> {
        fs::create_dirs(&path.join("blobs/sha256"))?;
        let this = Self { path: fs::canonical(path)? };
        let _lock = this.lock()?;
        for (name, text) in [
            ("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#),
            ("index.json", r#"{"schemaVersion":2,"manifests":[]}"#),
        ] {
            if !fs::exists(&this.path.join(name))? {
                fs::replace(&this.path.join(name), text.as_bytes(), 0o644)?;
            }
        }
        Ok(this)
    }

    /// The same layout, for reading.
    pub fn images(&self) -> Result<Layout> {
        Layout::open(&self.path)
    }

    /// Held while the index is changed; released when dropped.
    fn lock(&self) -> Result<std::fs::File> {
        let path = self.path.join(".lock");
        let file = fs::open_lock(&path)?;
        file.lock().at("lock", &path)?;
        Ok(file)
    }

    /// Names a manifest in the index, moving an existing name.
    fn name(&self, entry: Value) -> Result<()> {
        let _lock = self.lock()?;
        let path = self.path.join("index.json");
        let malformed = |problem: &str| RegistryError::Malformed {
            image: format!("oci:{}", self.path.display()),
            problem: format!("index.json {problem}"),
        };
        let mut index: Value =
            serde_json::from_slice(&fs::read(&path)?).map_err(|_| malformed("is not JSON"))?;
        let manifests = index
            .get_mut("manifests")
            .and_then(Value::as_array_mut)
            .ok_or_else(|| malformed("has no list of manifests"))?;
        let named = |entry: &Value| entry.pointer("/annotations").and_then(|all| all.get(REF_NAME)).cloned();
        match named(&entry) {
            Some(name) => manifests.retain(|other| {
                let unnamed_twin = named(other).is_none() && other["digest"] == entry["digest"];
                !unnamed_twin && named(other).as_ref() != Some(&name)
            }),
            None if manifests.iter().any(|other| other["digest"] == entry["digest"]) => return Ok(()),
            None => {}
        }
        manifests.push(entry);
        fs::replace(&path, canonical(&index).as_bytes(), 0o644)?;
        Ok(())
    }
}

impl Target for Directory {
    fn has_blob(&self, _image: &ImageName, blob: &Descriptor) -> Result<bool> {
        let found = fs::optional(fs::metadata(&self.path.join(blob_name(&blob.digest))))?;
        Ok(found.is_some_and(|found| found.len() == blob.size))
    }

    fn put_blob(&self, image: &ImageName, blob: &Descriptor, bytes: &mut dyn Read) -> Result<()> {
        let path = self.path.join(blob_name(&blob.digest));
        let mut bytes = Verified::new(bytes, image, blob);
        let mut stopped = None;
        let written = fs::replace_with(&path, 0o644, |file| {
            copy(&mut bytes, file, &path).map_err(|error| match error {
                RegistryError::Fs(error) => error,
                other => {
                    stopped = Some(other);
                    fs::Error::new("write", &path, io::ErrorKind::InvalidData.into())
                }
            })
        });
        match stopped {
            Some(error) => Err(error),
            None => Ok(written?),
        }
    }

    fn put_manifest(
        &self,
        image: &ImageName,
        media_type: &MediaType,
        bytes: &[u8],
        tag: Option<&str>,
    ) -> Result<()> {
        let digest = Sha256::of(bytes);
        fs::replace(&self.path.join(blob_name(&digest)), bytes, 0o644)?;
        let mut entry = json!({"mediaType": media_type, "digest": digest.to_string(), "size": bytes.len()});
        if let Some(tag) = tag {
            entry["annotations"] = json!({ REF_NAME: tag });
            if image.registry != LAYOUT {
                let name = format!("{}/{}:{tag}", image.registry, image.repository);
                entry["annotations"][IMAGE_NAME] = name.into();
            }
        }
        self.name(entry)
    }
}

/// Copies, distinguishing a failed reader from a failed disk.
fn copy(from: &mut dyn Read, to: &mut std::fs::File, path: &Path) -> Result<()> {
    use std::io::Write as _;
    let mut buffer = vec![0; 128 * 1024];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(RegistryError::from_io(error)
                    .unwrap_or_else(|other| fs::Error::new("read what goes to", path, other).into()));
            }
        };
        to.write_all(&buffer[..count]).at("write", path)?;
    }
}
