//! `placeholders`: what the node OS depends on, twice, with placeholders for the cluster's domain and pull secret. Two clusters
//! with the same release and the same words about nodes have the same output.
//!
//! Input: `inputs`, as `mco-render` takes them. Output: `a/` and `b/`, public, two sets of placeholders. Or `unsuitable`, a
//! sentence that says why this cluster is rendered by itself:
//!
//! - something else names the domain (a proxy's exceptions, the DNS of a platform whose nodes answer for the cluster's
//!   names, a user's MachineConfig): the render would be this cluster's anyway, and two renders cost more than one;
//! - something else is secret, looks like a secret, or is a file that only root may read: what is shared is public;
//! - domain, API address or pull secret have another form, length or place in the order than both sets.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use zeroize::Zeroizing;

use super::substitution::Values;
use super::{BuildError, Builder, INFRASTRUCTURE, InputTree, Job, PULL_SECRET, UNSUITABLE};
use crate::base::hint::Problems;
use crate::base::json::{canonical, compacted};
use crate::base::redact::{Redactor, patterns, patterns_and_whole};
use crate::base::secret::Secret;
use crate::base::yaml::{self, Source, YamlNode};
use crate::engine::drv::BuilderId;
use crate::engine::tree::{EntryKind, TreeWriter, leaf};
use crate::openshift::schema;

/// Precedes the cluster's domain in the address of its API.
const API: &str = "https://api-int.";
/// Directories that programs list, even if they are empty.
const DIRECTORIES: [&str; 4] = ["crs", "own", "pull-secret", "gates"];

pub(in crate::openshift::builders) struct Placeholders;

impl Builder for Placeholders {
    fn id(&self) -> BuilderId {
        BuilderId::new("placeholders", 1)
    }

    /// Public files keep their classification; the pull secret is left out, and another secret is a reason to stop.
    fn declassifies(&self, _: &Job<'_>) -> bool {
        true
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&[])?;
        Ok(job.exactly(&["inputs"])?)
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let input = job.input("inputs")?;
        let found = values(input).and_then(|values| suitable(input, &values));
        let infrastructure = match found {
            Ok(infrastructure) => infrastructure,
            Err(reason) => return Ok(out.write(UNSUITABLE, format!("{reason}\n").as_bytes(), false)?),
        };
        for name in ["a", "b"] {
            let (domain, pull_secret) = set(name);
            for dir in DIRECTORIES {
                out.dir(&format!("{name}/{dir}"))?;
            }
            for (path, full, entry) in input.leaves() {
                let to = format!("{name}/{path}");
                match path {
                    INFRASTRUCTURE => out.write(&to, infrastructure.with(&domain).as_bytes(), false)?,
                    PULL_SECRET => out.write(&to, manifest(&pull_secret).as_bytes(), false)?,
                    _ => out.share(&to, &full, entry)?,
                }
            }
        }
        Ok(())
    }
}

/// A text around the domain.
struct Around {
    before: String,
    after: String,
}

impl Around {
    fn with(&self, domain: &str) -> String {
        format!("{}{domain}{}", self.before, self.after)
    }
}

/// A set of placeholders: a domain and a pull secret.
///
/// | | `a` | `b` |
/// |---|---|---|
/// | length | shorter than any value | longer |
/// | order | before any value | after |
/// | characters | few | all that a value may have |
/// | pull secret | one registry | many, not in order, with blanks and with what JSON and HTML escape |
pub(super) fn set(name: &str) -> (String, String) {
    if name == "a" {
        return ("0-0.aa".into(), r#"{"auths":{"0.aa":{"auth":"MDow"}}}"#.into());
    }
    let label = format!("{}-0123456789abcdefghijklmnopqrstuvwxyz", "z".repeat(20));
    let domain = format!("{label}.{label}.{label}.{label}.zz");
    let ascii: String = (' '..='~').collect();
    let quoted = Json::from(ascii.as_str()).to_string();
    let auth = STANDARD.encode(format!("z:{ascii}{ascii}"));
    let mut registries = String::new();
    for number in (0..48).rev() {
        let comma = if number == 0 { "" } else { "," };
        let _ = write!(
            registries,
            "\n\t\"zz{number}.zz:65535/z/Z_z-z\" : {{ \"email\": {quoted},\r\n \"auth\":\"{auth}\" }}{comma}"
        );
    }
    (domain, format!("{{ \"auths\": {{{registries}\n}} }}\n"))
}

/// A pull secret as the object in which the programs look for it.
fn manifest(pull_secret: &str) -> String {
    canonical(&object(&STANDARD.encode(pull_secret))) + "\n"
}

fn object(data: &str) -> Json {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "pull-secret", "namespace": "openshift-config"},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": data},
    })
}

/// What this cluster has in place of the placeholders.
pub(super) fn values(input: &InputTree) -> Result<Values, String> {
    Ok(Values { domain: domain(input)?, pull_secret: pull_secret(input)? })
}

fn document(input: &InputTree, path: &str) -> Option<(String, YamlNode)> {
    let text = input.text("inputs", path).ok()?;
    let document = yaml::parse(Source { name: path, text: &text }, &mut Problems::default())?;
    Some((text, document))
}

fn domain(input: &InputTree) -> Result<String, String> {
    let missing = || format!("`{INFRASTRUCTURE}` does not have the address of the cluster's API");
    let (_, document) = document(input, INFRASTRUCTURE).ok_or_else(missing)?;
    let address = document.get("status").and_then(|status| status.get("apiServerInternalURI"));
    let address = address.and_then(YamlNode::text).ok_or_else(missing)?;
    let domain = address.strip_prefix(API).and_then(|rest| rest.rsplit_once(':'));
    match domain {
        Some((domain, port)) if is_domain(domain) && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Ok(domain.to_owned())
        }
        _ => Err(
            "the address of the cluster's API is not `https://api-int.DOMAIN:PORT`, or its domain is unusual"
                .into(),
        ),
    }
}

/// Whether a name has the form of both placeholders, and is between them.
fn is_domain(domain: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
        bytes.len() <= 63
            && is_letter(*first)
            && is_letter(*last)
            && bytes.iter().all(|byte| is_letter(*byte) || *byte == b'-')
    };
    // With a last label of letters, no part of it is a number in YAML.
    let last = domain.rsplit('.').next().unwrap_or_default();
    domain.contains('.')
        && domain.split('.').all(is_label)
        && last.len() >= 2
        && last.bytes().all(|byte| byte.is_ascii_lowercase())
        && is_between(domain, &set("a").0, &set("b").0)
}

fn is_between(value: &str, low: &str, high: &str) -> bool {
    (low.len()..=high.len()).contains(&value.len()) && low < value && value < high
}

fn pull_secret(input: &InputTree) -> Result<Zeroizing<String>, String> {
    let missing = || "the Secret `pull-secret` has more than a pull secret in it, or none".to_owned();
    let (_, document) = document(input, PULL_SECRET).ok_or_else(missing)?;
    let found = schema::json(&document);
    let data = found["data"][".dockerconfigjson"].as_str().ok_or_else(missing)?;
    if found != object(data) {
        return Err(missing());
    }
    let text = STANDARD.decode(data).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let text = Zeroizing::new(text.ok_or_else(missing)?);
    let compact = compact(&text).map(Zeroizing::new).filter(|compact| is_pull_secret(compact));
    compact.ok_or_else(|| {
        "the pull secret has more than `auth` and `email` of registries, or is very short or long".into()
    })
}

/// JSON without the blanks between its tokens, as the machine-config controller writes it; none if that could be
/// read in two ways: keys that are there twice, or characters that are escaped without need. Where maps do not keep their order,
/// that is a reason too.
pub(super) fn compact(text: &str) -> Option<String> {
    let canonical = serde_json::from_str::<Json>(text).ok()?.to_string();
    compacted(text).filter(|compact| canonical == *compact)
}

/// Whether a pull secret has the form of both placeholders, and is between them.
fn is_pull_secret(compact: &str) -> bool {
    let Ok(Json::Object(whole)) = serde_json::from_str::<Json>(compact) else { return false };
    let is_host = |host: &str| {
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:/-".contains(&byte))
    };
    let is_login = |login: &Json| {
        let Json::Object(login) = login else { return false };
        let auth = login.get("auth").and_then(Json::as_str).and_then(|auth| STANDARD.decode(auth).ok());
        auth.is_some_and(|auth| auth.contains(&b':'))
            && login.iter().all(|(key, value)| ["auth", "email"].contains(&key.as_str()) && value.is_string())
    };
    let Some(Json::Object(auths)) = whole.get("auths").filter(|_| whole.len() == 1) else { return false };
    let [low, high] = ["a", "b"].map(|name| self::compact(&set(name).1).unwrap_or_default());
    !auths.is_empty()
        && auths.iter().all(|(host, login)| is_host(host) && is_login(login))
        && compact.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && is_between(compact, &low, &high)
}

/// Checks that nothing else is this cluster's, or secret. Returns the Infrastructure around the domain.
fn suitable(input: &InputTree, values: &Values) -> Result<Around, String> {
    let of_secret = patterns_and_whole("pull-secret", values.pull_secret.as_bytes());
    let domain = Secret::new(values.domain.clone().into_bytes());
    let known = Redactor::new(vec![(String::new(), of_secret), (String::new(), vec![domain])]);
    let mut around = None;
    for (path, _, entry) in input.leaves().filter(|(path, ..)| *path != PULL_SECRET) {
        if entry.secret {
            return Err("something else that the programs read is secret".into());
        }
        let text = match &entry.kind {
            EntryKind::File { .. } => input.text("inputs", path).ok(),
            _ => None,
        };
        let text = text.ok_or_else(|| format!("`{path}` is not text"))?;
        let rest = match text.split_once(values.domain.as_str()) {
            Some((before, after)) if path == INFRASTRUCTURE => {
                around = Some(Around { before: before.to_owned(), after: after.to_owned() });
                format!("{before}{after}")
            }
            _ => text,
        };
        if rest.contains(&values.domain) || known.knows(&rest) {
            return Err(format!("`{path}` names the cluster's domain, or has part of its pull secret"));
        }
        let is_users = path.starts_with("own/") || path.starts_with("crs/");
        if is_users && (!patterns(leaf(path), rest.as_bytes()).is_empty() || has_private_file(path, &rest)) {
            return Err(format!(
                "`{path}` has something that looks like a secret, or that only root may read"
            ));
        }
    }
    around.ok_or_else(|| format!("`{INFRASTRUCTURE}` does not name the domain"))
}

/// Whether a MachineConfig has a file with contents that only its owner may read.
fn has_private_file(path: &str, text: &str) -> bool {
    let Some(document) = yaml::parse(Source { name: path, text }, &mut Problems::default()) else {
        return true;
    };
    let config = schema::json(&document);
    let files = config["spec"]["config"]["storage"]["files"].as_array().map_or(&[][..], Vec::as_slice);
    files.iter().any(|file| {
        let is_private = file["mode"].as_u64().is_some_and(|mode| mode & 0o177 == 0);
        is_private && file["contents"]["source"].as_str().is_some_and(|source| !source.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sets_are_valid_values_at_the_ends() {
        let [low, high] = ["a", "b"].map(set);
        assert!(low.0 < high.0 && low.0.len() < high.0.len() && high.0.len() < 245, "{}", high.0.len());
        assert!(is_domain("ocp4.example.com") && is_domain("0a.a.co") && is_domain("zz.zz.zz"));
        let secrets = [&low, &high].map(|set| compact(&set.1).unwrap());
        assert!(secrets[0] < secrets[1] && secrets[1].len() > 16 << 10, "{}", secrets[1].len());
        assert!((b' '..=b'~').all(|byte| secrets[1].as_bytes().contains(&byte)));
        assert!((b'a'..=b'z').chain(b'0'..=b'9').chain(*b"-.").all(|byte| high.0.as_bytes().contains(&byte)));
        for set in [&low, &high] {
            let yaml = manifest(&set.1);
            let document = yaml::parse(Source { name: "x", text: &yaml }, &mut Problems::default()).unwrap();
            assert_eq!(schema::json(&document), object(&STANDARD.encode(&set.1)));
        }
    }

    #[test]
    fn unusual_domains_are_not_replaced() {
        let long = format!("{}.com", ["a"; 120].join("."));
        for domain in [
            "a.b",
            "example",
            "Ocp4.example.com",
            "ocp4..com",
            "-a.example.com",
            "ocp4.example.1",
            "10.0.0.1",
            &long,
        ] {
            assert!(!is_domain(domain), "{domain}");
        }
    }

    #[test]
    fn unusual_pull_secrets_are_not_replaced() {
        let auth = "\"auth\":\"ZGVtbzpkZW1v\"";
        let is = |text: &str| compact(text).is_some_and(|compact| is_pull_secret(&compact));
        assert!(is(&format!("{{ \"auths\": {{ \"quay.io\": {{ {auth}, \"email\": \"a b@c\" }} }}\n}}\n")));
        for wrong in [
            String::new(),
            "{}".into(),
            "{\"auths\":{}}".into(),
            format!("{{\"auths\":{{\"quay.io\":{{{auth}}}}},\"credHelpers\":{{}}}}"),
            format!("{{\"auths\":{{\"quay.io\":{{{auth},\"identitytoken\":\"x\"}}}}}}"),
            format!("{{\"auths\":{{\"quay.io\":{{{auth}}},\"quay.io\":{{{auth}}}}}}}"),
            format!("{{\"auths\":{{\"quay.io\":{{{auth},\"email\":\"\\u0041\"}}}}}}"),
            format!("{{\"auths\":{{\"quay.io\":{{{auth},\"email\":\"ä\"}}}}}}"),
            format!("{{\"auths\":{{\"quay io\":{{{auth}}}}}}}"),
            "{\"auths\":{\"quay.io\":{\"auth\":\"\"}}}".into(),
            format!("{{\"auths\":{{\"quay.io\":{{{auth},\"email\":\"{}\"}}}}}}", "x".repeat(20 << 10)),
        ] {
            assert!(!is(&wrong), "{wrong:.200}");
        }
    }

    #[test]
    fn private_files_are_known_by_their_mode() {
        let config = |mode: &str, source: &str| {
            format!(
                "kind: MachineConfig\nspec:\n  config:\n    storage:\n      files:\n      - path: /a\n        mode: {mode}\n        contents: {{source: '{source}'}}\n"
            )
        };
        for (mode, source, is) in [
            ("384", "data:,a", true),
            ("0600", "data:,a", true),
            ("256", "data:,a", true),
            ("420", "data:,a", false),
            ("448", "data:,a", false),
            ("384", "", false),
        ] {
            assert_eq!(has_private_file("x", &config(mode, source)), is, "{mode} {source}");
        }
    }
}
