//! `cluster.lock`: pins everything from outside. Written by `tinderbox lock`, never by hand; this module is pure.
//!
//! | field | what it pins |
//! |---|---|
//! | `version` | the format of this file |
//! | `epoch` | the only time that a derivation may see |
//! | `seed` | the fingerprint of the seed: a build with another seed would be another cluster |
//! | `release.reference` | `release` of cluster.yaml when this was pinned: a build notices when it changes |
//! | `release.image` | the release image by digest |
//! | `release.version`, `release.architecture` | what that image declares |
//! | `rhcos.iso`, `rhcos.qcow2` | the matching node OS: its location and sha256, and that of what is packed in it |
//! | `rhcos.kernel`, `rhcos.initramfs`, `rhcos.rootfs` | the same for machines that boot from the network |
//! | `rhcos.stream` | the OS stream of these, if install-config.yaml chose one |
//! | `rhcos.*.fetch` | whether machines use this download, wherever the build runs |
//! | `signatures` | what was seen of the release's signatures |
//! | `certificates.NAME` | an individually renewed certificate: its epoch, and the number of its keys so far |

mod signatures;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;
use serde::de::IgnoredAny;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use toml::Spanned;

use crate::base::digest::KeyId;
use crate::base::hint::{Place, Problem, Problems, line_of};
use crate::base::time::rfc3339;
use crate::base::value::Value;
use crate::openshift::knowledge::Flavor;

pub(crate) use signatures::{RELEASE, Signatures, first_few};

const VERSION: i64 = 1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lock {
    /// The only time that a derivation may see, in whole seconds, UTC.
    pub epoch: OffsetDateTime,
    /// The fingerprint of the seed; none in a lock of an earlier tinderbox.
    pub seed: Option<KeyId>,
    /// None in a lock that predates the release.
    pub release: Option<LockedRelease>,
    pub rhcos: Rhcos,
    /// None in a lock of an earlier tinderbox, and for the demo release.
    pub signatures: Option<Signatures>,
    /// Individually renewed certificates, by name.
    pub certificates: BTreeMap<String, Renewed>,
}

/// Overrides for one certificate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Renewed {
    /// Start of its validity, if not the common epoch.
    pub epoch: Option<OffsetDateTime>,
    /// Number of its key, from 1: every generation has another key.
    pub generation: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRenewed {
    epoch: Option<Spanned<String>>,
    generation: Option<u32>,
}

/// The pinned node OS; each image is optional.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rhcos {
    /// The OS stream of the release's images, if install-config.yaml chose one.
    pub stream: Option<String>,
    pub iso: Option<Artifact>,
    /// For QEMU.
    pub qcow2: Option<Artifact>,
    /// The live system for machines that boot from the network; the three belong together.
    pub kernel: Option<Artifact>,
    pub initramfs: Option<Artifact>,
    pub rootfs: Option<Artifact>,
}

impl Rhcos {
    /// All of them, by their names in the file.
    pub(crate) fn images(&self) -> [(&'static str, &Option<Artifact>); 5] {
        let Self { stream: _, iso, qcow2, kernel, initramfs, rootfs } = self;
        [("iso", iso), ("qcow2", qcow2), ("kernel", kernel), ("initramfs", initramfs), ("rootfs", rootfs)]
    }

    /// These pins, with what an earlier lock said of using the same kind of image.
    pub(crate) fn keeping(self, before: &Self) -> Self {
        let keep = |now: Option<Artifact>, then: &Option<Artifact>| {
            let mut now = now?;
            now.fetch = now.path().is_none() && then.as_ref().is_some_and(|then| then.fetch);
            if let Some(then) = then.as_ref().filter(|then| then.sha256 == now.sha256) {
                now.uncompressed = now.uncompressed.or_else(|| then.uncompressed.clone());
            }
            Some(now)
        };
        Self {
            stream: self.stream,
            iso: keep(self.iso, &before.iso),
            qcow2: keep(self.qcow2, &before.qcow2),
            kernel: keep(self.kernel, &before.kernel),
            initramfs: keep(self.initramfs, &before.initramfs),
            rootfs: keep(self.rootfs, &before.rootfs),
        }
    }
}

/// A pinned file outside the store.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Artifact {
    /// A URL, or a path relative to the cluster directory.
    pub location: String,
    /// 64 hex digits.
    pub sha256: String,
    /// The sha256 of what is packed in a `.gz` or `.xz`; none in a lock of an earlier tinderbox.
    #[serde(rename = "uncompressed-sha256")]
    pub uncompressed: Option<String>,
    /// Whether machines use this download. Part of the lock, and not of the machine that has the file: what is built must
    /// not depend on it.
    #[serde(default)]
    pub fetch: bool,
}

impl Artifact {
    pub(crate) fn new(location: &str, sha256: &str) -> Self {
        Self { location: location.to_owned(), sha256: sha256.to_owned(), uncompressed: None, fetch: false }
    }

    /// Its path relative to the cluster directory; none if it is a URL.
    pub(crate) fn path(&self) -> Option<&str> {
        (!self.location.contains("://")).then_some(self.location.as_str())
    }

    /// The last part of its location.
    pub(crate) fn file_name(&self) -> &str {
        let path = self.location.split(['?', '#']).next().unwrap_or_default();
        path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether machines boot it: the user's own file, or the release's after `lock --fetch`.
    pub(crate) fn is_used(&self) -> bool {
        self.path().is_some() || self.fetch
    }

    /// The sha256 of the file that machines boot: of a download, what is packed in it.
    pub(crate) fn boots(&self) -> &str {
        self.uncompressed.as_ref().filter(|_| self.fetch).unwrap_or(&self.sha256)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LockedRelease {
    /// The release in cluster.yaml when this was pinned.
    pub reference: String,
    /// By digest.
    pub image: String,
    /// As declared by the image.
    pub version: String,
    /// For example `amd64`.
    pub architecture: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRelease {
    /// In locks of an earlier tinderbox; `reference` says the same.
    #[serde(default, rename = "asked")]
    _asked: Option<IgnoredAny>,
    reference: String,
    image: String,
    version: String,
    architecture: String,
}

impl From<RawRelease> for LockedRelease {
    fn from(RawRelease { _asked, reference, image, version, architecture }: RawRelease) -> Self {
        Self { reference, image, version, architecture }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    version: Spanned<i64>,
    epoch: Spanned<String>,
    seed: Option<KeyId>,
    release: Option<RawRelease>,
    #[serde(default)]
    rhcos: Rhcos,
    signatures: Option<Signatures>,
    #[serde(default)]
    certificates: BTreeMap<String, RawRenewed>,
}

impl Lock {
    /// A lock that pins only the time.
    pub(crate) fn new(epoch: OffsetDateTime) -> Self {
        Self {
            epoch,
            seed: None,
            release: None,
            rhcos: Rhcos::default(),
            signatures: None,
            certificates: BTreeMap::new(),
        }
    }

    /// Parses the file; `name` is the file as the user knows it.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, Problems> {
        let place = |offset: Option<usize>, field: &str| {
            let line = offset.map(|offset| line_of(text, offset));
            Place { file: name.to_owned(), line, field: field.to_owned() }
        };
        let one = |problem: Problem| Problems(vec![problem]);
        let hint = || {
            "restore it from git; else keep its `version`, `epoch` and `[certificates]`, and `tinderbox lock` fills in the rest: \
             without the epoch every certificate is another one, and a running cluster trusts none of them"
                .to_owned()
        };
        let raw: Raw = toml::from_str(text).map_err(|error| {
            let place = place(error.span().map(|span| span.start), "");
            one(Problem::new(place, error.message()).hint(hint()))
        })?;
        if *raw.version.get_ref() != VERSION {
            let message =
                format!("unsupported format {}; this tinderbox supports {VERSION}", raw.version.get_ref());
            let problem = Problem::new(place(Some(raw.version.span().start), "version"), message);
            return Err(one(problem.hint("use the tinderbox that wrote it".to_owned())));
        }
        let time = |text: &Spanned<String>, field: &str| {
            let time = OffsetDateTime::parse(text.get_ref(), &Rfc3339).ok();
            let time =
                time.filter(|time| time.nanosecond() == 0).map(|time| time.to_offset(time::UtcOffset::UTC));
            time.ok_or_else(|| {
                let message = format!("`{}` is not a time", text.get_ref());
                let problem = Problem::new(place(Some(text.span().start), field), message);
                one(problem.hint("write it as 2026-11-16T00:00:00Z".to_owned()))
            })
        };
        let mut certificates = BTreeMap::new();
        for (name, RawRenewed { epoch, generation }) in raw.certificates {
            let field = format!("certificates.{name}.epoch");
            let epoch = epoch.map(|epoch| time(&epoch, &field)).transpose()?;
            certificates.insert(name, Renewed { epoch, generation });
        }
        let epoch = time(&raw.epoch, "epoch")?;
        let release = raw.release.map(LockedRelease::from);
        let Raw { seed, rhcos, signatures, .. } = raw;
        Ok(Self { epoch, seed, release, rhcos, signatures, certificates })
    }

    pub(crate) fn encode(&self) -> String {
        let Self { epoch, seed, release, rhcos, signatures, certificates } = self;
        let mut text = format!(
            "# What the outside world said, pinned by `tinderbox lock`. Commit this file: with it, the configuration and the\n\
             # seed, every artifact can be made again, byte for byte. `tinderbox lock --update` changes what is here.\n\
             version = {VERSION}\n\
             \n\
             # The one point in time that a build may see; certificates are valid from here on.\n\
             epoch = \"{}\"\n",
            rfc3339(*epoch)
        );
        if let Some(seed) = seed {
            let _ = write!(
                text,
                "\n# The fingerprint of this cluster's seed. It says nothing about the seed itself.\nseed = \"{seed}\"\n"
            );
        }
        if let Some(LockedRelease { reference, image, version, architecture }) = release {
            text.push_str("\n# What `release` in cluster.yaml meant.\n[release]\n");
            for (field, value) in [
                ("reference", reference),
                ("image", image),
                ("version", version),
                ("architecture", architecture),
            ] {
                // JSON strings are valid TOML.
                let _ = writeln!(text, "{field} = {}", Value::from(value.as_str()));
            }
        }
        if let Some(stream) = &rhcos.stream {
            let _ = writeln!(text, "\n[rhcos]\nstream = {}", Value::from(stream.as_str()));
        }
        for (name, artifact) in rhcos.images() {
            if let Some(Artifact { location, sha256, uncompressed, fetch }) = artifact {
                let quoted = |text: &String| Value::from(text.as_str());
                let _ = writeln!(text, "\n[rhcos.{name}]\nlocation = {}", quoted(location));
                let _ = writeln!(text, "sha256 = {}", quoted(sha256));
                if let Some(uncompressed) = uncompressed {
                    let _ = writeln!(text, "uncompressed-sha256 = {}", quoted(uncompressed));
                }
                if *fetch {
                    text.push_str("fetch = true\n");
                }
            }
        }
        if let Some(signatures) = signatures {
            signatures.encode(&mut text);
        }
        if !certificates.is_empty() {
            text.push_str("\n# Certificates that `tinderbox renew` gave a date or a key of their own.\n");
        }
        for (name, Renewed { epoch, generation }) in certificates {
            let _ = writeln!(text, "[certificates.{}]", Value::from(name.as_str()));
            if let Some(epoch) = epoch {
                let _ = writeln!(text, "epoch = \"{}\"", rfc3339(*epoch));
            }
            if let Some(generation) = generation {
                let _ = writeln!(text, "generation = {generation}");
            }
        }
        text
    }

    /// What recipes see below `lock`. Every field exists in every lock, so that every recipe can be resolved.
    pub(crate) fn value(&self) -> Value {
        // No recipe sees the fingerprint: builders that use the seed name it themselves.
        let Self { epoch, seed: _, release, rhcos, signatures, certificates } = self;
        let of = |get: fn(&LockedRelease) -> &String| {
            Value::from(release.as_ref().map(|release| get(release).clone()))
        };
        let file = |artifact: &Option<Artifact>| {
            let of = |get: fn(&Artifact) -> &str| {
                Value::from(artifact.as_ref().map(|artifact| get(artifact).to_owned()))
            };
            Value::Map(BTreeMap::from([
                ("local".to_owned(), Value::Bool(artifact.as_ref().is_some_and(Artifact::is_used))),
                ("location".to_owned(), of(|artifact| &artifact.location)),
                ("sha256".to_owned(), of(Artifact::boots)),
            ]))
        };
        let image = release.as_ref().map(|release| release.image.as_str());
        let digest =
            Value::from(image.and_then(|image| image.split_once('@')).map(|(_, digest)| digest.to_owned()));
        let flavor = release.as_ref().map(|release| Flavor::of(&release.version).to_string());
        let flavor = Value::from(flavor);
        let release = BTreeMap::from([
            ("architecture".to_owned(), of(|release| &release.architecture)),
            ("digest".to_owned(), digest),
            ("flavor".to_owned(), flavor),
            ("image".to_owned(), of(|release| &release.image)),
            ("reference".to_owned(), of(|release| &release.reference)),
            ("version".to_owned(), of(|release| &release.version)),
        ]);
        let renewed = certificates.iter().map(|(name, Renewed { epoch, generation })| {
            let epoch = epoch.map(|epoch| ("epoch".to_owned(), Value::from(rfc3339(epoch))));
            let generation = generation.map(|number| ("generation".to_owned(), Value::Int(number.into())));
            (name.clone(), Value::Map(epoch.into_iter().chain(generation).collect()))
        });
        Value::Map(BTreeMap::from([
            ("certificates".to_owned(), Value::Map(renewed.collect())),
            ("epoch".to_owned(), Value::from(rfc3339(*epoch))),
            ("release".to_owned(), Value::Map(release)),
            (
                "rhcos".to_owned(),
                Value::Map(rhcos.images().map(|(name, image)| (name.to_owned(), file(image))).into()),
            ),
            ("signatures".to_owned(), signatures.as_ref().map_or(Value::Null, Signatures::value)),
        ]))
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn text_round_trips() {
        let mut lock = Lock::new(datetime!(2026-11-16 02:03:04 UTC));
        assert_eq!(Lock::parse("cluster.lock", &lock.encode()).unwrap(), lock);
        lock.release = Some(LockedRelease {
            reference: "oci:dir with \"quotes\":1".into(),
            image: "quay.io/a/b@sha256:0".into(),
            version: "4.18.1".into(),
            architecture: "amd64".into(),
        });
        lock.seed = Some(crate::base::secret::IdKey::from_seed(&[7; 32]).id());
        lock.certificates.insert("admin".into(), Renewed { epoch: None, generation: Some(2) });
        let epoch = Some(datetime!(2026-12-01 00:00:00 UTC));
        lock.certificates.insert("installer-tls/root-ca".into(), Renewed { epoch, generation: None });
        lock.rhcos.qcow2 = Some(Artifact::new("rhcos.qcow2", &"0".repeat(64)));
        let iso = Artifact::new("https://example.com/live.iso.gz", &"1".repeat(64));
        lock.rhcos.iso = Some(Artifact { uncompressed: Some("2".repeat(64)), fetch: true, ..iso });
        lock.rhcos.kernel = Some(Artifact::new("vmlinuz", &"3".repeat(64)));
        lock.rhcos.initramfs = Some(Artifact::new("initramfs.img", &"4".repeat(64)));
        lock.rhcos.rootfs = Some(Artifact::new("https://example.com/rootfs.img", &"5".repeat(64)));
        lock.signatures = Some(Signatures { images: 1, ..Signatures::default() });
        assert_eq!(Lock::parse("cluster.lock", &lock.encode()).unwrap(), lock);
        lock.signatures = Some(Signatures {
            keys: BTreeMap::from([("keys/my \"own\".pem".into(), "ab".repeat(32))]),
            images: 3,
            release: vec!["ab".repeat(32)],
            components: BTreeMap::from([("ab".repeat(32), 2)]),
            unsigned: vec!["etcd".into(), "pod".into()],
            only_lists: vec!["pod".into()],
            unknown: vec![RELEASE.into()],
            missing: 7,
            places: vec!["quay.io/a/b".into()],
            without: vec!["old.example.com/a".into()],
            passed_over: vec!["mirror.example.com/a".into()],
        });
        assert_eq!(Lock::parse("cluster.lock", &lock.encode()).unwrap(), lock);
    }

    /// The user's own file and the release's download of the same content are the same to every recipe.
    #[test]
    fn recipes_see_content_and_not_where_it_is() {
        let seen = |artifact: Artifact| {
            let mut lock = Lock::new(datetime!(2026-11-16 00:00:00 UTC));
            lock.rhcos.qcow2 = Some(artifact);
            let value = lock.value();
            let qcow2 = value.get("rhcos").and_then(|rhcos| rhcos.get("qcow2")).unwrap().clone();
            (qcow2.get("local").unwrap().clone(), qcow2.get("sha256").unwrap().clone())
        };
        let own = Artifact::new("rhcos.qcow2", &"2".repeat(64));
        let packed = Artifact::new("https://example.com/rhcos.qcow2.gz", &"1".repeat(64));
        let pinned = Artifact { uncompressed: Some("2".repeat(64)), ..packed.clone() };
        assert_eq!(seen(own), seen(Artifact { fetch: true, ..pinned.clone() }));
        // Until somebody asks for it, a lock means what it always meant.
        assert_eq!(seen(pinned), (Value::Bool(false), Value::from("1".repeat(64))));
        assert_eq!(seen(packed), (Value::Bool(false), Value::from("1".repeat(64))));
    }

    #[test]
    fn problems_name_line_and_field() {
        let problem = |text: &str| Lock::parse("cluster.lock", text).unwrap_err().to_string();
        insta::assert_snapshot!(problem("version = 1\nepoch = 'yesterday'\n"), @r"
        cluster.lock:2: epoch: `yesterday` is not a time
          hint: write it as 2026-11-16T00:00:00Z
        ");
        insta::assert_snapshot!(problem("version = 9\nepoch = 'yesterday'\n"), @r"
        cluster.lock:1: version: unsupported format 9; this tinderbox supports 1
          hint: use the tinderbox that wrote it
        ");
        insta::assert_snapshot!(problem("version = 1\nepch = 'x'\n"), @r"
        cluster.lock:2: unknown field `epch`, expected one of `version`, `epoch`, `seed`, `release`, `rhcos`, `signatures`, `certificates`
          hint: restore it from git; else keep its `version`, `epoch` and `[certificates]`, and `tinderbox lock` fills in the rest: without the epoch every certificate is another one, and a running cluster trusts none of them
        ");
    }
}
