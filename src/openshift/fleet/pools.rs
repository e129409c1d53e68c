//! What the user's MachineConfigPools say about how many nodes may be updated at a time.

use std::collections::BTreeMap;

use crate::base::hint::Problems;
use crate::base::yaml::{self, Source, YamlNode};
use crate::openshift::workspace::{ClusterDir, Result};

const KIND: &str = "MachineConfigPool";

/// `maxUnavailable` by the name of the pool, as far as the user's manifests have it.
pub(crate) fn max_unavailable(directory: &ClusterDir) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for (name, bytes, _) in directory.files_of("manifests")? {
        let text = String::from_utf8_lossy(&bytes);
        if !text.contains(KIND) {
            continue;
        }
        // What is wrong with a manifest, the build says.
        let documents = yaml::documents(Source { name: &name, text: &text }, &mut Problems::default());
        for document in documents {
            let at = |path: &[&str]| {
                let node = path.iter().try_fold(&document, |node, key| node.get(key));
                node.and_then(YamlNode::text).map(str::to_owned)
            };
            if at(&["kind"]).as_deref() == Some(KIND)
                && let (Some(pool), Some(limit)) =
                    (at(&["metadata", "name"]), at(&["spec", "maxUnavailable"]))
            {
                found.insert(pool, limit);
            }
        }
    }
    Ok(found)
}
