//! An output from a farm into a staging tree. Nothing is believed that can be checked: the digests of what arrives, that it is
//! about this derivation, how its programs were isolated, and the object's id.

use std::io::{self, Read};

use super::description::Report;
use super::{Flaw, Request};
use crate::engine::cache::fill;
use crate::engine::reapi::{Blob, BlobHasher, Capabilities, Client};
use crate::engine::registry::RegistryError;
use crate::engine::sandbox::Isolation;
use crate::engine::store::{Session, Staged};

/// Larger reports are not read: programs may print much, and their output is limited to less.
const REPORT: u64 = 64 << 20;

/// Larger outputs are not taken.
const OUTPUT: u64 = 64 << 30;

/// More entries are not taken, as of an image.
const ENTRIES: u64 = 1_000_000;

/// What the worker says, if it is about this derivation.
pub(super) fn report(
    client: &Client,
    can: &Capabilities,
    blob: &Blob,
    request: &Request<'_>,
) -> Result<Report, Flaw> {
    if blob.size > REPORT {
        return Err("its report is too large".into());
    }
    let mut bytes = Vec::new();
    let mut from = Checked::new(client.read(can, blob, true)?, can, blob);
    from.read_to_end(&mut bytes).map_err(broken)?;
    let report = Report::parse(&bytes, request.drv)?;
    // A builder that may run programs need not.
    let known = report.isolation.as_deref().is_none_or(|name| Isolation::named(name).is_some());
    if !known || (report.isolation.is_some() && !request.programs) {
        return Err("it does not say how its programs were isolated".into());
    }
    if report.size > OUTPUT || report.entries > ENTRIES {
        return Err("its output is too large".into());
    }
    Ok(report)
}

/// The output, staged.
pub(super) fn output(
    client: &Client,
    can: &Capabilities,
    blob: &Blob,
    report: &Report,
    session: &Session,
    request: &Request<'_>,
) -> Result<Staged, Flaw> {
    let mut from = Checked::new(client.read(can, blob, true)?, can, blob);
    let tree = session.stage(request.secret)?;
    let filled = fill(&mut from, (report.size, report.entries), &tree, request.tainted)
        .map_err(Flaw::from)
        .and_then(|_| io::copy(&mut from, &mut io::sink()).map_err(broken));
    if let Err(flaw) = filled {
        session.abandon(tree);
        // Readers in between hide the reason.
        return Err(from.flaw.take().map_or(flaw, Flaw::Registry));
    }
    let staged = session.finish(tree, request.name)?;
    if report.object.is_some_and(|object| object != staged.id())
        || (report.object.is_none() && !request.tainted)
    {
        session.discard_staged(&staged);
        return Err("its output is not the object that it reports".into());
    }
    Ok(staged)
}

/// Checks digest and size of what passes through it. The verdict comes at the end.
struct Checked<R> {
    inner: R,
    hasher: BlobHasher,
    blob: Blob,
    done: bool,
    /// What was wrong, for those who lose errors.
    flaw: Option<RegistryError>,
}

impl<R: Read> Checked<R> {
    fn new(inner: R, can: &Capabilities, blob: &Blob) -> Self {
        Self { inner, hasher: can.function.hasher(), blob: blob.clone(), done: false, flaw: None }
    }

    fn mismatch(&mut self, found: String) -> io::Error {
        let Blob { hash, size } = &self.blob;
        let mismatch = || RegistryError::Mismatch {
            image: "its output".to_owned(),
            what: format!("blob {hash}"),
            expected: format!("{hash} ({size} bytes)"),
            found: found.clone(),
        };
        self.flaw = Some(mismatch());
        io::Error::new(io::ErrorKind::InvalidData, mismatch())
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.done {
            return Ok(0);
        }
        let count = match self.inner.read(buffer) {
            Err(error) => {
                return Err(match RegistryError::from_io(error) {
                    Ok(error) => {
                        let kind = io::Error::other(error.to_string());
                        self.flaw = Some(error);
                        kind
                    }
                    Err(error) => error,
                });
            }
            Ok(count) => count,
        };
        self.hasher.update(&buffer[..count]);
        let seen = self.hasher.size();
        if seen > self.blob.size {
            return Err(self.mismatch(format!("more than {} bytes", self.blob.size)));
        }
        if count == 0 {
            let found = self.hasher.finish();
            if found != self.blob {
                return Err(self.mismatch(format!("{} ({} bytes)", found.hash, found.size)));
            }
            self.done = true;
        }
        Ok(count)
    }
}

fn broken(error: io::Error) -> Flaw {
    match RegistryError::from_io(error) {
        Ok(error) => Flaw::Registry(error),
        Err(error) => Flaw::Here(error.to_string()),
    }
}
