//! Certificates, field by field.

use super::Part;
use crate::base::pki::Certificate;
use crate::base::time::rfc3339;

/// The fields of every certificate of a file. Those after the first are numbered.
pub(super) fn parts(text: &str) -> Vec<Part> {
    let chain = Certificate::chain_from_pem(text).unwrap_or_default();
    let starts: Vec<usize> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains("BEGIN CERTIFICATE"))
        .map(|(at, _)| at + 1)
        .collect();
    let fields = |(at, one): (usize, &Certificate)| {
        let line = starts.get(at).copied().unwrap_or(0);
        let number = if at == 0 { String::new() } else { format!(" {}", at + 1) };
        let part = move |(name, value): (&str, String)| Part {
            name: format!("{name}{number}"),
            value,
            lines: (line, line),
            comment: String::new(),
            is_list: name == "names",
        };
        certificate_fields(one).into_iter().filter(|(_, value)| !value.is_empty()).map(part)
    };
    chain.iter().enumerate().flat_map(fields).collect()
}

fn certificate_fields(one: &Certificate) -> Vec<(&'static str, String)> {
    let names = one.dns().iter().cloned().chain(one.ips().iter().map(ToString::to_string));
    let shown_as = match (one.is_client(), one.is_server()) {
        (true, true) => "client and server",
        (true, false) => "client",
        (false, true) => "server",
        (false, false) => "",
    };
    let authority = match (one.is_authority(), one.path_length()) {
        (false, _) => "no".to_owned(),
        (true, None) => "yes".to_owned(),
        (true, Some(length)) => format!("yes, with at most {length} authorities below it"),
    };
    let usages = one.key_usages().iter().map(|usage| format!("{usage:?}")).collect::<Vec<_>>().join(", ");
    vec![
        ("subject", one.subject()),
        ("issuer", one.issuer()),
        ("serial", one.serial()),
        ("valid from", rfc3339(one.not_before())),
        ("valid until", rfc3339(one.not_after())),
        ("names", names.collect::<Vec<_>>().join("\n")),
        ("authority", authority),
        ("shown as", shown_as.to_owned()),
        ("key usage", usages),
        ("key", one.key_algorithm()),
        ("signed with", one.signature_algorithm()),
        ("key id", one.subject_key_id().unwrap_or_default()),
        ("issuer key id", one.authority_key_id().unwrap_or_default()),
        ("fingerprint", one.fingerprint()),
    ]
}
