//! The user's own files in the guide, and the lock.

use super::collect::Collector;
use crate::base::fs;
use crate::cli::Result;
use crate::compare::guide::GuideEntry;
use crate::openshift::knowledge::{About, Known, Purpose};
use crate::openshift::workspace::{CLUSTER, INSTALL_CONFIG, LOCK};

impl Collector<'_> {
    /// What the user wrote, and the lock.
    pub(super) fn user_files(&mut self) -> Result<()> {
        let directory = &self.found.workspace.directory;
        let mut names = vec![INSTALL_CONFIG.to_owned(), CLUSTER.to_owned(), LOCK.to_owned()];
        for folder in ["manifests", "patches"] {
            let root = directory.file(folder);
            if fs::exists(&root)? {
                let files = fs::list_kinds(&root)?.into_iter().filter(|(_, is_dir)| !is_dir);
                names.extend(files.map(|(name, _)| format!("{folder}/{}", name.to_string_lossy())));
            }
        }
        for name in names {
            let Ok(bytes) = fs::read(&directory.file(&name)) else { continue };
            let purpose = user_file(&name);
            let about = vec![About { subject: name.clone(), known: Known::Yours, purpose }];
            let chapter = if name == LOCK { "pinned" } else { "config" };
            let file = self.contents.user_file(&name, bytes);
            let entry = GuideEntry {
                files: vec![file],
                kind: "file".to_owned(),
                command: format!("$EDITOR {name}"),
                ..self.empty(&name, about)
            };
            self.place(chapter, "Files", entry);
        }
        Ok(())
    }
}

fn user_file(name: &str) -> Purpose {
    let (purpose, reader, without) = match name {
        INSTALL_CONFIG => (
            "OpenShift's own description of the cluster: its name, domain, networks, pull secret and SSH key. It is read, never changed.",
            "tinderbox; the cluster keeps a copy as ConfigMap kube-system/cluster-config-v1, without the pull secret",
            "there is nothing to build",
        ),
        CLUSTER => (
            "What install-config has no place for: the release, the machines and their addresses, the VIPs, the gateway.",
            "tinderbox alone; the cluster never sees it",
            "there is nothing to build",
        ),
        LOCK => (
            "What the outside world said, pinned: the release by digest, the boot image by SHA-256, the epoch.",
            "tinderbox, at every build; `lock --update` and `renew` change it",
            "the next build asks the registry again, and may get another release",
        ),
        name if name.starts_with("manifests/") => (
            "A manifest of your own: bootkube.sh applies it with the others, and it takes part in the render of nodes if the machine-config operator reads its kind.",
            "bootkube.sh, and whoever watches its kind",
            "only you know",
        ),
        _ => (
            "A patch of your own: it changes artifacts after they are made, and fails the build if it matches nothing.",
            "tinderbox",
            "the artifact is as its recipe makes it",
        ),
    };
    let text = str::to_owned;
    Purpose { purpose: text(purpose), reader: text(reader), without: text(without), checks: Vec::new() }
}
