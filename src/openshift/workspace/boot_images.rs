//! The node OS: the live ISO, the QEMU image and the files for booting from the network of a release. Pinned by sha256, from the payload's stream metadata or from
//! the user's own files. Downloads nothing.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use sha2::Digest as _;

use super::{Env, Result, Workspace, WorkspaceError};
use crate::base::event::Event;
use crate::base::fs;
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source};
use crate::engine::registry::Sha256;
use crate::openshift::lock::{Artifact, LockedRelease, Rhcos};

/// The content of the payload's ConfigMap coreos-bootimages.
#[derive(Deserialize)]
struct Stream {
    architectures: std::collections::BTreeMap<String, StreamArchitecture>,
}

#[derive(Deserialize)]
struct StreamArchitecture {
    artifacts: std::collections::BTreeMap<String, StreamArtifact>,
}

#[derive(Deserialize)]
struct StreamArtifact {
    /// The version of the OS.
    release: Option<String>,
    formats: std::collections::BTreeMap<String, StreamFormat>,
}

#[derive(Deserialize)]
struct StreamFormat {
    disk: Option<StreamDisk>,
    // Of the format `pxe`.
    kernel: Option<StreamDisk>,
    initramfs: Option<StreamDisk>,
    rootfs: Option<StreamDisk>,
}

#[derive(Deserialize)]
struct StreamDisk {
    location: String,
    sha256: String,
    #[serde(rename = "uncompressed-sha256")]
    uncompressed: Option<String>,
}

/// The images of the node OS: the user's own where cluster.yaml names them, else those of the release.
pub(crate) fn pin(env: Env<'_>, release: &LockedRelease) -> Result<Rhcos> {
    let workspace = Workspace::load_release(env, release)?;
    let own = &workspace.cluster.rhcos;
    let all_own = own.files().iter().all(|(_, path)| path.is_some());
    let mut pinned = match all_own {
        true => Rhcos::default(),
        false => of_release(env, &workspace, release)?,
    };
    let mine = |path: &Option<String>| -> Result<Option<Artifact>> {
        let Some(path) = path else { return Ok(None) };
        let hasher = fs::hash(&workspace.directory.path().join(path))?;
        let sha256 = Sha256::from_bytes(hasher.finalize().into()).hex();
        Ok(Some(Artifact::new(path, &sha256)))
    };
    for (path, slot) in [
        (&own.iso, &mut pinned.iso),
        (&own.qcow2, &mut pinned.qcow2),
        (&own.kernel, &mut pinned.kernel),
        (&own.initramfs, &mut pinned.initramfs),
        (&own.rootfs, &mut pinned.rootfs),
    ] {
        *slot = mine(path)?.or_else(|| slot.take());
    }
    Ok(pinned)
}

/// The images of the release; empty if it lists none.
fn of_release(env: Env<'_>, workspace: &Workspace, release: &LockedRelease) -> Result<Rhcos> {
    let session = workspace.session(env)?;
    let at = workspace.find("release/payload")?;
    let outcome = workspace.build(env, &session, &[at])?;
    let Some(done) = outcome.done.get(&at) else { return Ok(Rhcos::default()) };
    let payload = session.store().object(done.output.object)?;
    warn_of_missing(env, workspace, &payload.path.join("image-references"))?;
    let found = payload.listing.leaves("manifests").find(|(path, _)| path.contains("coreos-bootimages"));
    let Some((file, _)) = found else { return Ok(Rhcos::default()) };
    let wrong = |problem: String| WorkspaceError::BootImages { file: file.to_owned(), problem };
    let text = fs::read_text(&payload.path.join(file))?;
    let chosen = workspace.cluster.os_image_stream.as_deref();
    let wanted = match chosen {
        Some(chosen) => {
            // The metadata does not name a stream that is the only one.
            let streams = workspace.knowledge.components.get()?.os_streams(workspace.release);
            (streams != [chosen]).then_some((chosen, true))
        }
        None => workspace.knowledge.boot_images.get()?.stream(workspace.release).map(|name| (name, false)),
    };
    let stream = stream_of(file, &text, wanted).ok_or_else(|| {
        wrong(match wanted {
            Some((name, true)) => format!("data.streams has no `{name}`, which osImageStream asks for"),
            _ => "it has no data.stream".into(),
        })
    })?;
    let stream: Stream = serde_json::from_str(&stream).map_err(|error| wrong(error.to_string()))?;
    let architecture = match release.architecture.as_str() {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        other => other,
    };
    let known = stream.architectures.get(architecture);
    if known.is_none() {
        let known: Vec<&str> = stream.architectures.keys().map(String::as_str).collect();
        let known = known.join(", ");
        let text =
            format!("the release has no boot image for {architecture}, only for {known}: nothing is pinned");
        env.events.emit(Event::Warning { text });
    }
    let versions =
        known.into_iter().flat_map(|known| known.artifacts.values()).filter_map(|one| one.release.as_deref());
    warn_of_contents(env, workspace, versions.collect())?;
    // What machines boot comes from the web: nothing else is asked for it.
    let images = known.map(StreamArchitecture::images).unwrap_or_default();
    for (_, image) in images.images() {
        if let Some(Artifact { location, .. }) =
            image.as_ref().filter(|image| !is_on_the_web(&image.location))
        {
            return Err(wrong(format!("`{}` is not an http or https URL", location.escape_debug())));
        }
    }
    Ok(Rhcos { stream: chosen.map(str::to_owned), ..images })
}

fn is_on_the_web(location: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| location.starts_with(scheme))
        && !location.contains(|c: char| c.is_control() || c.is_whitespace())
}

impl StreamArchitecture {
    /// What the lock pins of it.
    fn images(&self) -> Rhcos {
        let format = |artifact: &str, format: &str| self.artifacts.get(artifact)?.formats.get(format);
        let disk = |artifact: &str, formats: &[&str]| {
            formats.iter().find_map(|one| format(artifact, one)?.disk.as_ref()).map(StreamDisk::pinned)
        };
        let pxe = |file: fn(&StreamFormat) -> &Option<StreamDisk>| {
            file(format("metal", "pxe")?).as_ref().map(StreamDisk::pinned)
        };
        Rhcos {
            stream: None,
            iso: disk("metal", &["iso"]),
            qcow2: disk("qemu", &["qcow2.gz", "qcow2.xz", "qcow2"]),
            kernel: pxe(|format| &format.kernel),
            initramfs: pxe(|format| &format.initramfs),
            rootfs: pxe(|format| &format.rootfs),
        }
    }
}

impl StreamDisk {
    fn pinned(&self) -> Artifact {
        let pinned = Artifact::new(&self.location, &self.sha256);
        Artifact { uncompressed: self.uncompressed.clone(), ..pinned }
    }
}

/// Warns about components that nodes need and the release lacks: rendering would fail much later.
fn warn_of_missing(env: Env<'_>, workspace: &Workspace, references: &Path) -> Result<()> {
    let references: serde_json::Value = serde_json::from_str(&fs::read_text(references)?).unwrap_or_default();
    let tags = references["spec"]["tags"].as_array().into_iter().flatten();
    let tags: BTreeSet<&str> = tags.filter_map(|tag| tag["name"].as_str()).collect();
    for (name, row) in workspace.knowledge.components.get()?.required(workspace.release) {
        if !tags.contains(name) {
            let (by, without) = (&row.by, &row.without);
            let text = format!("the release has no component `{name}`, which {by} looks for: {without}");
            env.events.emit(Event::Warning { text });
        }
    }
    Ok(())
}

/// Warns about required programs that boot images of these versions lack, if nothing else brings them.
fn warn_of_contents(env: Env<'_>, workspace: &Workspace, versions: BTreeSet<&str>) -> Result<()> {
    let known = workspace.knowledge.boot_images.get()?;
    // A node that bootstraps itself is a master: its first boot ends in the operating system of the release, before its kubelet starts.
    if workspace.graph.find(known.overlay()).is_some() || workspace.cluster.is_in_place() {
        return Ok(());
    }
    for version in versions {
        if let Some((programs, without)) = known.missing(version, workspace.release) {
            let text = format!("the boot image {version} has no {}: {without}", programs.join(", "));
            env.events.emit(Event::Warning { text });
        }
    }
    Ok(())
}

/// The wanted one of `data.streams`, else `data.stream`, unless the wanted one is a must.
fn stream_of(file: &str, text: &str, wanted: Option<(&str, bool)>) -> Option<String> {
    let root = yaml::go_documents(Source { name: file, text }, &mut Problems::default()).pop()?;
    let data = root.get("data")?;
    let several = |name: &str| {
        let text = data.get("streams")?.text()?;
        let streams: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).ok()?;
        streams.get(name).map(ToString::to_string)
    };
    let default = || data.get("stream")?.text().map(str::to_owned);
    match wanted {
        Some((name, true)) => several(name),
        Some((name, false)) => several(name).or_else(default),
        None => default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a release's stream metadata has it; the demo release has no `pxe`.
    #[test]
    fn every_format_is_pinned() {
        let file = |name: &str| {
            format!(r#"{{"location": "https://example.com/{name}", "signature": "", "sha256": "{name}"}}"#)
        };
        let text = format!(
            r#"{{"artifacts": {{
                "metal": {{"release": "9.6", "formats": {{
                    "4k.raw.gz": {{"disk": {raw}}}, "iso": {{"disk": {iso}}},
                    "pxe": {{"kernel": {kernel}, "initramfs": {initramfs}, "rootfs": {rootfs}}}}}}},
                "qemu": {{"formats": {{"qcow2.gz": {{"disk": {qcow2}}}}}}}}}}}"#,
            raw = file("raw"),
            iso = file("iso"),
            kernel = file("kernel"),
            initramfs = file("initramfs"),
            rootfs = file("rootfs"),
            qcow2 = file("qcow2"),
        );
        let images = serde_json::from_str::<StreamArchitecture>(&text).unwrap().images();
        for (name, image) in images.images() {
            assert_eq!(*image, Some(Artifact::new(&format!("https://example.com/{name}"), name)));
        }
        let none = serde_json::from_str::<StreamArchitecture>(r#"{"artifacts": {}}"#).unwrap().images();
        assert_eq!(none, Rhcos::default());
    }
}
