//! Certificates by field: subject, issuer, uses and validity; for the key, whether it changed.

use std::collections::BTreeSet;

use time::format_description::well_known::Rfc3339;

use super::data::Data;
use super::walk::Walk;
use super::{ChangeKind, StepKind};
use crate::base::pki::{Certificate, KeyUsage};

/// Pairs the certificates of two files, none of which is in both. One on each side is a pair; else subjects decide.
pub(super) fn bundles(walk: &mut Walk<'_>, old: Vec<Certificate>, mut new: Vec<Certificate>) {
    let masked = std::mem::replace(&mut walk.masked, false);
    if let ([one], [two]) = (&old[..], &new[..]) {
        fields(walk, one, two);
        walk.masked = masked;
        return;
    }
    for one in old {
        let subject = one.subject();
        let same = |two: &Certificate| two.subject() == subject;
        // Among several with this subject, prefer the one with the same key.
        let key = |two: &Certificate| same(two) && two.public_pem() == one.public_pem();
        let at = new.iter().position(key).or_else(|| new.iter().position(same));
        let two = at.map(|at| new.remove(at));
        walk.step(StepKind::Certificate, &subject, |walk| match &two {
            Some(two) => fields(walk, &one, two),
            None => walk.texts(ChangeKind::Certificate, Some(&summary(&one)), None),
        });
    }
    for two in new {
        walk.step(StepKind::Certificate, &two.subject(), |walk| {
            walk.texts(ChangeKind::Certificate, None, Some(&summary(&two)));
        });
    }
    walk.masked = masked;
}

/// A certificate in one line.
fn summary(one: &Certificate) -> String {
    format!(
        "{} from {}, {} to {}",
        one.subject(),
        one.issuer(),
        date(one.not_before()),
        date(one.not_after())
    )
}

fn date(time: time::OffsetDateTime) -> String {
    time.format(&Rfc3339).unwrap_or_else(|_| time.unix_timestamp().to_string())
}

fn fields(walk: &mut Walk<'_>, old: &Certificate, new: &Certificate) {
    let before = walk.count();
    let text = |walk: &mut Walk<'_>, name: &str, read: &dyn Fn(&Certificate) -> Option<String>| {
        let (old, new) = (read(old), read(new));
        if old != new {
            // Bypass the field mask: serial numbers and key ids look random, but are public.
            walk.field(name, |walk| walk.public(ChangeKind::Certificate, old, new));
        }
    };
    text(walk, "subject", &|one| Some(one.subject()));
    text(walk, "issuer", &|one| Some(one.issuer()));
    text(walk, "serial", &|one| Some(one.serial()));
    text(walk, "not-before", &|one| Some(date(one.not_before())));
    text(walk, "not-after", &|one| Some(date(one.not_after())));
    text(walk, "authority", &|one| Some(one.is_authority().to_string()));
    text(walk, "path-length", &|one| one.path_length().map(|length| length.to_string()));
    text(walk, "key-algorithm", &|one| Some(one.key_algorithm()));
    text(walk, "signature-algorithm", &|one| Some(one.signature_algorithm()));
    text(walk, "authority-key-id", &Certificate::authority_key_id);
    sets(walk, "dns-names", old.dns().iter().cloned(), new.dns().iter().cloned());
    let ips = |one: &Certificate| one.ips().iter().map(ToString::to_string).collect::<Vec<_>>();
    sets(walk, "ip-addresses", ips(old), ips(new));
    sets(walk, "usages", usages(old), usages(new));
    if old.public_pem() != new.public_pem() {
        let id = |one: &Certificate| {
            let hash = blake3::hash(one.public_pem().as_bytes()).to_hex();
            Some(format!("{}, BLAKE3 {}", one.key_algorithm(), &hash[..16]))
        };
        walk.field("public-key", |walk| walk.public(ChangeKind::Key, id(old), id(new)));
    } else {
        // Otherwise it follows from the key.
        text(walk, "subject-key-id", &Certificate::subject_key_id);
    }
    if walk.count() == before {
        // A field that is not compared here, or only the signature.
        text(walk, "fingerprint", &|one| Some(one.fingerprint()));
    }
}

fn sets(
    walk: &mut Walk<'_>,
    name: &str,
    old: impl IntoIterator<Item = String>,
    new: impl IntoIterator<Item = String>,
) {
    let (old, new): (BTreeSet<String>, BTreeSet<String>) =
        (old.into_iter().collect(), new.into_iter().collect());
    walk.field(name, |walk| {
        for item in old.symmetric_difference(&new) {
            let data = Data::Text(item.clone());
            let side = |set: &BTreeSet<String>| set.contains(item).then_some(&data);
            walk.item(item, |walk| walk.edit(ChangeKind::Certificate, side(&old), side(&new)));
        }
    });
}

fn usages(one: &Certificate) -> Vec<String> {
    let name = |usage: &KeyUsage| match usage {
        KeyUsage::DigitalSignature => "digital-signature",
        KeyUsage::KeyEncipherment => "key-encipherment",
        KeyUsage::CertSign => "cert-sign",
        KeyUsage::CrlSign => "crl-sign",
    };
    let mut usages: Vec<String> = one.key_usages().iter().map(|usage| name(usage).to_owned()).collect();
    usages.extend(one.is_server().then(|| "server-auth".to_owned()));
    usages.extend(one.is_client().then(|| "client-auth".to_owned()));
    usages
}
