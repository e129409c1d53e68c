//! Where nodes find the release: in its registry or a mirror, by digest.

use std::time::Duration;

use super::{Env, Result, Workspace, release};
use crate::base::value::Value;
use crate::engine::fields::Projected;
use crate::engine::registry::{Access, ImageName, Images as _, Located, Patience, Reference, Remote, Sha256};
use crate::openshift::config::Release;

/// An answer is wanted soon: this is a question, not a download.
fn patience() -> Patience {
    let seconds = Duration::from_secs;
    Patience {
        delays: vec![seconds(1)],
        longest: seconds(2),
        connect: seconds(5),
        idle: seconds(10),
        whole: seconds(20),
        ..Patience::default()
    }
}

impl Workspace {
    /// The release by the name that nodes pull it with, and where it is; none if it is in no registry. Its manifest is fetched and
    /// verified, with the credentials, mirrors and authorities of the cluster's files.
    pub(crate) fn locate_release(&self, env: Env<'_>) -> Result<Option<(String, Located)>> {
        let pinned = |field: &str| match self.fields.project(field).map(|found| found.value) {
            Ok(Projected::Plain(Value::Text(text))) => Some(text),
            _ => None,
        };
        let name = match (&self.cluster.release, &self.cluster.release_repository) {
            (Release::Demo { .. }, _) | (Release::Layout { .. }, None) => None,
            (Release::Layout { .. }, Some(repository)) => {
                pinned("lock.release.digest").map(|digest| format!("{repository}@{digest}"))
            }
            _ => pinned("lock.release.image"),
        };
        let Some(image) = name.and_then(|name| name.parse::<ImageName>().ok()) else { return Ok(None) };
        let Reference::Digest(digest) = image.reference.clone() else { return Ok(None) };
        let digest: Sha256 = digest;
        let access = Access { patience: patience(), ..release::access(env, &self.cluster) };
        let remote = Remote::new(access)?;
        remote.manifest(&image, &digest)?;
        let located = remote.locate(&image, &digest)?;
        Ok(Some((image.to_string(), located)))
    }
}
