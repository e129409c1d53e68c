//! One farm: sends what it lacks, has it executed, and takes the output. Whatever goes wrong is said once, and the derivation is
//! built here.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use prost::Message as _;

use super::description::{Description, Report, narrowed};
use super::input::{self, Blobs, Bytes, InputDir, Names, Tool};
use super::{Built, FarmSettings, Flaw, Offer, Request, arrival};
use crate::base::event::Events;
use crate::base::fs;
use crate::base::hint::chain;
use crate::engine::cache::{FIRST_ANSWER, Health, patience};
use crate::engine::reapi::{
    Blob, Capabilities, Client, ExecutionLimits, PER_BLOB, ProtoDuration, output_file, proto,
};
use crate::engine::registry::{Access, RegistryError};
use crate::engine::store::Session;

/// Where the worker puts what it built, below the root of the input tree.
pub(super) const REPORT: &str = "out/report.json";
pub(super) const OUTPUT: &str = "out/output.tar";

/// What the worker may take, in seconds. Programs have limits of their own.
const TIMEOUT: i64 = 15 * 60;

const LIMITS: ExecutionLimits =
    ExecutionLimits { queued: Duration::from_secs(60), executing: Duration::from_secs(TIMEOUT as u64 + 60) };

/// Changes whenever another worker would be asked the same.
const SALT: &[u8] = b"tinderbox worker v1";

#[derive(Debug)]
pub(crate) struct Farm {
    settings: FarmSettings,
    program: PathBuf,
    client: OnceLock<Client>,
    health: Health,
    /// Slots that are taken.
    busy: AtomicUsize,
    /// The program, sent once.
    tool: Mutex<Option<Arc<Tool>>>,
    names: Names,
}

/// The right to build one derivation on a farm.
#[derive(Debug)]
pub(crate) struct Slot<'a>(&'a Farm);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Slot<'_> {
    /// Has a derivation built; none if that did not work out, for whatever reason.
    pub(crate) fn build(
        &self,
        session: &Session,
        request: &Request<'_>,
        events: &dyn Events,
    ) -> Option<Built> {
        self.0.build(session, request, events)
    }
}

impl Farm {
    pub(super) fn new(settings: FarmSettings, program: PathBuf) -> Self {
        let access = Access { patience: patience(), mirrors: Vec::new(), ..settings.access };
        let settings = FarmSettings { access, ..settings };
        Self {
            settings,
            program,
            client: OnceLock::new(),
            health: Health::of("farm"),
            busy: AtomicUsize::new(0),
            tool: Mutex::default(),
            names: Names::default(),
        }
    }

    /// A slot for this derivation, if one is free and the farm is for such.
    pub(super) fn offer(&self, offer: Offer<'_>) -> Option<Slot<'_>> {
        let trust = &self.settings.trust;
        // What is named goes there whatever it costs.
        let wanted = (offer.costly || !trust.scope.is_empty()) && trust.covers(offer.name);
        if !wanted || (offer.secret && !trust.secrets) || self.health.is_off() {
            return None;
        }
        let taken = self.busy.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |busy| {
            (busy < self.settings.jobs).then_some(busy + 1)
        });
        taken.is_ok().then(|| Slot(self))
    }

    fn build(&self, session: &Session, request: &Request<'_>, events: &dyn Events) -> Option<Built> {
        // Another slot may have found out meanwhile.
        if self.health.is_off() {
            return None;
        }
        let url = &self.settings.url;
        match self.attempt(session, request) {
            Ok(built) => {
                self.health.answered();
                return Some(built);
            }
            Err(Flaw::Registry(
                error @ (RegistryError::Malformed { .. }
                | RegistryError::NotFound { .. }
                | RegistryError::Mismatch { .. }),
            )) => self.health.useless(url, &chain(&error), true, events),
            Err(Flaw::Registry(error)) => self.health.failed(url, &error, events),
            Err(Flaw::Ever(flaw)) => self.health.useless(url, &flaw, false, events),
            Err(Flaw::Farm(flaw)) => {
                let flaw = format!("`{}` is built here: {flaw}", request.name);
                self.health.useless(url, &flaw, true, events);
            }
            Err(Flaw::Here(flaw)) => {
                self.health.useless(url, &format!("`{}` is built here: {flaw}", request.name), true, events);
            }
        }
        None
    }

    fn attempt(&self, session: &Session, request: &Request<'_>) -> Result<Built, Flaw> {
        let client = self.client()?;
        let can = client.capabilities(FIRST_ANSWER)?;
        if !can.executes {
            return Err(Flaw::Ever("it executes nothing".to_owned()));
        }
        let tool = self.tool(client, can)?;
        let action = self.action(session, client, can, &tool, request)?;
        // Where clients may write results, an earlier one may be anybody's.
        let result = client.execute(can, request.name, &action, can.updates, LIMITS)?;
        if result.exit_code != 0 {
            let words = match client.last_words(can, &result) {
                words if words.is_empty() => "it printed nothing".to_owned(),
                words => words,
            };
            return Err(Flaw::Farm(format!("its worker ended with {}: {words}", result.exit_code)));
        }
        let report = output_file(&result, REPORT).ok_or("its worker left no report")?;
        let output = output_file(&result, OUTPUT).ok_or("its worker left no output")?;
        let report = arrival::report(client, can, &report, request)?;
        let staged = arrival::output(client, can, &output, &report, session, request)?;
        let executor = Some(self.settings.trust.executor.clone());
        let Report { isolation, log, warnings, .. } = report;
        Ok(Built { staged, executor, isolation, log, warnings })
    }

    fn client(&self) -> Result<&Client, Flaw> {
        if let Some(problem) = foreign(&self.settings) {
            return Err(Flaw::Ever(problem));
        }
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let FarmSettings { url, access, .. } = &self.settings;
        let client = url.client(access.clone())?;
        Ok(self.client.get_or_init(|| client))
    }

    /// The program, which the farm has when this returns.
    fn tool(&self, client: &Client, can: &Capabilities) -> Result<Arc<Tool>, Flaw> {
        let mut known = self.tool.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tool) = known.as_ref() {
            return Ok(Arc::clone(tool));
        }
        let tool = Arc::new(Tool::of(can, &self.program)?);
        send(client, can, &tool.blobs)?;
        *known = Some(Arc::clone(&tool));
        Ok(tool)
    }

    /// The action of a derivation, which the farm has when this returns, with everything that it needs.
    fn action(
        &self,
        session: &Session,
        client: &Client,
        can: &Capabilities,
        tool: &Tool,
        request: &Request<'_>,
    ) -> Result<Blob, Flaw> {
        let Request { drv, derivation, job, .. } = request;
        let unlisted = "one of its inputs has no listing";
        let description = Description::of(*drv, derivation, job, session.key()).ok_or(unlisted)?;
        let description = serde_json::to_vec(&description).map_err(|error| Flaw::Here(error.to_string()))?;
        let inputs = job.inputs.values().map(|tree| {
            Ok(InputDir { root: &tree.root, listing: narrowed(tree, session.key()).ok_or(unlisted)? })
        });
        let inputs = inputs.collect::<Result<Vec<_>, Flaw>>()?;
        let (root, mut blobs) = input::root(can, tool, description, &inputs, &self.names)?;
        let outputs = || [OUTPUT, REPORT].map(str::to_owned).to_vec();
        let platform = self.platform();
        #[expect(
            deprecated,
            reason = "servers of an earlier version know no other place for outputs and platform"
        )]
        let command = proto::Command {
            arguments: tool.command.clone(),
            output_paths: outputs(),
            output_files: outputs(),
            platform: platform.clone(),
            ..Default::default()
        };
        let command = keep(can, command.encode_to_vec(), &mut blobs);
        let action = proto::Action {
            command_digest: Some(command.to_proto()),
            input_root_digest: Some(root.to_proto()),
            timeout: Some(ProtoDuration { seconds: TIMEOUT, nanos: 0 }),
            salt: SALT.to_vec(),
            platform,
            ..Default::default()
        };
        let action = keep(can, action.encode_to_vec(), &mut blobs);
        send(client, can, &blobs)?;
        Ok(action)
    }

    fn platform(&self) -> Option<proto::Platform> {
        let properties = self.settings.platform.iter();
        let properties: Vec<_> = properties
            .map(|(name, value)| proto::platform::Property { name: name.clone(), value: value.clone() })
            .collect();
        (!properties.is_empty()).then_some(proto::Platform { properties })
    }
}

fn keep(can: &Capabilities, bytes: Vec<u8>, blobs: &mut Blobs) -> Blob {
    let blob = can.function.of(&bytes);
    blobs.insert(blob.clone(), Bytes::Here(bytes));
    blob
}

/// Larger blobs are sent as they are: most networks are faster than compression then.
const COMPRESSED: u64 = 64 << 20;

/// Sends those blobs that the farm lacks, small ones together.
fn send(client: &Client, can: &Capabilities, blobs: &Blobs) -> Result<(), Flaw> {
    let all: Vec<Blob> = blobs.keys().cloned().collect();
    let (mut batch, mut size) = (Vec::new(), 0);
    for blob in client.find_missing(can, &all)? {
        let Some(bytes) = blobs.get(&blob) else { continue };
        let room = blob.size + PER_BLOB;
        if room > can.batch {
            let compressible = blob.size <= COMPRESSED;
            match bytes {
                Bytes::Here(bytes) => client.write(can, &blob, &mut &bytes[..], compressible)?,
                Bytes::File(path) => client.write(can, &blob, &mut fs::open(path)?, compressible)?,
            }
            continue;
        }
        if size + room > can.batch {
            client.write_batch(can, "its inputs", std::mem::take(&mut batch))?;
            size = 0;
        }
        size += room;
        let bytes = match bytes {
            Bytes::Here(bytes) => bytes.clone(),
            Bytes::File(path) => fs::read(path)?,
        };
        batch.push((blob, bytes));
    }
    if !batch.is_empty() {
        client.write_batch(can, "its inputs", batch)?;
    }
    Ok(())
}

/// Properties that say which architecture workers have, as farms call it.
const ARCHITECTURE: [&str; 4] = ["arch", "isa", "cpu", "architecture"];

/// Names of one architecture: ours first.
const NAMES: [&[&str]; 4] = [
    &["x86_64", "amd64", "x86-64", "x64"],
    &["aarch64", "arm64", "arm-a64"],
    &["powerpc64", "ppc64le", "powerpc64le"],
    &["s390x"],
];

/// What is wrong with a platform that this program cannot run on.
fn foreign(settings: &FarmSettings) -> Option<String> {
    let own = NAMES.iter().find(|names| names.contains(&std::env::consts::ARCH))?;
    settings.platform.iter().find_map(|(name, value)| {
        let names = ARCHITECTURE.contains(&name.to_ascii_lowercase().as_str());
        let value = value.to_ascii_lowercase();
        let other =
            NAMES.iter().any(|names| names.contains(&value.as_str())) && !own.contains(&value.as_str());
        (names && other)
            .then(|| format!("its workers are {value}, and this tinderbox is for {}", std::env::consts::ARCH))
    })
}
