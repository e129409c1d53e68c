//! `identity`: one named value from the seed. Public, except for the password and its hash.
//!
//! `kind` is one of `infra-id` (`<cluster>-xxxxx`, as the installer generates it), `uuid`, `password` (in the
//! installer's format), `bcrypt` (of the input `password`) or `mac` (the node's configured address, or one from QEMU's
//! range). The file is named after the last component of `name`, and has no newline.

use zeroize::Zeroizing;

use super::{BuildError, Builder, Grants, Job, JobError};
use crate::base::secret::Stream;
use crate::base::value::Value;
use crate::engine::drv::BuilderId;
use crate::engine::tree::{TreeWriter, leaf};

pub(super) struct Identity;

/// The default cost of Go's bcrypt, which the installer uses.
const COST: u32 = 10;
/// Characters of Kubernetes' generated names: without vowels, so that they form no words.
const SUFFIX: &str = "bcdfghjklmnpqrstvwxz2456789";
/// Characters of the installer's passwords: without look-alikes.
const PASSWORD: &str = "abcdefghijkmnopqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ23456789";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    InfraId,
    Uuid,
    Password,
    Bcrypt,
    Mac,
}

impl Builder for Identity {
    fn id(&self) -> BuilderId {
        BuilderId::new("identity", 1)
    }

    fn grants(&self) -> Grants {
        Grants { seed: true, ..Grants::default() }
    }

    fn declassifies(&self, job: &Job<'_>) -> bool {
        matches!(kind(job), Ok(Kind::InfraId | Kind::Uuid | Kind::Mac))
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["config", "kind", "name"])?;
        text(job.params.get("name"), "name")?;
        let config: &[&str] = match kind(job)? {
            Kind::InfraId => &["domain", "cluster"],
            Kind::Uuid | Kind::Password | Kind::Bcrypt => &["domain"],
            Kind::Mac => &["domain", "mac"],
        };
        for name in config {
            match job.config().get(name) {
                Some(Value::Null) if *name == "mac" => {}
                value => drop(text(value.copied(), name)?),
            }
        }
        if let Some(name) = job.config().into_keys().find(|name| !config.contains(name)) {
            return Err(JobError::Unused { name: name.to_owned(), used_in: "this kind".into() }.into());
        }
        Ok(job.exactly(if kind(job)? == Kind::Bcrypt { &["password"] } else { &[] })?)
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let name = text(job.params.get("name"), "name")?;
        let domain = text(job.config().get("domain").copied(), "domain")?;
        let mut stream = job.seed()?.stream("tinderbox 2026-11-16 identity v1", &[domain, name]);
        let value = match kind(job)? {
            Kind::InfraId => infra_id(text(job.config().get("cluster").copied(), "cluster")?, &mut stream),
            Kind::Uuid => uuid(&mut stream),
            Kind::Password => password(&mut stream),
            Kind::Mac => match job.config().get("mac").and_then(|mac| mac.as_text()) {
                Some(given) => Zeroizing::new(given.to_owned()),
                None => mac(&mut stream),
            },
            Kind::Bcrypt => {
                let password = Zeroizing::new(job.input("password")?.text("password", "")?);
                let hash = bcrypt::hash_with_salt(password.as_bytes(), COST, *stream.take::<16>());
                let wrong =
                    |_| JobError::Input { alias: "password".into(), problem: "cannot be hashed".into() };
                // Go's bcrypt writes this prefix; the hash is the same.
                Zeroizing::new(hash.map_err(wrong)?.format_for_version(bcrypt::Version::TwoA))
            }
        };
        Ok(out.write(leaf(name), value.as_bytes(), false)?)
    }
}

fn text<'v>(value: Option<&'v Value>, name: &str) -> Result<&'v str, JobError> {
    let wrong = || JobError::Expected { name: name.to_owned(), expected: "a text" };
    value.and_then(Value::as_text).ok_or_else(wrong)
}

fn kind(job: &Job<'_>) -> Result<Kind, JobError> {
    match job.params.get("kind").and_then(Value::as_text) {
        Some("infra-id") => Ok(Kind::InfraId),
        Some("uuid") => Ok(Kind::Uuid),
        Some("password") => Ok(Kind::Password),
        Some("bcrypt") => Ok(Kind::Bcrypt),
        Some("mac") => Ok(Kind::Mac),
        _ => {
            let expected = "`infra-id`, `uuid`, `password`, `bcrypt` or `mac`";
            Err(JobError::Expected { name: "kind".into(), expected })
        }
    }
}

/// At most 27 characters, like the installer: cloud resources are named after it.
fn infra_id(cluster: &str, stream: &mut Stream) -> Zeroizing<String> {
    let plain: String =
        cluster.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(21).collect();
    Zeroizing::new(format!("{}-{}", plain.trim_end_matches('-'), stream.text(SUFFIX, 5).as_str()))
}

fn uuid(stream: &mut Stream) -> Zeroizing<String> {
    let mut bytes = stream.take::<16>();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = Zeroizing::new(data_encoding::HEXLOWER.encode(&*bytes));
    Zeroizing::new([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

/// An address with QEMU's prefix, which no real card has.
fn mac(stream: &mut Stream) -> Zeroizing<String> {
    let [a, b, c] = *stream.take::<3>();
    Zeroizing::new(format!("52:54:00:{a:02x}:{b:02x}:{c:02x}"))
}

/// Four groups of five: 23 characters, the minimum of the OAuth server.
fn password(stream: &mut Stream) -> Zeroizing<String> {
    let groups: Vec<Zeroizing<String>> = (0..4).map(|_| stream.text(PASSWORD, 5)).collect();
    Zeroizing::new(groups.iter().map(|group| group.as_str()).collect::<Vec<_>>().join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::secret::Seed;

    fn stream() -> Stream {
        Seed::new(Zeroizing::new([7; 32])).stream("test", &[])
    }

    /// Literal values: changing one gives every cluster another identity. Decide it, and say so in the commit.
    #[test]
    fn values_have_the_installers_shapes() {
        insta::assert_snapshot!(infra_id("ocp4", &mut stream()).as_str(), @"ocp4-5lgb5");
        insta::assert_snapshot!(infra_id("a.rather-long.name-of-a-cluster", &mut stream()).as_str(), @"a-rather-long-name-of-5lgb5");
        insta::assert_snapshot!(uuid(&mut stream()).as_str(), @"11587927-e1a0-4bd3-8854-23fa32297256");
        insta::assert_snapshot!(mac(&mut stream()).as_str(), @"52:54:00:11:58:79");
        insta::assert_snapshot!(password(&mut stream()).as_str(), @"XT4LG-rKUTS-98AJN-9gu7i");
    }
}
