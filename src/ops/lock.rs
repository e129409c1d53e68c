//! `lock`: pins what the outside world says. Fills in what is missing; only `--update` changes what is there.

use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::directory::LOCK;
use super::seed::Seed;
use super::workspace::this_second;
use super::{ClusterDir, Env, OpsError, Result};
use crate::fs;
use crate::lock::Lock;

/// What `lock` is asked for.
#[derive(Debug, Clone, Default)]
pub struct LockRequest {
    /// `epoch` or `epoch=TIME`, each to be changed although it is there.
    pub update: Vec<String>,
}

/// What moved.
#[derive(Debug, Serialize)]
pub struct Locked {
    /// Fields that changed: name, before (none: it was missing), after.
    pub moved: Vec<Moved>,
    /// Whether the seed was made.
    pub seed_made: bool,
}

/// One field of the lock that changed.
#[derive(Debug, Serialize)]
pub struct Moved {
    /// Which.
    pub field: &'static str,
    /// Before.
    pub from: Option<String>,
    /// After.
    pub to: String,
}

/// Pins.
pub fn lock(env: Env<'_>, request: &LockRequest) -> Result<Locked> {
    let directory = ClusterDir::open(env.directory)?;
    let path = directory.file(LOCK);
    let before = match fs::optional(fs::read_text(&path))? {
        Some(text) => Some(Lock::parse(LOCK, &text)?),
        None => None,
    };
    let wanted = request.update.iter().map(|update| parse_update(update)).collect::<Result<Vec<_>>>()?;
    let epoch = match (wanted.last(), &before) {
        (Some(epoch), _) => *epoch,
        (None, Some(before)) => before.epoch,
        (None, None) => this_second(),
    };
    let after = Lock { epoch };
    let mut moved = Vec::new();
    if before.as_ref() != Some(&after) {
        fs::replace(&path, after.encode().as_bytes(), 0o644)?;
        let show = |lock: &Lock| lock.epoch.format(&Rfc3339).unwrap_or_default();
        moved.push(Moved { field: "epoch", from: before.as_ref().map(show), to: show(&after) });
    }
    let seed_made = Seed::read(directory.path())?.is_none();
    if seed_made {
        Seed::make(directory.path())?;
    }
    Ok(Locked { moved, seed_made })
}

fn parse_update(update: &str) -> Result<OffsetDateTime> {
    let (field, value) = update.split_once('=').map_or((update, None), |(field, value)| (field, Some(value)));
    let usage =
        |message: String, advice: &str| Err(OpsError::Usage { message, advice: Some(advice.to_owned()) });
    if field != "epoch" {
        return usage(format!("`{field}` is not in the lock"), "the lock has `epoch`");
    }
    match value.map(|value| OffsetDateTime::parse(value, &Rfc3339)) {
        None => Ok(this_second()),
        Some(Ok(time)) => Ok(time.replace_nanosecond(0).unwrap_or(time).to_offset(time::UtcOffset::UTC)),
        Some(Err(_)) => usage(format!("`{update}` does not give a time"), "write epoch=2026-11-16T00:00:00Z"),
    }
}
