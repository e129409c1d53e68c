//! A directory of openshift-install, as `create manifests` or `create ignition-configs` left it: read, never changed.
//!
//! ```text
//! state      .openshift_install_state.json: the install-config and every manifest as the installer generated it
//! files      the directory itself, or the manifests inside bootstrap.ign; all problems at once
//! classify   each object: ours, changed by the user, the user's own, or left out with a reason
//! write      the files that a cluster directory gets for it
//! ```
//!
//! The state file tells an edit of the user from a difference between the installer and us: what equals the
//! installer's own copy is not an edit, whatever ours looks like. Invariant: no message contains a value of a `Secret`.

mod classify;
mod files;
mod state;
mod write;

pub(crate) use classify::{Differs, Disposition, Finding, OurObject, classify};
pub(crate) use files::InstallDir;
pub(crate) use write::{Kept, kept_files, patch_files};

use crate::base::yaml::YamlNode;
use crate::openshift::patch::Identity;

/// `Scheduler.config.openshift.io cluster`, `Secret kube-system/kubeadmin`: as tables write it.
fn key_of(object: &Identity) -> String {
    let kind = match object.group() {
        "" => object.kind.clone(),
        group => format!("{}.{group}", object.kind),
    };
    match object.namespace.as_str() {
        "" => format!("{kind} {}", object.name),
        namespace => format!("{kind} {namespace}/{}", object.name),
    }
}

/// A text in the data of an object.
fn data<'n>(document: &'n YamlNode, key: &str) -> Option<&'n str> {
    document.get("data")?.get(key)?.text()
}
