//! The syntax of single values: names, addresses, URLs, references. Each is a constant for the field tables, and
//! parses a text to its final type.

use super::given::Scalar;
use crate::engine::cache::{CacheUrl, PublicKey};

#[derive(Debug)]
pub(super) struct Syntax {
    /// With its article, as in "`x` is not a network".
    pub(super) name: &'static str,
    /// For hints and the schema.
    pub(super) example: &'static str,
    /// The regular expression for the schema, where one is sufficient.
    pub(super) pattern: Option<&'static str>,
    pub(super) parse: fn(&str) -> Option<Scalar>,
}

const fn syntax(name: &'static str, example: &'static str, parse: fn(&str) -> Option<Scalar>) -> Syntax {
    Syntax { name, example, pattern: None, parse }
}

impl Syntax {
    const fn pattern(mut self, pattern: &'static str) -> Self {
        self.pattern = Some(pattern);
        self
    }
}

/// A text that stays a text.
fn text_if(valid: bool, text: &str) -> Option<Scalar> {
    valid.then(|| Scalar::Text(text.to_owned()))
}

/// Any text that is not empty.
pub(super) const TEXT: Syntax = syntax("a text", "some text", |text| text_if(!text.is_empty(), text));
/// A name of one DNS label.
pub(super) const NAME: Syntax =
    syntax("a DNS label (lower-case letters, digits and `-`, at most 63)", "master-0", |text| {
        text_if(is_label(text), text)
    })
    .pattern("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$");
/// A domain of several labels.
pub(super) const DOMAIN: Syntax = syntax("a domain name", "example.com", domain)
    .pattern(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$");
/// An address without prefix length.
pub(super) const ADDRESS: Syntax =
    syntax("an IP address", "192.168.126.10", |text| text.parse().ok().map(Scalar::Address));
/// A network in CIDR notation.
pub(super) const NETWORK: Syntax =
    syntax("a network", "192.168.126.0/24", |text| text.parse().ok().map(Scalar::Network));
/// Normalised to lower case.
pub(super) const MAC: Syntax = syntax("a MAC address of one interface", "52:54:00:12:34:56", |text| {
    text_if(is_mac(text), &text.to_ascii_lowercase())
})
.pattern("^[0-9A-Fa-f][02468ACEace](:[0-9A-Fa-f]{2}){5}$");
/// The URL of a proxy.
pub(super) const PROXY: Syntax =
    syntax("a proxy URL", "http://proxy.example.com:3128", |text| text_if(is_proxy(text), text))
        .pattern("^https?://[^/ ]+/?$");
/// Hosts that need no proxy. Programs write it into units and shell scripts, where a quote or a line break would begin
/// something else.
pub(super) const NO_PROXY: Syntax =
    syntax("domains, addresses and networks, separated by commas", ".example.com,10.0.0.0/8", |text| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/*,[] ".contains(c);
        text_if(text.chars().all(plain), text)
    })
    .pattern(r"^[-A-Za-z0-9_.:/*,\[\] ]*$");
/// The URL of a directory. It has no credentials in it: cluster.yaml is committed. Plain http will do: what comes from
/// there is verified by sha256.
pub(super) const MIRROR: Syntax =
    syntax("the URL of a directory without credentials", "https://mirror.example.com/rhcos/", |text| {
        let rest = ["https://", "http://", "file:///"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let plain =
            |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_graphic() && !"@?#".contains(c));
        text_if(rest.is_some_and(plain), text)
    })
    .pattern("^(https?://|file:///)[^@?# ]+$");
/// Public SSH keys, one per line; blank lines are ignored.
pub(super) const SSH_KEYS: Syntax =
    syntax("a public SSH key", "ssh-ed25519 AAAA… you@example.com (one key a line)", |text| {
        let keys: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let valid = !keys.is_empty() && keys.iter().all(|key| is_ssh_key(key));
        valid.then(|| Scalar::Lines(keys.into_iter().map(str::to_owned).collect()))
    });
/// Certificates in PEM.
pub(super) const CERTIFICATES: Syntax =
    syntax("a PEM bundle of certificates", "-----BEGIN CERTIFICATE-----", |text| text_if(is_pem(text), text));
/// As written by `podman login`.
pub(super) const PULL_SECRET: Syntax = syntax(
    "a pull secret: JSON with `auths`, each with an `auth` or a `credsStore`",
    r#"{"auths":{"registry.example.com":{"auth":"…"}}}"#,
    |text| text_if(is_pull_secret(text), text),
);
/// A repository, without tag.
pub(super) const REPOSITORY: Syntax =
    syntax("an image repository (without tag or digest)", "mirror.example.com:5000/ocp/release", |text| {
        text_if(is_repository(text), text)
    });
/// What caches outputs: a repository, or an instance of a farm.
pub(super) const CACHE: Syntax =
    syntax("a cache", "oci://registry.example.com:5000/team/tinderbox", |text| {
        text_if(text.parse::<CacheUrl>().is_ok(), text)
    })
    .pattern("^(oci://[^/ ]+/[a-z0-9._/-]+|grpcs?://[^/ ]+(/[A-Za-z0-9._/-]+)?)$");
/// What builds: an instance of a farm.
pub(super) const FARM: Syntax = syntax("a farm", "grpcs://farm.example.com/instance", |text| {
    text_if(text.parse::<CacheUrl>().is_ok_and(|url| url.is_farm()), text)
})
.pattern("^grpcs?://[^/ ]+(/[A-Za-z0-9._/-]+)?$");
/// The public half of a signing key.
pub(super) const PUBLIC_KEY: Syntax =
    syntax("a public key", "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", |text| {
        text_if(text.parse::<PublicKey>().is_ok(), text)
    })
    .pattern("^ed25519:[A-Za-z0-9+/]{43}=$");
/// Who can decrypt.
pub(super) const RECIPIENT: Syntax =
    syntax("an age recipient", "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p", |text| {
        text_if(text.parse::<age::x25519::Recipient>().is_ok(), text)
    })
    .pattern("^age1[a-z0-9]+$");
/// A source of a release image.
pub(super) const RELEASE: Syntax = syntax(
    "a release",
    "demo:4.18, registry/repo:tag, registry/repo@sha256:…, oci:DIR:TAG or oci:DIR@sha256:…",
    |text| text.parse().ok().map(Scalar::Release),
);
/// A time span in whole hours, days or years, converted to hours.
pub(super) const SPAN: Syntax =
    syntax("a time span", "24h, 30d or 10y (of 365 days)", |text| hours(text).map(Scalar::Int))
        .pattern("^[1-9][0-9]{0,6}[hdy]$");
/// `Gate=true`.
pub(super) const FEATURE_GATE: Syntax = syntax("a feature gate", "SomeGate=true", |text| {
    let word = |gate: &str| !gate.is_empty() && gate.bytes().all(|b| b.is_ascii_alphanumeric());
    text_if(matches!(text.split_once('='), Some((gate, "true" | "false")) if word(gate)), text)
})
.pattern("^[A-Za-z0-9]+=(true|false)$");
/// A Linux interface name.
pub(super) const INTERFACE: Syntax =
    syntax("a network interface name of at most 15 characters", "virbr-ocp4", |text| {
        text_if((1..=15).contains(&text.len()) && text.bytes().all(is_file_byte), text)
    })
    .pattern("^[A-Za-z0-9_.-]{1,15}$");
/// The name of a network or pool: it is used in XML, in file names and on command lines.
pub(super) const OBJECT: Syntax =
    syntax("a name of letters, digits, `_`, `.` and `-`, at most 63", "ocp4", |text| {
        let first = text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
        text_if(first && text.len() <= 63 && text.bytes().all(is_file_byte), text)
    })
    .pattern("^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$");
/// A directory of the host, absolute.
pub(super) const DIRECTORY: Syntax =
    syntax("an absolute path of letters, digits, `_`, `.` and `-`", "/var/lib/libvirt/images/ocp4", |text| {
        let part = |part: &str| !matches!(part, "" | "." | "..") && part.bytes().all(is_file_byte);
        text_if(text.strip_prefix('/').is_some_and(|rest| rest.split('/').all(part)), text)
    })
    .pattern("^(/[A-Za-z0-9_.-]+)+$");
/// A disk, as named by the live system.
pub(super) const DEVICE: Syntax = syntax("a device", "/dev/disk/by-id/wwn-0x5000c500a0b1c2d3", |text| {
    let known = |b: u8| b.is_ascii_alphanumeric() || b"/_.:+@=,-".contains(&b);
    let device = |rest: &str| !rest.is_empty() && rest.bytes().all(known);
    text_if(text.strip_prefix("/dev/").is_some_and(device), text)
})
.pattern("^/dev/[A-Za-z0-9/_.:+@=,-]+$");

fn is_file_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"_.-".contains(&b)
}

pub(super) fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let word = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    bytes.len() <= 63
        && bytes.first().is_some_and(word)
        && bytes.last().is_some_and(word)
        && bytes.iter().all(|b| word(b) || *b == b'-')
}

/// Removes the final dot of a fully qualified name, which the installer allows.
fn domain(text: &str) -> Option<Scalar> {
    let text = text.strip_suffix('.').unwrap_or(text);
    text_if(text.len() <= 253 && text.split('.').all(is_label), text)
}

fn is_mac(text: &str) -> bool {
    let octets: Vec<Option<u8>> = text
        .split(':')
        .map(|octet| if octet.len() == 2 { u8::from_str_radix(octet, 16).ok() } else { None })
        .collect();
    // An odd first octet means a multicast address, which no interface can have.
    octets.len() == 6
        && octets.iter().all(Option::is_some)
        && octets[0].is_some_and(|first| first & 1 == 0)
        && !text.contains('+')
}

fn is_proxy(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")) else {
        return false;
    };
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or_default();
    !host.is_empty()
        && !host.starts_with(':')
        && !authority.contains(['/', '?', '#', '"', '\'', '\\', '$', '`'])
        && !authority.contains(|c: char| c.is_whitespace() || c.is_control())
}

fn is_ssh_key(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let kind = words.next().unwrap_or_default();
    let known = ["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"].iter().any(|prefix| kind.starts_with(prefix));
    let base64 = |b: u8| b.is_ascii_alphanumeric() || b"+/=".contains(&b);
    known
        && words
            .next()
            .is_some_and(|key| key.len() >= 16 && key.starts_with("AAAA") && key.bytes().all(base64))
}

fn is_pem(text: &str) -> bool {
    let (begin, end) = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----");
    let mut rest = text.trim();
    while let Some(body) = rest.strip_prefix(begin) {
        let Some((inside, after)) = body.split_once(end) else { return false };
        if inside.trim().is_empty()
            || !inside.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=\r\n ".contains(&b))
        {
            return false;
        }
        rest = after.trim_start();
        if rest.is_empty() {
            return true;
        }
    }
    false
}

fn is_pull_secret(text: &str) -> bool {
    let Ok(serde_json::Value::Object(secret)) = serde_json::from_str(text) else { return false };
    let Some(serde_json::Value::Object(auths)) = secret.get("auths") else { return false };
    !auths.is_empty()
        && auths.values().all(|entry| entry.get("auth").is_some() || entry.get("credsStore").is_some())
}

/// Whether this is `host[:port]/path` or `host[:port]`, without tag or digest.
pub(super) fn is_repository(text: &str) -> bool {
    let mut parts = text.split('/');
    let host = parts.next().unwrap_or_default();
    let (name, port) = host.split_once(':').unwrap_or((host, "443"));
    let component = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
            && part.as_bytes()[0].is_ascii_alphanumeric()
    };
    !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b".-*".contains(&b))
        && port.parse::<u16>().is_ok()
        && parts.all(component)
}

/// Converts a time span such as `24h`, `30d` or `10y` to hours.
fn hours(text: &str) -> Option<i64> {
    let (count, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let unit = match unit {
        "h" => 1,
        "d" => 24,
        "y" => 24 * 365,
        _ => return None,
    };
    let digits = !count.is_empty() && count.len() <= 7 && count.bytes().all(|b| b.is_ascii_digit());
    let count: i64 = count.parse().ok().filter(|count| digits && *count > 0)?;
    // The end of a certificate's validity needs a year of four digits.
    count.checked_mul(unit).filter(|hours| *hours <= 100 * 24 * 365)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_syntax_knows_its_own() {
        let cases: &[(&Syntax, &[&str], &[&str])] = &[
            (&NAME, &["a", "master-0", "0a"], &["", "-a", "a-", "A", "a.b", "ä"]),
            (&DOMAIN, &["example.com", "example.com.", "lab"], &["", ".", "a..b", "a_b.c", "EXAMPLE.com"]),
            (
                &MAC,
                &["52:54:00:12:34:56"],
                &["53:54:00:12:34:56", "52:54:00:12:34", "52-54-00-12-34-56", "+2:54:00:12:34:56"],
            ),
            (
                &PROXY,
                &["http://p:3128", "https://u:p@h/"],
                &["p:3128", "ftp://p", "http://", "http://:1", "http://a/b"],
            ),
            (
                &SSH_KEYS,
                &["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 me", "\nssh-rsa AAAAB3NzaC1yc2EAAAA\n"],
                &["", "hello", "ssh-rsa short"],
            ),
            (
                &CERTIFICATES,
                &["-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"],
                &["", "-----BEGIN CERTIFICATE-----\n"],
            ),
            (
                &PULL_SECRET,
                &[r#"{"auths":{"a":{"auth":"x"}}}"#],
                &["", "{}", r#"{"auths":{}}"#, r#"{"auths":{"a":{}}}"#],
            ),
            (
                &REPOSITORY,
                &["quay.io/a/b", "m:5000/x", "*.example.com"],
                &["", "a:x/b", "a/B", "a/b:tag", "a//b"],
            ),
            (&SPAN, &["24h", "30d", "10y"], &["", "10", "0d", "-1d", "+1d", "1w", "101y", "dé"]),
            (&FEATURE_GATE, &["A=true"], &["A", "=true", "A=yes"]),
            (&INTERFACE, &["virbr-ocp4"], &["", "a name", "sixteencharacter"]),
            (&OBJECT, &["ocp4", "Lab_1.a-b"], &["", "-ocp4", "a/b", "a<b", "a b"]),
            (
                &DIRECTORY,
                &["/srv/ocp4", "/a"],
                &["", "/", "srv", "/srv/", "/srv//a", "/srv/../etc", "/a b", "/a'b"],
            ),
        ];
        for (syntax, good, bad) in cases {
            for text in *good {
                assert!((syntax.parse)(text).is_some(), "{text:?} is {}", syntax.name);
            }
            for text in *bad {
                assert!((syntax.parse)(text).is_none(), "{text:?} is not {}", syntax.name);
            }
        }
    }
}
