//! The foundation: digests, files, values, versions, JSON, YAML, text, keys and certificates, failed connections, events,
//! hints, secrets.
//!
//! Knows nothing of builds, clusters or the terminal. `fs` is the only module that touches the file system, `process`
//! the only one that starts programs of the host.

pub(crate) mod cancel;
pub(crate) mod connection;
pub(crate) mod digest;
pub(crate) mod event;
pub(crate) mod fs;
pub(crate) mod git_index;
pub(crate) mod hint;
pub(crate) mod json;
pub(crate) mod pki;
pub(crate) mod process;
pub(crate) mod redact;
pub(crate) mod secret;
pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod value;
pub(crate) mod version;
pub(crate) mod yaml;
