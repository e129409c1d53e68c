//! String formats that the API server really enforces, by its own definitions.
//!
//! It ignores every other format (for example `ip` in many OpenShift CRDs), and so do we. `password` allows everything.
//! Formats that no CRD of OpenShift or Kubernetes uses (`isbn`, `creditcard`, `ssn`, colours, `bsonobjectid`) are
//! reported as not evaluated.

use std::net::Ipv6Addr;

use base64::Engine as _;

/// A format that the API server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Int32,
    Int64,
    Ipv4,
    Ipv6,
    Cidr,
    Mac,
    Uuid(Option<char>),
    Hostname,
    Uri,
    Email,
    Byte,
    /// What Go decodes into bytes: base64 that may be empty or wrapped.
    Bytes,
    Date,
    DateTime,
    Duration,
    Unknowable(&'static str),
}

/// Formats that we do not evaluate.
const UNKNOWABLE: [&str; 8] =
    ["bsonobjectid", "isbn", "isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor"];

impl Format {
    /// The format of a name; none if the API server ignores it.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name.replace('-', "").as_str() {
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "cidr" => Self::Cidr,
            "mac" => Self::Mac,
            "uuid" => Self::Uuid(None),
            "uuid3" => Self::Uuid(Some('3')),
            "uuid4" => Self::Uuid(Some('4')),
            "uuid5" => Self::Uuid(Some('5')),
            "hostname" => Self::Hostname,
            "uri" => Self::Uri,
            "email" => Self::Email,
            "byte" => Self::Byte,
            "date" => Self::Date,
            "datetime" => Self::DateTime,
            "duration" => Self::Duration,
            other => Self::Unknowable(UNKNOWABLE.into_iter().find(|known| *known == other)?),
        })
    }

    /// The name of the format in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Int32 => "an integer of 32 bits",
            Self::Int64 => "an integer of 64 bits",
            Self::Ipv4 => "an IPv4 address",
            Self::Ipv6 => "an IPv6 address",
            Self::Cidr => "a CIDR",
            Self::Mac => "a MAC address",
            Self::Uuid(_) => "a UUID",
            Self::Hostname => "a host name",
            Self::Uri => "a URI",
            Self::Email => "an email address",
            Self::Byte | Self::Bytes => "base64",
            Self::Date => "a date",
            Self::DateTime => "a date and time",
            Self::Duration => "a duration",
            Self::Unknowable(name) => name,
        }
    }

    /// A valid example.
    pub(super) fn example(self) -> Option<&'static str> {
        Some(match self {
            Self::Ipv4 => "192.0.2.1",
            Self::Ipv6 => "2001:db8::1",
            Self::Cidr => "10.128.0.0/14",
            Self::Mac => "52:54:00:12:34:56",
            Self::Hostname => "api.example.com",
            Self::Uri => "https://example.com",
            Self::Date => "2026-11-16",
            Self::DateTime => "2026-11-16T00:00:00Z",
            Self::Duration => "1h30m",
            _ => return None,
        })
    }

    /// The format's name, if it changes the CEL type of a string.
    pub(super) fn cel(self) -> Option<&'static str> {
        Some(match self {
            Self::Byte => "byte",
            Self::Date => "date",
            Self::DateTime => "date-time",
            Self::Duration => "duration",
            _ => return None,
        })
    }

    /// Whether a text has this format; none if that is not decided here.
    pub(super) fn accepts(self, text: &str) -> Option<bool> {
        Some(match self {
            Self::Int32 | Self::Int64 => true,
            Self::Ipv4 => text.contains('.') && is_ip(text),
            Self::Ipv6 => text.contains(':') && is_ip(text),
            Self::Cidr => is_cidr(text),
            Self::Mac => is_mac(text),
            Self::Uuid(version) => is_uuid(text, version),
            Self::Hostname => is_hostname(text),
            Self::Uri => is_uri(text),
            Self::Email => is_email(text),
            Self::Byte => is_base64(text),
            Self::Bytes => text.is_empty() || is_base64(&text.replace(['\r', '\n'], "")),
            Self::Date => is_date(text),
            Self::DateTime => is_date_time(text),
            Self::Duration => is_duration(text),
            Self::Unknowable(_) => return None,
        })
    }
}

/// Go before 1.17, and the API server to this day, allow leading zeros in IPv4.
fn is_ip(text: &str) -> bool {
    let dotted = |text: &str| {
        let parts: Vec<&str> = text.split('.').collect();
        parts.len() == 4
            && parts.iter().all(|part| {
                !part.is_empty()
                    && part.bytes().all(|c| c.is_ascii_digit())
                    && part.parse::<u32>().is_ok_and(|n| n < 256)
            })
    };
    dotted(text) || text.parse::<Ipv6Addr>().is_ok()
}

fn is_cidr(text: &str) -> bool {
    text.split_once('/').is_some_and(|(address, bits)| {
        let most = if address.contains(':') { 128 } else { 32 };
        is_ip(address)
            && !bits.is_empty()
            && bits.bytes().all(|c| c.is_ascii_digit())
            && bits.parse::<u32>().is_ok_and(|n| n <= most)
    })
}

/// Six, eight or twenty bytes, like Go's `net.ParseMAC`.
fn is_mac(text: &str) -> bool {
    let groups = |separator: char, width: usize, counts: [usize; 3]| {
        let parts: Vec<&str> = text.split(separator).collect();
        counts.contains(&parts.len())
            && parts.iter().all(|part| part.len() == width && part.bytes().all(|c| c.is_ascii_hexdigit()))
    };
    groups(':', 2, [6, 8, 20]) || groups('-', 2, [6, 8, 20]) || groups('.', 4, [3, 4, 10])
}

/// Each dash may be missing.
fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut rest = text;
    let mut digits = String::new();
    for (at, width) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((group, after)) = rest.split_at_checked(width) else { return false };
        digits.push_str(group);
        rest = after;
    }
    let variant = |c: char| matches!(version, None | Some('3')) || "89abAB".contains(c);
    rest.is_empty()
        && digits.bytes().all(|c| c.is_ascii_hexdigit())
        && version.is_none_or(|version| digits[12..].starts_with(version))
        && digits[16..].starts_with(variant)
}

/// A single label, or labels and a top level of letters.
fn is_hostname(text: &str) -> bool {
    let inner = |c: char| c.is_alphanumeric() || c == '-' || !c.is_ascii();
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.chars().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let labels: Vec<&str> = text.split('.').collect();
    let top = labels.last().copied().unwrap_or_default();
    text.len() <= 255
        && labels.iter().all(|one| label(one))
        && (labels.len() == 1 || (top.chars().count() >= 2 && top.chars().all(char::is_alphabetic)))
}

/// Go's `url.ParseRequestURI`: absolute, or a path from the root.
fn is_uri(text: &str) -> bool {
    let scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    let clean = !text.chars().any(|c| c.is_ascii_control() || c == ' ');
    clean
        && (text.starts_with('/')
            || text.split_once(':').is_some_and(|(one, rest)| scheme(one) && !rest.is_empty()))
}

/// `name@host`, also as `Name <name@host>`.
fn is_email(text: &str) -> bool {
    let address = match text.trim().strip_suffix('>') {
        Some(rest) => rest.rsplit_once('<').map_or("", |(_, address)| address),
        None => text.trim(),
    };
    address.rsplit_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && !host.is_empty() && !address.chars().any(|c| c.is_whitespace() || c == ',')
    })
}

/// Padded, in one line, not empty.
fn is_base64(text: &str) -> bool {
    !text.is_empty() && base64::engine::general_purpose::STANDARD.decode(text).is_ok()
}

fn is_date(text: &str) -> bool {
    time::Date::parse(text, &time::macros::format_description!("[year]-[month]-[day]")).is_ok()
}

fn is_date_time(text: &str) -> bool {
    time::OffsetDateTime::parse(&text.to_ascii_uppercase(), &time::format_description::well_known::Rfc3339)
        .is_ok()
}

/// Go's `ParseDuration`, or a number and a unit somewhere in it (`2 days`), as the API server allows.
fn is_duration(text: &str) -> bool {
    const UNITS: [&str; 8] = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
    const SHORT: [&str; 12] = ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk", "μs"];
    if text == "0" {
        return true;
    }
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let after = rest[start..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let after = after.trim_start();
        let end = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let unit = after[..end].to_lowercase();
        if SHORT.contains(&unit.as_str()) || UNITS.iter().any(|one| unit.starts_with(one)) {
            return true;
        }
        rest = after;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_accept_what_the_api_server_accepts() {
        for (name, yes, no) in [
            (
                "ipv4",
                vec!["10.0.0.1", "010.0.0.1", "::ffff:1.2.3.4"],
                vec!["10.0.0", "::1", "10.0.0.256", "10.0.0.+1", ""],
            ),
            ("ipv6", vec!["::1", "2001:db8::"], vec!["10.0.0.1", "2001:zz::", "fe80::1%eth0"]),
            (
                "cidr",
                vec!["10.0.0.0/8", "10.0.0.1/8", "fd01::/48"],
                vec!["10.0.0.0", "10.0.0.0/33", "10.0.0.0/", "fd01::/129", "10.0.0.0/+8"],
            ),
            (
                "mac",
                vec!["52:54:00:12:34:56", "52-54-00-12-34-56", "5254.0012.3456"],
                vec!["52:54:00:12:34", "zz:54:00:12:34:56"],
            ),
            (
                "uuid",
                vec!["123E4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000"],
                vec!["123e4567", "x23e4567-e89b-12d3-a456-426614174000"],
            ),
            (
                "uuid4",
                vec!["123e4567-e89b-42d3-a456-426614174000"],
                vec!["123e4567-e89b-12d3-a456-426614174000"],
            ),
            ("hostname", vec!["a", "a.example.com", "4you.example"], vec!["a_b", "-a", "a.", "a.b-c.1", ""]),
            ("uri", vec!["https://a/b", "/a", "mailto:x"], vec!["a b", "a", ""]),
            ("email", vec!["a@b", "A <a@b.c>"], vec!["a", "@b", "a@"]),
            ("byte", vec!["AA==", "AAAA"], vec!["A", "AA", "", "A A="]),
            ("date", vec!["2026-11-16"], vec!["2026-13-01", "16.11.2026"]),
            (
                "date-time",
                vec!["2026-11-16T00:00:00Z", "2026-11-16T00:00:00.5+01:00"],
                vec!["2026-11-16", "now", ""],
            ),
            ("duration", vec!["1h30m", "10s", "2 days", "0", "1.5h", "-3ms"], vec!["1", "soon", "1x", ""]),
        ] {
            let format = Format::of(name).unwrap();
            yes.iter().for_each(|text| assert_eq!(format.accepts(text), Some(true), "{name} {text:?}"));
            no.iter().for_each(|text| assert_eq!(format.accepts(text), Some(false), "{name} {text:?}"));
            assert!(format.example().is_none_or(|example| format.accepts(example) == Some(true)));
        }
        assert_eq!(Format::of("ip"), None);
        assert_eq!(Format::of("isbn10").unwrap().accepts("x"), None);
    }
}
