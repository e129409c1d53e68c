//! The terms of a key or certificate in a recipe, from config values and parameters.

use std::net::IpAddr;

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use crate::base::pki::{Certificate, KeyUsage, Name};
use crate::base::value::Value;
use crate::engine::tree::leaf;
use crate::openshift::builders::{ArtifactError, BuildError, Job, JobError};

/// Certificates are valid this long before the epoch, for machines whose clock is slow.
const BACKDATE: Duration = Duration::HOUR;

pub(super) struct Terms<'a>(pub(super) &'a Job<'a>);

pub(super) struct Validity {
    pub(super) not_before: OffsetDateTime,
    pub(super) not_after: OffsetDateTime,
    /// The time that the lock pins.
    pub(super) epoch: OffsetDateTime,
}

impl Validity {
    /// Limited to the validity of its issuer, where a verifier would stop anyway. Fails if nothing is left.
    pub(super) fn within(self, name: &str, issuer: &Certificate) -> Result<Self, BuildError> {
        if issuer.not_after() <= self.epoch {
            let (issuer, until) = (issuer.subject(), issuer.not_after());
            return Err(ArtifactError::IssuerEnded { name: leaf(name).to_owned(), issuer, until }.into());
        }
        Ok(Self { not_after: self.not_after.min(issuer.not_after()), ..self })
    }
}

impl<'a> Terms<'a> {
    /// Rejects unused config values: neither `known` nor named as `{alias}` in a text.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), JobError> {
        let config = self.0.config();
        let given = config.keys().copied().chain(self.0.secrets.keys().map(String::as_str));
        let texts: Vec<&str> = self
            .0
            .params
            .iter()
            .filter(|(name, _)| *name != "config")
            .flat_map(|(_, value)| texts(value))
            .collect();
        for alias in given {
            if !known.contains(&alias) && !texts.iter().any(|text| text.contains(&format!("{{{alias}}}"))) {
                return Err(JobError::Unused { name: alias.to_owned(), used_in: "the parameters".into() });
            }
        }
        Ok(())
    }

    /// A text: the config value of that alias, else the parameter.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.0.config().get(name).copied().or_else(|| self.0.params.get(name)).and_then(Value::as_text)
    }

    /// A positive integer: the config value of that alias, else the parameter; none if it is null or not set.
    pub(super) fn count(&self, name: &str) -> Result<Option<u64>, JobError> {
        match self.0.config().get(name).copied().or_else(|| self.0.params.get(name)) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let wrong =
                    || JobError::Expected { name: name.to_owned(), expected: "a whole number above zero" };
                let number = value.as_int().and_then(|number| u64::try_from(number).ok());
                number.filter(|number| *number > 0).map(Some).ok_or_else(wrong)
            }
        }
    }

    /// A boolean parameter; false by default.
    pub(super) fn is(&self, name: &str) -> Result<bool, JobError> {
        match self.0.params.get(name) {
            None => Ok(false),
            Some(Value::Bool(value)) => Ok(*value),
            Some(_) => Err(JobError::Expected { name: name.to_owned(), expected: "true or false" }),
        }
    }

    pub(super) fn name(&self) -> Result<&'a str, JobError> {
        let wrong =
            || JobError::Expected { name: "name".into(), expected: "what the key is for: `pki/etcd-server`" };
        let name = self.0.params.get("name").and_then(Value::as_text);
        name.filter(|name| crate::engine::tree::check_path(name).is_ok()).ok_or_else(wrong)
    }

    pub(super) fn domain(&self) -> Result<&'a str, JobError> {
        let wrong = || JobError::Expected { name: "config.domain".into(), expected: "the cluster's domain" };
        self.0.config().get("domain").and_then(|value| value.as_text()).ok_or_else(wrong)
    }

    /// What the lock overrides for this certificate.
    fn renewed(&self, field: &str) -> Option<&'a Value> {
        self.0.config().get("renewed").and_then(|renewed| renewed.get(field))
    }

    pub(super) fn generation(&self) -> u64 {
        self.renewed("generation")
            .and_then(Value::as_int)
            .and_then(|number| u64::try_from(number).ok())
            .unwrap_or(1)
    }

    /// Starts at the epoch of this certificate, else of the lock, backdated.
    pub(super) fn validity(&self) -> Result<Validity, JobError> {
        let wrong = |name: &str, expected| JobError::Expected { name: name.to_owned(), expected };
        let text = self.renewed("epoch").and_then(Value::as_text).or_else(|| self.text("epoch"));
        let epoch = text.and_then(|text| OffsetDateTime::parse(text, &Rfc3339).ok());
        let epoch = epoch.ok_or_else(|| wrong("config.epoch", "the epoch of the lock"))?;
        let most = self.count("most_hours")?.unwrap_or(u64::MAX);
        let hours = self.count("hours")?.and_then(|hours| i64::try_from(hours.min(most)).ok());
        let not_after = hours.and_then(|hours| epoch.checked_add(Duration::hours(hours)));
        // The last year that a certificate can express.
        let not_after = not_after.filter(|time| time.year() < 9999);
        let not_after = not_after.ok_or_else(|| wrong("hours", "how long it is valid, in hours"))?;
        Ok(Validity { not_before: epoch - BACKDATE, not_after, epoch })
    }

    /// `{common_name, organizations, organizational_units}`.
    pub(super) fn subject(&self) -> Result<Name, JobError> {
        let wrong = || JobError::Expected {
            name: "subject".into(),
            expected: "a table with `common_name`, and perhaps `organizations` and `organizational_units`",
        };
        let Some(Value::Map(map)) = self.0.params.get("subject") else { return Err(wrong()) };
        let known = ["common_name", "organizations", "organizational_units"];
        if map.keys().any(|key| !known.contains(&key.as_str())) {
            return Err(wrong());
        }
        let list = |name: &str| match map.get(name) {
            None => Ok(Vec::new()),
            Some(value) => self.expanded("subject", value),
        };
        let names = map
            .get("common_name")
            .map(|name| self.expanded("subject", name))
            .transpose()?
            .unwrap_or_default();
        let [common_name] = names.as_slice() else { return Err(wrong()) };
        Ok(Name {
            organizations: list("organizations")?,
            organizational_units: list("organizational_units")?,
            common_name: common_name.clone(),
        })
    }

    /// Words of a list parameter.
    fn words<T>(
        &self,
        name: &'static str,
        read: impl Fn(&str) -> Option<T>,
        expected: &'static str,
    ) -> Result<Vec<T>, JobError> {
        let wrong = || JobError::Expected { name: name.to_owned(), expected };
        self.0.text_list(name)?.into_iter().map(|word| read(word).ok_or_else(wrong)).collect()
    }

    /// Whether it is for servers, and for clients.
    pub(super) fn usages(&self) -> Result<(bool, bool), JobError> {
        let usages = self.words(
            "usages",
            |word| match word {
                "server" => Some(true),
                "client" => Some(false),
                _ => None,
            },
            "a list of `server` and `client`",
        )?;
        Ok((usages.contains(&true), usages.contains(&false)))
    }

    /// The key usages; none if the recipe does not restrict them.
    pub(super) fn key_usages(&self) -> Result<Option<Vec<KeyUsage>>, JobError> {
        let expected = "a list of `digital-signature`, `key-encipherment`, `cert-sign` and `crl-sign`";
        let usages = self.words("key_usages", key_usage, expected)?;
        Ok((!usages.is_empty()).then_some(usages))
    }

    pub(super) fn dns(&self) -> Result<Vec<String>, JobError> {
        self.0.params.get("dns").map_or(Ok(Vec::new()), |names| self.expanded("dns", names))
    }

    pub(super) fn ips(&self) -> Result<Vec<IpAddr>, JobError> {
        let texts = self.0.params.get("ips").map_or(Ok(Vec::new()), |ips| self.expanded("ips", ips))?;
        let wrong = || JobError::Expected { name: "ips".into(), expected: "a list of addresses" };
        texts.iter().map(|text| text.parse().map_err(|_| wrong())).collect()
    }

    /// A text or list of texts, with `{alias}` replaced by config values. A text that is only `{alias}` expands to all
    /// texts of that value, including nested lists.
    fn expanded(&self, name: &'static str, value: &Value) -> Result<Vec<String>, JobError> {
        let wrong = || JobError::Expected {
            name: name.to_owned(),
            expected: "texts in which `{alias}` is a config alias",
        };
        let config = self.0.config();
        let mut expanded = Vec::new();
        let list = match value {
            Value::List(list) => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        for text in list {
            let text = text.as_text().ok_or_else(wrong)?;
            match alone(text) {
                Some(alias) => expanded
                    .extend(texts(config.get(alias).ok_or_else(wrong)?).into_iter().map(str::to_owned)),
                None => expanded.push(fill(text, |alias| config.get(alias)?.as_text()).ok_or_else(wrong)?),
            }
        }
        Ok(expanded)
    }
}

fn key_usage(word: &str) -> Option<KeyUsage> {
    Some(match word {
        "digital-signature" => KeyUsage::DigitalSignature,
        "key-encipherment" => KeyUsage::KeyEncipherment,
        "cert-sign" => KeyUsage::CertSign,
        "crl-sign" => KeyUsage::CrlSign,
        _ => return None,
    })
}

/// The alias of a text that is only `{alias}`.
fn alone(text: &str) -> Option<&str> {
    text.strip_prefix('{')?.strip_suffix('}').filter(|alias| !alias.contains(['{', '}']))
}

/// All texts in a value.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::Text(text) => vec![text],
        Value::List(list) => list.iter().flat_map(texts).collect(),
        Value::Map(map) => map.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// Replaces every `{alias}`; none if one is unknown.
fn fill<'v>(text: &str, value: impl Fn(&str) -> Option<&'v str>) -> Option<String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (alias, after) = after.split_once('}')?;
        filled.push_str(before);
        filled.push_str(value(alias)?);
        rest = after;
    }
    filled.push_str(rest);
    Some(filled)
}
