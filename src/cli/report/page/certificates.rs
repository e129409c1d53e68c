//! Certificates, decoded: each once, with every place that has it and everybody who is shown it.

use super::{artifact, count};
use crate::cli::report::certificates::Decoded;
use crate::cli::report::document::Report;
use crate::compare::page::{
    Markup, Tone, code, deadline, el, facts, finder, note, section as part, tag, time,
};

pub(super) fn section(found: &Report) -> Markup {
    // The first place is the one of its own: outputs are in build order.
    let mut all: Vec<Vec<&Decoded>> = Vec::new();
    let order = |one: &Decoded| {
        let at = found.artifacts.iter().position(|artifact| artifact.name == one.derivation);
        (one.file.ends_with("-bundle.crt"), one.number, at)
    };
    let mut sorted: Vec<&Decoded> = found.certificates.iter().collect();
    sorted.sort_by_key(|one| order(one));
    for one in sorted {
        match all.iter_mut().find(|known| known[0].fingerprint == one.fingerprint) {
            Some(known) => known.push(one),
            None => all.push(vec![one]),
        }
    }
    if all.is_empty() {
        return Markup::default();
    }
    all.sort_by_key(|places| {
        (!places[0].authority, places[0].derivation.clone(), places[0].not_after.clone())
    });
    let rows: Markup = all.iter().filter_map(|places| Some(one(found, places.first()?, places))).collect();
    let lead = format!(
        "{}, authorities first. Fields as in the files; only public halves are read.",
        count(all.len(), "certificate")
    );
    part("certificates", "Certificates", lead, finder("certificate-list", "Search certificates", rows))
}

fn one(found: &Report, one: &Decoded, places: &[&Decoded]) -> Markup {
    let name = one.file.trim_end_matches(".crt");
    let kind = match one.authority {
        true => tag("authority", Tone::Plain),
        false => Markup::default(),
    };
    let summary = [
        code(name),
        kind,
        note(&one.subject),
        note(Markup::from(["ends ".into(), deadline(&one.not_after)])),
    ];
    let same = if one.issuer == one.subject { "itself".into() } else { code(&one.issuer) };
    let names = Markup::join(one.names.iter().map(|name| code(name)), ", ");
    let shown = one.shown.iter().map(|text| el("div", &[], text));
    let has = places.iter().map(|place| {
        let number = (place.number > 1).then(|| note(format!(" number {}", place.number)));
        Markup::from([artifact(found, &place.derivation), note(format!(":{}", place.file)), number.into()])
    });
    let path_length = one.path_length.map(|length| match length {
        0 => "no authority below it".to_owned(),
        length => format!("at most {} below it", count(usize::from(length), "authority")),
    });
    let about = facts([
        ("subject", code(&one.subject)),
        ("names", names),
        ("issuer", same),
        ("for", one.usages.join(", ").into()),
        ("path length", path_length.map(Markup::from).into()),
        ("valid", Markup::from([time(&one.not_before), " to ".into(), time(&one.not_after)])),
        ("key", Markup::from([one.key.as_str().into(), note(format!(", signed with {}", one.signature))])),
        ("serial", code(&one.serial)),
        ("SHA-256", code(&one.fingerprint)),
        ("shown by", shown.collect()),
        ("in", Markup::join(has, ", ")),
    ]);
    let attributes = [("class", "fold item"), ("id", &format!("certificate/{}", one.fingerprint))];
    el("details", &attributes, [el("summary", &[], summary), el("div", &[("class", "fold-body")], about)])
}
