//! What a closure has from outside: the release image, files that the lock pins, and the images that the cluster will run.

use std::collections::BTreeMap;

use super::{Result, Workspace};
use crate::base::fs;
use crate::base::value::Value;
use crate::engine::cache::Material;
use crate::engine::exec::BuildPlan;
use crate::engine::fields::Projected;
use crate::engine::store::{Store, StoreError};

/// The derivation with the pull specs of all components.
pub(super) const COMPONENTS: &str = "release/images";

impl Workspace {
    /// Everything by its digest, sorted.
    pub(crate) fn materials(&self, store: &Store, plan: &BuildPlan) -> Result<Vec<Material>> {
        let mut all = Vec::new();
        if let Ok(Projected::Plain(Value::Text(image))) =
            self.fields.project("lock.release.image").map(|found| found.value)
        {
            all.extend(by_digest("release", &image, true));
        }
        for (kind, pinned) in self.rhcos.images() {
            all.extend(pinned.iter().map(|file| Material {
                name: format!("rhcos {kind}"),
                // A path of this machine says nothing elsewhere.
                place: if file.location.contains("://") { file.location.clone() } else { String::new() },
                sha256: file.sha256.clone(),
                read: false,
            }));
        }
        if let Some(done) = self.graph.find(COMPONENTS).and_then(|at| plan.done.get(&at)) {
            let path = store.object(done.output.object)?.path.join("images.json");
            let components: BTreeMap<String, String> = serde_json::from_str(&fs::read_text(&path)?)
                .map_err(|source| StoreError::Unreadable { path, source })?;
            all.extend(components.iter().filter_map(|(name, image)| by_digest(name, image, false)));
        }
        all.sort();
        Ok(all)
    }
}

fn by_digest(name: &str, image: &str, read: bool) -> Option<Material> {
    let (_, sha256) = image.split_once("@sha256:")?;
    Some(Material { name: name.to_owned(), place: image.to_owned(), sha256: sha256.to_owned(), read })
}
