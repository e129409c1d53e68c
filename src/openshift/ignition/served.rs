//! What the Machine Config Server adds to a MachineConfig when it serves a node (`pkg/server/server.go` of the
//! machine-config operator). There is no server before there is a cluster, so we add it.

use serde::Serialize as _;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Value, json};

use super::{IgnitionError, Version};
use crate::base::json::{canonical, sorted};

/// The MachineConfig as served: a debugging aid of the machine-config daemon.
pub(crate) const CONTENT_PATH: &str = "/etc/mcs-machine-config-content.json";
/// The MachineConfig with an empty Ignition config: kernel arguments, kernel type and OS image, for the first boot.
pub(crate) const ENCAPSULATED_PATH: &str = "/etc/ignition-machine-config-encapsulated.json";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Served {
    /// The file at [`CONTENT_PATH`]; contains the whole config, including secrets.
    pub content: String,
    /// The file at [`ENCAPSULATED_PATH`]; contains nothing of the config.
    pub encapsulated: String,
}

/// Creates both from a rendered MachineConfig, for configs of that version.
pub(crate) fn served(machine_config: &str, version: Version) -> Result<Served, IgnitionError> {
    let fail = |problem| IgnitionError::MachineConfig { problem };
    let mut value: Value = serde_json::from_str(machine_config).map_err(|_| fail("is not JSON"))?;
    if value.get("kind").and_then(Value::as_str) != Some("MachineConfig") {
        return Err(fail("is of another kind"));
    }
    // The server's JSON library (clarketm/json) omits empty structs, a time of zero among them, in every release.
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, value| key != "creationTimestamp" || !value.is_null());
    }
    // Four spaces, like the server.
    let mut content = Vec::new();
    let mut writer = Serializer::with_formatter(&mut content, PrettyFormatter::with_indent(b"    "));
    sorted(&value).serialize(&mut writer).map_err(|_| fail("is not JSON"))?;
    let content = String::from_utf8(content).map_err(|_| fail("is not JSON"))?;
    let config = value.get_mut("spec").and_then(|spec| spec.get_mut("config"));
    *config.ok_or_else(|| fail("has no spec.config"))? =
        json!({"ignition": {"version": version.to_string()}});
    Ok(Served { content, encapsulated: canonical(&value) })
}
