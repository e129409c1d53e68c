//! Replaces values in rendered files, in the encodings that the machine-config operator uses, and renames what is named by
//! its content.
//!
//! | value | where | how |
//! |---|---|---|
//! | domain | any text: percent-encoding does not change its characters | as it is |
//! | pull secret | a percent-encoded data URL | percent-encoded |
//! | both | a base64 data URL | decoded, replaced, encoded |
//!
//! Whatever else a program does with a value is not replaced, and [`same`] finds it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use super::super::machine_config::hash;
use super::placeholders;
use crate::engine::builders::MadeFile;
use crate::openshift::ignition::escape;

/// Files by path.
pub(super) type Files = BTreeMap<String, MadeFile>;

/// What differs between clusters of one release.
pub(super) struct Values {
    /// `ocp4.example.com`.
    pub(super) domain: String,
    /// JSON without blanks.
    pub(super) pull_secret: Zeroizing<String>,
}

impl Values {
    /// The values of a set of placeholders.
    pub(super) fn of_set(set: &str) -> Result<Self, String> {
        let (domain, pull_secret) = placeholders::set(set);
        let pull_secret = placeholders::compact(&pull_secret).ok_or("the placeholder is not JSON")?;
        Ok(Self { domain, pull_secret: Zeroizing::new(pull_secret) })
    }
}

/// The files with other values, and with the names that follow from them.
pub(super) fn fill(files: &Files, from: &Values, to: &Values) -> Result<Files, String> {
    let mut filled = BTreeMap::new();
    let mut names = Vec::new();
    for (path, file) in files {
        let old = std::str::from_utf8(&file.bytes).map_err(|_| format!("`{path}` is not text"))?;
        let new = replace(old, from, to);
        if let Some((name, digest)) = rendered(path) {
            let hash = |text: &str| hash(text).ok_or_else(|| format!("`{path}` has no spec"));
            if hash(old)? != digest {
                return Err(format!("`{path}` is not named by its content"));
            }
            let pool = name.strip_suffix(digest).unwrap_or(name);
            names.push((name.to_owned(), format!("{pool}{}", hash(&new)?)));
        }
        filled.insert(path.clone(), (new, file.exec));
    }
    let rename = |text: &str| names.iter().fold(text.to_owned(), |text, (old, new)| text.replace(old, new));
    let files = filled.into_iter().map(|(path, (text, exec))| {
        let text = match (rendered(&path), text.split_once("\nspec:\n")) {
            // The name is the hash of the spec, so it cannot be in it.
            (Some(_), Some((head, spec))) => format!("{}\nspec:\n{spec}", rename(head)),
            _ => rename(&text),
        };
        (rename(&path), MadeFile { bytes: text.into_bytes(), exec })
    });
    Ok(files.collect())
}

/// Says where two renders differ.
pub(super) fn same(one: &Files, other: &Files) -> Result<(), String> {
    if one == other {
        return Ok(());
    }
    // Without the hash: which one it is says nothing.
    let plain = |path: &String| rendered(path).map_or(path.clone(), |(_, hash)| path.replace(hash, "…"));
    let differs = |(path, file): &(&String, &MadeFile)| other.get(*path) != Some(*file);
    let path = one.iter().find(differs).map(|(path, _)| path).or_else(|| other.keys().next());
    let path = path.map(plain).unwrap_or_default();
    Err(format!("two renders with different placeholders differ in more than these: {path}"))
}

/// The name and the hash in it, of the file of a rendered config.
fn rendered(path: &str) -> Option<(&str, &str)> {
    let name = path.strip_prefix("machine-configs/")?.strip_suffix(".yaml")?;
    let (_, digest) = name.strip_prefix("rendered-")?.rsplit_once('-')?;
    (digest.len() == 32).then_some((name, digest))
}

/// First the domain: what replaces the pull secret is not searched.
fn replace(text: &str, from: &Values, to: &Values) -> String {
    let text = text.replace(&from.domain, &to.domain);
    let text = text.replace(&escape(from.pull_secret.as_bytes()), &escape(to.pull_secret.as_bytes()));
    in_base64(&text, |text| {
        text.replace(&from.domain, &to.domain).replace(from.pull_secret.as_str(), &to.pull_secret)
    })
}

/// Edits the contents of all base64 data URLs that are text. One that stays the same keeps its bytes.
fn in_base64(text: &str, edit: impl Fn(&str) -> String) -> String {
    const MARK: &str = ";base64,";
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        let (before, after) = rest.split_at(at + MARK.len());
        out.push_str(before);
        let (data, tail) = after.split_at(after.bytes().take_while(|byte| is_base64(byte)).count());
        rest = tail;
        let decoded = STANDARD.decode(data).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let edited = decoded.as_deref().map(&edit).filter(|edited| Some(edited) != decoded.as_ref());
        match edited {
            Some(edited) => out.push_str(&STANDARD.encode(edited)),
            None => out.push_str(data),
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(domain: &str, pull_secret: &str) -> Values {
        Values { domain: domain.into(), pull_secret: Zeroizing::new(pull_secret.into()) }
    }

    /// A rendered config as MCO writes it, with these contents of a file and this line of a unit.
    fn render(source: &str, unit: &str) -> Files {
        let body = |name: &str| {
            format!(
                "kind: MachineConfig\nmetadata:\n  name: {name}\nspec:\n  config:\n    storage:\n      files:\n      - contents:\n          source: {source}\n    unit: {unit}\n"
            )
        };
        let name = format!("rendered-master-{}", hash(&body("x")).unwrap());
        let file = |text: String| MadeFile { bytes: text.into_bytes(), exec: false };
        Files::from([
            (format!("machine-configs/{name}.yaml"), file(body(&name))),
            ("machine-pools/master.yaml".to_owned(), file(format!("spec:\n  configuration: {name}\n"))),
        ])
    }

    fn url(text: &str) -> String {
        format!("data:,{}", escape(text.as_bytes()))
    }

    fn base64(text: &str) -> String {
        format!("data:text/plain;charset=utf-8;base64,{}", STANDARD.encode(text))
    }

    #[test]
    fn values_are_replaced_where_they_are_verbatim_and_names_follow() {
        let (one, other) = (values("a.aa", "{\"a\":1}"), values("longer.example.com", "{\"b\":\"c d\"}"));
        for encode in [url, base64] {
            let made = |values: &Values| {
                let host = &values.domain;
                render(&encode(&format!("x https://api-int.{host}:6443 {}\n", *values.pull_secret)), host)
            };
            assert_eq!(same(&fill(&made(&one), &one, &other).unwrap(), &made(&other)), Ok(()));
            assert_ne!(made(&one).keys().next(), made(&other).keys().next());
            // There and back.
            assert_eq!(same(&fill(&made(&other), &other, &one).unwrap(), &made(&one)), Ok(()));
        }
    }

    /// What a program does with a value besides writing it down: two renders differ, whatever it is.
    #[test]
    fn any_other_trace_is_noticed() {
        let (one, other) = (values("a.aa", "{\"a\":1}"), values("longer.example.com", "{\"b\":\"c d\"}"));
        type Trace = fn(&Values) -> String;
        let traces: [(&str, Trace); 8] = [
            ("length", |values| values.domain.len().to_string()),
            ("first label", |values| values.domain.split('.').next().unwrap_or_default().to_owned()),
            ("upper case", |values| values.domain.to_uppercase()),
            ("base64 in text", |values| url(&STANDARD.encode(&values.domain))),
            ("part of the secret", |values| values.pull_secret[2..3].to_owned()),
            ("secret in JSON", |values| format!("{:?}", *values.pull_secret)),
            ("order", |values| {
                let mut hosts = ["b.example.com", &values.domain];
                hosts.sort_unstable();
                hosts.join(",")
            }),
            ("branch", |values| (values.domain.len() > 63).to_string() + &values.domain[..1]),
        ];
        for (what, trace) in traces {
            let made = |values: &Values| render("data:,", &trace(values));
            let filled = fill(&made(&one), &one, &other).unwrap();
            let found = same(&filled, &made(&other)).unwrap_err();
            assert!(found.ends_with("machine-configs/rendered-master-….yaml"), "{what}: {found}");
        }
    }

    /// Text of the user's that looks like a placeholder is the same in both renders, and would not be.
    #[test]
    fn a_placeholder_in_other_text_is_noticed() {
        let (one, other) = (values("a.aa", "{}"), values("longer.example.com", "{}"));
        let files = render("data:,", "mine: a.aa");
        assert!(same(&fill(&files, &one, &other).unwrap(), &files).is_err());
    }

    #[test]
    fn a_render_whose_name_is_not_its_hash_is_refused() {
        let (one, other) = (values("a.aa", "{}"), values("b.bb", "{}"));
        let mut files = render("data:,", "a.aa");
        let (path, mut file) = files.pop_first().unwrap();
        file.bytes.extend_from_slice(b"  more: true\n");
        files.insert(path, file);
        assert!(fill(&files, &one, &other).unwrap_err().ends_with("is not named by its content"));
    }
}
