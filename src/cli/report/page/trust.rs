//! Who trusts what: the picture on wide screens, the same by authority as text.

use crate::cli::report::document::Report;
use crate::compare::page::{Markup, code, el, fold, note, section as part};
use crate::compare::picture::{self, Authority, Credential, Phase};

pub(super) fn section(found: &Report) -> Markup {
    let Some(trust) = &found.trust else { return Markup::default() };
    let lead = match trust.failing {
        0 => format!("All {} verifications hold.", trust.verifications),
        failing => format!("{failing} of {} verifications fail.", trust.verifications),
    };
    let picture = el(
        "div",
        &[("class", "drawing"), ("tabindex", "0"), ("role", "group"), ("aria-label", "Picture, scrolls")],
        picture::trust(trust).embedded(),
    );
    let phases: Markup = picture::by_authority(trust).iter().map(phase).collect();
    part(
        "trust",
        "Trust",
        lead,
        [el("div", &[("class", "as-picture")], fold(None, true, "As a picture", picture)), phases],
    )
}

fn phase(phase: &Phase<'_>) -> Markup {
    let authority = |Authority { name, credentials }: &Authority<'_>| {
        let items: Markup = credentials.iter().map(credential).collect();
        Markup::from([el("h3", &[], name), el("ul", &[("class", "plain-list")], items)])
    };
    fold(None, false, phase.title, phase.authorities.iter().map(authority).collect::<Markup>())
}

fn credential(Credential { label, presenters, verified }: &Credential<'_>) -> Markup {
    let lines = verified.iter().map(|(edge, one)| {
        let verdict = match one.holds {
            true => note(format!(" with {}", one.by)),
            false => el("b", &[("class", "refused")], format!(" refused: {}; {}", one.why, edge.breaks)),
        };
        el(
            "div",
            &[("class", "verifier")],
            Markup::from(["→ ".into(), edge.verifier.as_str().into(), verdict]),
        )
    });
    let shown = note(format!(" shown by {}", presenters.join(", ")));
    el("li", &[], Markup::from([code(label), shown, lines.collect()]))
}
