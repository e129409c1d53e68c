//! Image policies of a payload (ClusterImagePolicy): which images nodes pull only if they are signed, and by whom.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::base::pki::PublicKey;
use crate::base::yaml::YamlNode;
use crate::engine::registry;

/// A policy, as far as it is about keys.
#[derive(Debug, Clone)]
pub(crate) struct ImagePolicy {
    pub name: String,
    /// Registries and repositories.
    pub scopes: Vec<String>,
    /// Empty if it asks for something else than a signature by a key, or its keys cannot be read.
    pub keys: Vec<PublicKey>,
    /// Whether it says itself which names in signatures count.
    pub remaps: bool,
}

impl ImagePolicy {
    /// The policy in a manifest; none if the manifest is of another kind.
    pub(crate) fn read(object: &YamlNode) -> Option<Self> {
        let text = |path: &str| object.get(path).and_then(YamlNode::text);
        if text("kind") != Some("ClusterImagePolicy") {
            return None;
        }
        let at = |path: &[&str]| path.iter().try_fold(object, |node, key| node.get(key));
        let name = at(&["metadata", "name"]).and_then(YamlNode::text).unwrap_or_default().to_owned();
        let scopes = at(&["spec", "scopes"]).map(YamlNode::items).unwrap_or_default();
        let data = at(&["spec", "policy", "rootOfTrust", "publicKey", "keyData"]).and_then(YamlNode::text);
        let keys = data.and_then(|data| {
            let pem = String::from_utf8(STANDARD.decode(data).ok()?).ok()?;
            PublicKey::all_from_pem(&pem).ok()
        });
        Some(Self {
            name,
            scopes: scopes.iter().filter_map(YamlNode::text).map(str::to_owned).collect(),
            keys: keys.unwrap_or_default(),
            remaps: at(&["spec", "policy", "signedIdentity"]).is_some(),
        })
    }

    /// Whether it is about images of this repository, `registry/repository`.
    pub(crate) fn covers(&self, repository: &str) -> bool {
        self.scopes.iter().any(|scope| registry::is_below(scope, repository))
    }
}
