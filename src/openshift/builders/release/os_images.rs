//! `os-images`: what the machine-config controller asks registries about the release's OS images, so that it can ask a registry
//! on loopback instead (parameter `registry` of `run`).
//!
//! Inputs: `references`, the payload's image-references; `gates`, the FeatureGate `cluster`. Config values `architecture`,
//! `http_proxy` and `https_proxy`. Parameters: `gate`, with which the controller asks at all; `tags` (one `*` each) and `source` (part of
//! the location of their source) say which images it asks about.
//!
//! ```text
//! hosts                  names that the program has to know
//! images                 what it asks about, one pull spec a line; this and the rest only if the gate is enabled
//! listen, sha256/<hex>   addresses, manifests and configs
//! home/.config/containers/registries.conf.d/tinderbox.conf      sends whoever asks to that registry
//! ```
//!
//! A program with a proxy asks through it, so the registry stands at the proxy's address too. Fixed output: digests decide.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::super::ignition::params::fits;
use super::super::{BuildError, Builder, Grants, Job, JobError};
use super::images::ImageStream;
use crate::base::yaml::YamlNode;
use crate::engine::drv::BuilderId;
use crate::engine::registry::{self, ImageName, Manifest, Reference, RegistryError, Sha256};
use crate::engine::tree::TreeWriter;
use crate::openshift::builders::objects::Objects;

pub(crate) struct OsImages;

/// Where the registry stands: an address of its own, as the sandbox assigns it.
const ADDRESS: &str = "127.0.0.2:5000";

impl Builder for OsImages {
    fn id(&self) -> BuilderId {
        BuilderId::new("os-images", 1)
    }

    fn grants(&self) -> Grants {
        Grants { images: true, ..Grants::default() }
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["config", "gate", "source", "tags"])?;
        job.text_list("tags")?;
        for name in ["gate", "source"] {
            text(job, name)?;
        }
        if job.config().keys().ne(["architecture", "http_proxy", "https_proxy"].iter()) {
            let expected = "`architecture`, `http_proxy` and `https_proxy`";
            return Err(JobError::Expected { name: "config".into(), expected }.into());
        }
        Ok(job.exactly(&["gates", "references"])?)
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let mut hosts = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
        if !is_enabled(job, text(job, "gate")?)? {
            return Ok(out.write("hosts", hosts.as_bytes(), false)?);
        }
        let mut listen = format!("{ADDRESS}\n");
        if let Some((host, port)) = proxy(job) {
            match host.parse::<IpAddr>() {
                Ok(IpAddr::V6(address)) => listen.push_str(&format!("[{address}]:{port}\n")),
                Ok(IpAddr::V4(address)) => listen.push_str(&format!("{address}:{port}\n")),
                Err(_) => {
                    let own = ADDRESS.split(':').next().unwrap_or_default();
                    hosts.push_str(&format!("{own} {host}\n"));
                    listen.push_str(&format!("{own}:{port}\n"));
                }
            }
        }
        let (mut repositories, mut written, mut asked) = (BTreeSet::new(), BTreeSet::new(), String::new());
        for name in images(job)? {
            asked.push_str(&format!("{name}\n"));
            repositories.insert(format!("{}/{}", name.registry, name.repository));
            for (digest, bytes) in answers(job, &name)? {
                if written.insert(digest) {
                    out.write(&format!("sha256/{}", digest.hex()), &bytes, false)?;
                }
            }
        }
        let entry = |name: &String| {
            format!("[[registry]]\nprefix = \"{name}\"\nlocation = \"{ADDRESS}/{name}\"\ninsecure = true\n")
        };
        let configuration: String = repositories.iter().map(entry).collect();
        out.write(
            "home/.config/containers/registries.conf.d/tinderbox.conf",
            configuration.as_bytes(),
            false,
        )?;
        out.write("images", asked.as_bytes(), false)?;
        out.write("listen", listen.as_bytes(), false)?;
        Ok(out.write("hosts", hosts.as_bytes(), false)?)
    }
}

fn text<'a>(job: &'a Job<'_>, name: &str) -> Result<&'a str, JobError> {
    let value = job.params.get(name).and_then(|value| value.as_text());
    value.ok_or_else(|| JobError::Expected { name: name.to_owned(), expected: "a text" })
}

/// Whether the FeatureGate enables a gate.
fn is_enabled(job: &Job<'_>, gate: &str) -> Result<bool, BuildError> {
    let objects = Objects::read("gates", job.input("gates")?)?;
    let mut names = objects.iter().flat_map(|found| {
        let versions = found.document.get("status").and_then(|status| status.get("featureGates"));
        let enabled =
            versions.map(YamlNode::items).unwrap_or_default().iter().filter_map(|one| one.get("enabled"));
        let names = enabled.flat_map(YamlNode::items).filter_map(|one| one.get("name")?.text());
        names.map(str::to_owned).collect::<Vec<_>>()
    });
    Ok(names.any(|name| name == gate))
}

/// Host and port of the proxy that the controller uses; the one for HTTPS comes first.
fn proxy(job: &Job<'_>) -> Option<(String, u16)> {
    let config = job.config();
    let set = |name: &str| config.get(name).and_then(|value| value.as_text()).filter(|url| !url.is_empty());
    let url = set("https_proxy").or_else(|| set("http_proxy"))?;
    let found = address(url);
    if found.is_none() {
        job.notes.warn(
            "the machine-config controller asks for OS images through the proxy, and a build can stand in for one with \
             `http://` only"
                .to_owned(),
        );
    }
    found
}

/// Host and port of a proxy's URL; none if it speaks TLS.
fn address(url: &str) -> Option<(String, u16)> {
    let rest = url.strip_prefix("http://")?;
    // Without the password.
    let authority = rest.split('/').next().unwrap_or_default().rsplit('@').next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().unwrap_or(80)),
        _ => (authority, 80),
    };
    Some((host.trim_matches(['[', ']']).to_owned(), port))
}

/// The images that the controller asks about, by digest.
fn images(job: &Job<'_>) -> Result<Vec<ImageName>, BuildError> {
    let wrong = |problem: String| JobError::Input { alias: "references".into(), problem };
    let stream = ImageStream::read(&job.input("references")?.text("references", "")?).map_err(wrong)?;
    let (tags, source) = (job.text_list("tags")?, text(job, "source")?);
    let asked = stream.images().filter(|tag| fits(tag.name, &tags) || tag.source.contains(source));
    let named = asked.map(|tag| {
        let problem =
            |error: registry::NameError| wrong(format!("has a tag `{}` without an image: {error}", tag.name));
        Ok(tag.image.parse().map_err(problem)?)
    });
    named.collect()
}

/// What a registry answers about an image: its manifest, that of our architecture, and its config.
fn answers(job: &Job<'_>, name: &ImageName) -> Result<Vec<(Sha256, Vec<u8>)>, BuildError> {
    let images = job.images()?.images.as_ref();
    let malformed =
        |problem: &str| RegistryError::Malformed { image: name.to_string(), problem: problem.to_owned() };
    let Reference::Digest(digest) = name.reference else {
        return Err(malformed("it has a tag, which may move to another image").into());
    };
    let config = job.config();
    let architecture = config.get("architecture").and_then(|value| value.as_text()).unwrap_or_default();
    let (_, list) = images.manifest(name, &digest)?;
    let manifest = registry::image(images, name, &digest, architecture)?;
    manifest.check_architecture(images, name, architecture)?;
    let blob = manifest.read_config(images, name)?;
    let Manifest { digest: own, bytes, config, .. } = manifest;
    Ok(vec![(digest, list), (own, bytes), (config.digest, blob)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_proxy_has_no_password() {
        for (url, wanted) in [
            ("http://proxy.example.com:3128", Some(("proxy.example.com", 3128))),
            ("http://me:hunter2@proxy.example.com:3128/", Some(("proxy.example.com", 3128))),
            ("http://10.0.0.1", Some(("10.0.0.1", 80))),
            ("http://[fd00::1]:8080", Some(("fd00::1", 8080))),
            ("http://[fd00::1]", Some(("fd00::1", 80))),
            ("https://proxy.example.com:3129", None),
        ] {
            assert_eq!(address(url), wanted.map(|(host, port)| (host.to_owned(), port)), "{url}");
        }
    }
}
