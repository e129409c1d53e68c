//! What of a change is a site's own: values of its table, addresses of its networks, and what is derived from its identity.
//! Without them, the same edit at 3,500 sites is one change.
//!
//! | in a text | becomes |
//! |---|---|
//! | a value of the site's table, as a whole word | `$(column)` |
//! | an address of one of its networks | `$(column)` and the offset in it |
//! | what is between the lines of a PEM block | `*` |
//! | a MAC address, a UUID, a long number, digest, id or base64 | `*` |
//! | `sha256:…` | itself: it names an image, the same for every site |
//!
//! Only for keys by which changes are compared, never for what is shown. Leaving out what is derived is safe: a key has the
//! causes too, with their values, and what is derived follows from those.

use std::net::IpAddr;

use ipnet::IpNet;

/// Shorter values are everywhere.
const SHORTEST: usize = 3;
/// Words from this length on that mix letters and digits are derived.
const DERIVED: usize = 10;
/// Numbers from this length on are serials, times or sizes.
const LONG_NUMBER: usize = 8;
/// Runs of base64 from this length on.
const BASE64: usize = 40;
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";
/// What follows a site's name in its infraID.
const INFRA_ID: usize = 5;

#[derive(Debug, Clone, Default)]
pub struct OwnValues {
    /// Values and what stands for them, the longest first.
    words: Vec<(String, String)>,
    networks: Vec<(IpNet, String)>,
}

impl OwnValues {
    /// Values by what they are called.
    pub fn new<'a>(values: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut own = Self::default();
        for (name, value) in values {
            let placeholder = format!("$({name})");
            if let Ok(network) = value.parse::<IpNet>() {
                own.networks.push((network.trunc(), placeholder.clone()));
            }
            if value.len() >= SHORTEST && !["true", "false", "null"].contains(&value) {
                own.words.push((value.to_owned(), placeholder));
            }
        }
        // Of equal values the first name counts, for every site the same one.
        own.words
            .sort_by(|one, other| (other.0.len(), &one.0, &one.1).cmp(&(one.0.len(), &other.0, &other.1)));
        own.words.dedup_by(|later, first| later.0 == first.0);
        own
    }

    /// A text without what is the site's own.
    pub(crate) fn without(&self, text: &str) -> String {
        let text = without_base64(&without_pem(&self.named(text)));
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(start) = rest.find(is_token) {
            out.push_str(&rest[..start]);
            let end = rest[start..].find(|c| !is_token(c)).map_or(rest.len(), |length| start + length);
            self.token(&rest[start..end], &mut out);
            rest = &rest[end..];
        }
        out.push_str(rest);
        out
    }

    /// A text with names for the values of the table.
    pub(super) fn named(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (value, placeholder) in &self.words {
            if text.contains(value.as_str()) {
                text = replace_words(&text, value, placeholder);
            }
        }
        text
    }

    /// A run of letters, digits, dots, colons and dashes.
    fn token(&self, token: &str, out: &mut String) {
        if token.contains("sha256:") {
            return out.push_str(token);
        }
        let address = token.trim_end_matches(['.', ':', '-']);
        if let Ok(address) = address.parse::<IpAddr>()
            && let Some((network, name)) =
                self.networks.iter().find(|(network, _)| network.contains(&address))
        {
            return out.push_str(&format!("{name}+{}", offset(network, address)));
        }
        if is_mac(address) || is_uuid(address) {
            return out.push('*');
        }
        // The part of an infraID that follows the name of its site.
        let (dash, tail) = token.strip_prefix('-').map_or(("", token), |tail| ("-", tail));
        let first: String = tail.chars().take_while(char::is_ascii_alphanumeric).collect();
        let rest = match out.ends_with(')') && !dash.is_empty() && first.len() == INFRA_ID {
            true => {
                out.push_str("-*");
                &tail[INFRA_ID..]
            }
            false => token,
        };
        for piece in rest.split_inclusive(['.', ':', '-']) {
            let word = piece.trim_end_matches(['.', ':', '-']);
            match is_derived(word) {
                true => out.push_str(&format!("*{}", &piece[word.len()..])),
                false => out.push_str(piece),
            }
        }
    }
}

/// A text without what is in its PEM blocks: certificates and public keys of a site.
fn without_pem(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let block = after.split_once(DASHES).and_then(|(label, block)| {
            let (_, after) = block.split_once(&format!("{END}{label}{DASHES}"))?;
            Some((label, after))
        });
        let Some((label, after)) = block else { break };
        out.push_str(&format!("{before}{BEGIN}{label}{DASHES}*"));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// A text without long base64. A path has no capitals and digits in such a run, or it has dots and dashes between them.
fn without_base64(text: &str) -> String {
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let is_long = |run: &str| {
        run.len() >= BASE64
            && run.bytes().any(|c| c.is_ascii_uppercase())
            && run.bytes().any(|c| c.is_ascii_digit())
            && !run.starts_with('/')
    };
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(start) = rest.find(is_base64) {
        out.push_str(&rest[..start]);
        let end = rest[start..].find(|c| !is_base64(c)).map_or(rest.len(), |length| start + length);
        out.push_str(if is_long(&rest[start..end]) { "*" } else { &rest[start..end] });
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-')
}

/// Replaces a value where nothing that belongs to a word stands before or after it.
fn replace_words(text: &str, value: &str, by: &str) -> String {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find(value).map(|found| at + found) {
        let end = found + value.len();
        out.push_str(&text[at..found]);
        let is_whole = !is_word(text[..found].chars().next_back()) && !is_word(text[end..].chars().next());
        out.push_str(if is_whole { by } else { value });
        at = end;
    }
    out.push_str(&text[at..]);
    out
}

/// How far an address is from the first one of its network.
fn offset(network: &IpNet, address: IpAddr) -> u128 {
    match (network.network(), address) {
        (IpAddr::V4(first), IpAddr::V4(address)) => {
            u128::from(u32::from(address).wrapping_sub(u32::from(first)))
        }
        (IpAddr::V6(first), IpAddr::V6(address)) => u128::from(address).wrapping_sub(u128::from(first)),
        _ => 0,
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|c| c.is_ascii_hexdigit())
}

fn is_mac(token: &str) -> bool {
    let mut parts = token.split([':', '-']);
    token.len() == 17 && parts.clone().count() == 6 && parts.all(|part| part.len() == 2 && is_hex(part))
}

fn is_uuid(token: &str) -> bool {
    let lengths: Vec<usize> = token.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && is_hex(&token.replace('-', ""))
}

/// Whether a word is a digest, an id, base64 or a long number.
fn is_derived(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    match digits {
        0 => word.len() >= 3 * DERIVED,
        _ if digits == word.len() => digits >= LONG_NUMBER,
        _ => word.len() >= DERIVED,
    }
}

#[cfg(test)]
mod tests {
    use super::OwnValues;

    fn without(text: &str) -> String {
        let values = [
            ("name", "berlin"),
            ("network", "10.0.1.0/24"),
            ("ip", "10.0.1.10"),
            ("flag", "true"),
            ("vlan", "12"),
        ];
        OwnValues::new(values).without(text)
    }

    #[test]
    fn a_sites_own_values_have_names() {
        for (text, expected) in [
            ("api.berlin.example.com", "api.$(name).example.com"),
            ("berlin-0", "$(name)-0"),
            ("berliner and oberlin", "berliner and oberlin"),
            ("to 10.0.1.10:6443, not 10.0.1.100", "to $(ip):6443, not $(network)+100"),
            ("in 10.0.1.0/24; gateway 10.0.1.1.", "in $(network); gateway $(network)+1"),
            ("10.1.1.10 is true for 12", "10.1.1.10 is true for 12"),
            ("berlin-x7k2p-master", "$(name)-*-master"),
        ] {
            assert_eq!(without(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_derived_is_left_out_and_images_are_not() {
        for (text, expected) in [
            ("mac 52:54:00:ab:cd:ef, 6443", "mac *, 6443"),
            ("uuid d3b07384-d113-4ec6-a5f0-11b3f4a5c0de", "uuid *"),
            ("rendered-master-0123456789abcdef0123456789abcdef", "rendered-master-*"),
            ("serial 123456789012", "serial *"),
            (
                "ca: |\n  -----BEGIN CERTIFICATE-----\n  MIIC8/+a\n  b1=\n  -----END CERTIFICATE-----\nb: c",
                "ca: |\n  -----BEGIN CERTIFICATE-----*\nb: c",
            ),
            ("a -----BEGIN X----- b", "a -----BEGIN X----- b"),
            ("key LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KZGVtbyByZWxl+/a= end", "key * end"),
            (
                "/etc/kubernetes/manifests/openshift/kubernetes/A1",
                "/etc/kubernetes/manifests/openshift/kubernetes/A1",
            ),
            ("quay.io/a@sha256:0123456789abcdef", "quay.io/a@sha256:0123456789abcdef"),
            (
                "kube-apiserver listens on 6443 since 2026-11-19",
                "kube-apiserver listens on 6443 since 2026-11-19",
            ),
        ] {
            assert_eq!(without(text), expected, "{text}");
        }
    }

    #[test]
    fn two_sites_with_the_same_edit_have_one_text() {
        let site = |name: &str, network: &str, ip: &str| {
            let own = OwnValues::new([("name", name), ("network", network), ("ip", ip)]);
            own.without(&format!("{name}.example.com at {ip} in {network}"))
        };
        assert_eq!(site("berlin", "10.0.1.0/24", "10.0.1.10"), site("oslo", "10.7.0.0/16", "10.7.3.9"));
    }
}
