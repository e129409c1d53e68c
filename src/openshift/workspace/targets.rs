//! Resolves names on the command line to derivations, with advice if there are none.

use super::{Result, Workspace, WorkspaceError};
use crate::base::hint::near;
use crate::base::value::Value;
use crate::engine::builders::Location;
use crate::engine::fields::Projected;
use crate::engine::recipe::{Absent, NodeIndex};

/// The condition of the live ISO recipes.
const LOCAL_ISO: &str = "lock.rhcos.iso.local";
/// The conditions of the recipes for booting from the network begin with it.
const LOCAL_KERNEL: &str = "lock.rhcos.kernel.local";
/// The folder with what each node boots with.
const NODES: &str = "ignition/";

impl Workspace {
    /// The derivations of the targets; by default `cluster`.
    pub(crate) fn select(&self, targets: &[String]) -> Result<Vec<NodeIndex>> {
        let default = ["cluster".to_owned()];
        let targets = if targets.is_empty() { &default } else { targets };
        let mut found = Vec::new();
        for target in targets {
            let selected = self.graph.select(target);
            if selected.is_empty() {
                return Err(self.no_target(target));
            }
            found.extend(selected);
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The derivation of that name.
    pub(crate) fn find(&self, target: &str) -> Result<NodeIndex> {
        self.graph.find(target).ok_or_else(|| self.no_target(target))
    }

    fn no_target(&self, target: &str) -> WorkspaceError {
        if let Some(why) = self.graph.absent(target) {
            let advice = match why {
                Absent::Unset(condition) if condition == LOCAL_ISO => Some(self.no_iso()),
                Absent::Unset(condition) if condition == LOCAL_KERNEL => Some(
                    "`tinderbox lock --fetch pxe` downloads the release's live kernel, initramfs and rootfs; or name yours in cluster.yaml \
                     (`rhcos: {kernel: FILE, initramfs: FILE, rootfs: FILE}`), and run `tinderbox lock --update rhcos`"
                        .into(),
                ),
                Absent::Unset(condition) => Some(format!("it is there once `{condition}` is set")),
                Absent::Otherwise { found: None, .. } => Some("run `tinderbox lock`, which pins it".into()),
                Absent::Otherwise { .. } | Absent::NoneOf(_) | Absent::Never(_) => None,
            };
            return WorkspaceError::Absent { target: target.to_owned(), why: why.to_string(), advice };
        }
        let names = self.graph.nodes().iter().flat_map(|node| {
            let folder = node.name.split_once('/').map(|(folder, _)| folder);
            std::iter::once(node.name.as_str()).chain(folder)
        });
        // A file of a derivation, or its name without the folder: for a node, what it boots with.
        let name = target.split_once(':').map_or(target, |(name, _)| name);
        let of_file = Some(name).filter(|name| *name != target && self.graph.find(name).is_some());
        let end = format!("/{name}");
        let same_end: Vec<&str> = names.clone().filter(|name| name.ends_with(&end)).collect();
        let boots = same_end.iter().find(|name| name.starts_with(NODES));
        let unique = if let [one] = same_end.as_slice() { Some(one) } else { boots };
        let near = of_file.or_else(|| near(target, names)).map(str::to_owned);
        let near = near.or_else(|| Some(format!("{}{}", unique?, &target[name.len()..])));
        WorkspaceError::NoTarget { target: target.to_owned(), near }
    }

    /// What to do to get live ISOs.
    pub(crate) fn no_iso(&self) -> String {
        match self.fields.project("lock.rhcos.iso.location").map(|found| found.value) {
            Ok(Projected::Plain(Value::Text(url))) => Location::Elsewhere(url).advice("rhcos"),
            _ => {
                "name the release's live ISO in cluster.yaml (`rhcos: {iso: FILE}`), and run `tinderbox lock \
                  --update rhcos`"
                    .into()
            }
        }
    }
}
