//! The real programs: those of the directory in `TINDERBOX_LAB`; etcd and kubectl may be on `PATH` as well.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Each with the package or image of a release that has it.
const PROGRAMS: [(&str, &str); 8] = [
    ("etcd", "image etcd, or Debian's etcd-server from 3.5 on"),
    ("kube-apiserver", "image hyperkube"),
    ("kube-controller-manager", "image hyperkube"),
    ("kube-scheduler", "image hyperkube"),
    ("cluster-policy-controller", "image cluster-policy-controller"),
    ("cluster-version-operator", "the release image"),
    ("kubectl", "image cli, or kubernetes.io's from 1.31 on"),
    ("ignition", "RHCOS, /usr/lib/dracut/modules.d/30ignition; 2.18 or later"),
];

/// Where each program is.
pub(super) struct Programs(Vec<(&'static str, PathBuf)>);

impl Programs {
    /// None where nobody asked for the lab. Who asks and lacks a program is told which, all at once.
    pub(super) fn find() -> Option<Self> {
        let Some(directory) = std::env::var_os("TINDERBOX_LAB").map(PathBuf::from) else {
            eprintln!("the lab is off: TINDERBOX_LAB names no directory with real programs (docs/lab.md)");
            return None;
        };
        assert!(
            crate::harness::is_root(),
            "the lab needs root: Ignition writes a node's root, and mounts it"
        );
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places: Vec<PathBuf> =
            [directory.clone()].into_iter().chain(std::env::split_paths(&path)).collect();
        let found = PROGRAMS.map(|(name, from)| {
            match places.iter().map(|place| place.join(name)).find(|path| runs(path)) {
                Some(path) => Ok((name, path.canonicalize().unwrap())),
                None => Err(format!("  {name}: {from}")),
            }
        });
        let missing: Vec<String> = found.iter().filter_map(|one| one.clone().err()).collect();
        assert!(missing.is_empty(), "TINDERBOX_LAB={} lacks:\n{}", directory.display(), missing.join("\n"));
        Some(Self(found.into_iter().flatten().collect()))
    }

    pub(super) fn path(&self, name: &str) -> &Path {
        &self.0.iter().find(|(known, _)| *known == name).unwrap().1
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.0.iter().map(|(name, path)| (*name, path.as_path()))
    }
}

fn runs(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
