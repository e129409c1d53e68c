//! Who shows what to whom, grouped by the authority that vouches for it: a lane for each authority, in it a box for each
//! credential on the left and one for everybody who verifies with the same file or object on the right. Once for the
//! time before the pivot, once for the time after it.

use std::collections::BTreeMap;

use super::{Picture, frame, path, text, wide};
use crate::base::text::wrap;
use crate::compare::page::{Markup, el};
use crate::openshift::trust::{TIMES, Trust, TrustVerification, VerifiedEdge, short};

const WIDTH: usize = 1240;
const MARGIN: usize = 20;
/// Left edges of the two columns, and the widths of the boxes in them.
const COLUMNS: [usize; 2] = [40, 620];
const BOXES: [usize; 2] = [400, 584];
/// The height of a line, and the room between boxes.
const LINE: usize = 15;
const GAP: usize = 8;

/// One of the two times, with the authorities that vouch then.
pub(crate) struct Phase<'t> {
    pub(crate) title: &'static str,
    pub(crate) authorities: Vec<Authority<'t>>,
}

/// An authority, and what it vouches for.
pub(crate) struct Authority<'t> {
    pub(crate) name: String,
    pub(crate) credentials: Vec<Credential<'t>>,
}

/// A credential, who shows it, and who verifies it.
pub(crate) struct Credential<'t> {
    /// Its name, and what it is used as.
    pub(crate) label: String,
    pub(crate) presenters: Vec<&'t str>,
    pub(crate) verified: Vec<(&'t VerifiedEdge, &'t TrustVerification)>,
}

/// All verifications by phase and authority, in the order of the table.
pub(crate) fn by_authority(trust: &Trust) -> Vec<Phase<'_>> {
    let phase = |(when, title): (&'static str, &'static str)| {
        let mut authorities: Vec<Authority<'_>> = Vec::new();
        for edge in &trust.presentations {
            let Some((_, one)) = edge.verifications().find(|(time, _)| *time == when) else { continue };
            let name = authority(one);
            let at = authorities.iter().position(|known| known.name == name).unwrap_or_else(|| {
                authorities.push(Authority { name, credentials: Vec::new() });
                authorities.len() - 1
            });
            authorities[at].add(edge, one);
        }
        Phase { title, authorities }
    };
    TIMES.into_iter().map(phase).collect()
}

impl<'t> Authority<'t> {
    fn add(&mut self, edge: &'t VerifiedEdge, one: &'t TrustVerification) {
        let label = format!("{} ({})", one.short, edge.role.as_str());
        let known = self.credentials.iter_mut().find(|known| known.label == label);
        let presenter = edge.presenter.as_str();
        match known {
            Some(known) => {
                if !known.presenters.contains(&presenter) {
                    known.presenters.push(presenter);
                }
                known.verified.push((edge, one));
            }
            None => {
                let presenters = vec![presenter];
                self.credentials.push(Credential { label, presenters, verified: vec![(edge, one)] });
            }
        }
    }
}

/// Who vouches: the name without `CN=`, the key of a token, or nobody.
fn authority(one: &TrustVerification) -> String {
    match (&one.anchor, one.holds) {
        (Some(subject), _) => {
            let common = subject.split(", ").find_map(|part| part.strip_prefix("CN="));
            common.unwrap_or(subject).to_owned()
        }
        (None, true) => "keys of service accounts".to_owned(),
        (None, false) => "nobody: refused".to_owned(),
    }
}

/// Draws both phases.
pub(crate) fn trust(trust: &Trust) -> Picture {
    let Trust { verifications, failing, .. } = trust;
    let title = match failing {
        0 => format!("Who trusts what: all {verifications} verifications hold"),
        _ => format!("Who trusts what: {failing} of {verifications} verifications fail"),
    };
    let mut drawing = vec![text("title", MARGIN, 34, &title)];
    let mut y = 58;
    for phase in by_authority(trust) {
        drawing.push(text("name ember", MARGIN, y + 14, &capital(phase.title)));
        let heads = ["what the authority vouches for, and who shows it", "who verifies it, and with what"];
        y += 36;
        for (x, head) in COLUMNS.into_iter().zip(heads) {
            drawing.push(text("small", x, y, head));
        }
        y += 10;
        for authority in &phase.authorities {
            let (lane, height) = lane(authority, y);
            drawing.push(lane);
            y += height + 10;
        }
        y += 18;
    }
    Picture { width: WIDTH, height: y, title, drawing: drawing.into() }
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// The lane of an authority: what it vouches for on the left, those who rely on that on the right. Returns its height.
fn lane(authority: &Authority<'_>, top: usize) -> (Markup, usize) {
    let left: Vec<Vec<String>> = authority.credentials.iter().map(shown).collect();
    // Everybody who verifies with the same is one box, however many are verified.
    let mut right: Vec<(Vec<String>, bool, String)> = Vec::new();
    let mut wires: Vec<(usize, usize, bool)> = Vec::new();
    for (from, credential) in authority.credentials.iter().enumerate() {
        for (edge, one) in &credential.verified {
            let lines = verifier(edge, one);
            let about = format!("{}: shows {}; verified with {}; {}", edge.id, one.shows, one.by, one.why);
            let to = right.iter().position(|(known, ..)| *known == lines).unwrap_or_else(|| {
                right.push((lines, one.holds, String::new()));
                right.len() - 1
            });
            if let Some((_, _, tooltip)) = right.get_mut(to) {
                tooltip.push_str(&about);
                tooltip.push('\n');
            }
            wires.push((from, to, one.holds));
        }
    }
    let inner = stacked(&left).max(stacked_of(right.iter().map(|(lines, ..)| lines)));
    let left_at = places(left.iter(), top + 36, inner);
    let right_at = places(right.iter().map(|(lines, ..)| lines), top + 36, inner);
    let height = inner + 36 + 12;
    let count = wires.len();
    let about = match count {
        1 => "vouches once".to_owned(),
        2 => "vouches twice".to_owned(),
        count => format!("vouches {count} times"),
    };
    let mut drawn = vec![
        frame("lane", [MARGIN, top, WIDTH - 2 * MARGIN, height]),
        text("name", COLUMNS[0], top + 23, &authority.name),
        text("small", COLUMNS[0] + 12 + wide(&authority.name, 8.0), top + 23, &about),
    ];
    for (from, to, holds) in wires {
        let start = (COLUMNS[0] + BOXES[0], left_at[from] + tall(&left[from]) / 2);
        let end = (COLUMNS[1], right_at[to] + tall(&right[to].0) / 2);
        drawn.push(wire(if holds { "" } else { "refused" }, start, end));
    }
    for (lines, y) in left.iter().zip(&left_at) {
        drawn.push(labelled([COLUMNS[0], *y, BOXES[0]], lines));
    }
    for ((lines, holds, about), y) in right.iter().zip(&right_at) {
        let class = if *holds { "" } else { "refused" };
        let tooltip = el("title", &[], about.trim_end());
        drawn.push(el("g", &[("class", class)], [tooltip, labelled([COLUMNS[1], *y, BOXES[1]], lines)]));
    }
    (drawn.into(), height)
}

/// A credential, and who shows it.
fn shown(credential: &Credential<'_>) -> Vec<String> {
    let by = format!("shown by {}", credential.presenters.join(", "));
    std::iter::once(credential.label.clone()).chain(wrap(&by, fits(BOXES[0]))).collect()
}

/// Who verifies, and with what or why not.
fn verifier(edge: &VerifiedEdge, one: &TrustVerification) -> Vec<String> {
    let fits = fits(BOXES[1]);
    let more = match one.holds {
        true => wrap(&format!("with {}", short(&one.by)), fits),
        false => wrap(&format!("REFUSED: {}. {}", one.why, edge.breaks), fits),
    };
    std::iter::once(edge.verifier.clone()).chain(more.into_iter().map(|line| cut(&line, fits))).collect()
}

/// How many small characters fit into a box.
fn fits(width: usize) -> usize {
    (width - 20) * 10 / 67
}

fn cut(line: &str, fits: usize) -> String {
    match line.char_indices().nth(fits) {
        None => line.to_owned(),
        Some(_) => line.chars().take(fits - 1).chain(['…']).collect(),
    }
}

/// The height of a box with these lines.
fn tall(lines: &[String]) -> usize {
    lines.len() * LINE + 12
}

fn stacked(boxes: &[Vec<String>]) -> usize {
    stacked_of(boxes.iter())
}

/// The height of boxes below one another.
fn stacked_of<'l>(boxes: impl Iterator<Item = &'l Vec<String>>) -> usize {
    boxes.map(|lines| tall(lines) + GAP).sum::<usize>().saturating_sub(GAP)
}

/// The tops of boxes below one another, in the middle of a height.
fn places<'l>(boxes: impl Iterator<Item = &'l Vec<String>> + Clone, top: usize, height: usize) -> Vec<usize> {
    let mut y = top + (height - stacked_of(boxes.clone())) / 2;
    let place = |lines: &Vec<String>| {
        let at = y;
        y += tall(lines) + GAP;
        at
    };
    boxes.map(place).collect()
}

/// A box with its lines; those after the first are small.
fn labelled([x, y, width]: [usize; 3], lines: &[String]) -> Markup {
    let small = |at: usize| if at > 0 { "small" } else { "" };
    let texts = lines.iter().enumerate().map(|(at, line)| text(small(at), x + 10, y + 17 + at * LINE, line));
    el("g", &[], [frame("box", [x, y, width, tall(lines)]), texts.collect()])
}

/// A curve from one box to another.
fn wire(class: &str, (x, y): (usize, usize), (to_x, to_y): (usize, usize)) -> Markup {
    let middle = usize::midpoint(x, to_x);
    let curve = format!("M{x} {y}C{middle} {y} {middle} {to_y} {to_x} {to_y}l-6 -4m6 4l-6 4");
    el("g", &[("class", class)], path("wire", &curve))
}

/// The same for a terminal.
pub(crate) fn trust_text(trust: &Trust) -> String {
    let mut text = String::new();
    for (at, phase) in by_authority(trust).iter().enumerate() {
        text.push_str(&format!("{}{}\n", if at > 0 { "\n" } else { "" }, phase.title));
        for authority in &phase.authorities {
            text.push_str(&format!("  {}\n", authority.name));
            for credential in &authority.credentials {
                text.push_str(&format!(
                    "    {}, shown by {}\n",
                    credential.label,
                    credential.presenters.join(" and ")
                ));
                let mut by_anchor: BTreeMap<String, Vec<&str>> = BTreeMap::new();
                for (edge, one) in credential.verified.iter().filter(|(_, one)| one.holds) {
                    by_anchor.entry(short(&one.by)).or_default().push(&edge.verifier);
                }
                for (anchor, verifiers) in by_anchor {
                    text.push_str(&format!("      {}: with {anchor}\n", verifiers.join(", ")));
                }
                for (edge, one) in credential.verified.iter().filter(|(_, one)| !one.holds) {
                    text.push_str(&format!(
                        "      {}: REFUSED: {}; {}\n",
                        edge.verifier, one.why, edge.breaks
                    ));
                }
            }
        }
    }
    text
}
