//! What people call a difference between two builds of a derivation: the config field with its lines, the file of a
//! recipe, the builder.

use super::Workspace;
use super::directory::SEED;
use super::why::{Cause, CauseKind};
use crate::base::hint::Place;
use crate::engine::drv::{Change, Fact};
use crate::engine::recipe::GraphNode;

/// What a difference between two identities of a derivation is called.
pub(super) fn name(workspace: &Workspace, node: &GraphNode, change: &Change) -> Cause {
    let show = |fact: &Option<Fact>| fact.as_ref().map(ToString::to_string);
    let (mut from, mut to) = (show(&change.from), show(&change.to));
    let derivation = node.name.clone();
    let path = change.path.as_str();
    let (kind, what, places) = if path == "builder" {
        (CauseKind::Builder, "builder".to_owned(), vec![])
    } else if path.strip_prefix("secrets.").is_some_and(|name| name.trim_matches('"') == SEED) {
        (CauseKind::Seed, SEED.to_owned(), vec![Place::file(SEED)])
    } else if let Some(rest) = path.strip_prefix("params.config.").or_else(|| path.strip_prefix("secrets.")) {
        let (what, places) = field(workspace, node, rest);
        (CauseKind::Config, what, places)
    } else if let Some(alias) = path.strip_prefix("params.files.") {
        let alias = alias.trim_matches('"');
        let shown = node.files.get(alias).cloned().unwrap_or_else(|| alias.to_owned());
        (from, to) = first_difference(from, to);
        (CauseKind::File, shown, vec![])
    } else if let Some(alias) = path.strip_prefix("inputs.") {
        (CauseKind::Inputs, alias.trim_matches('"').to_owned(), vec![Place::file(node.recipe.clone())])
    } else {
        let what = path.strip_prefix("params.").unwrap_or(path).to_owned();
        (CauseKind::Parameter, what, vec![Place::file(node.recipe.clone())])
    };
    Cause { derivation, kind, what, places, from, to }
}

/// The config field behind `alias[1].ip`, with the lines that decide it.
fn field(workspace: &Workspace, node: &GraphNode, rest: &str) -> (String, Vec<Place>) {
    let (alias, steps) = match rest.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
        Some(quoted) => quoted,
        None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
    };
    let Some((_, pattern, reads)) = node.reads.iter().find(|(known, _, _)| known == alias) else {
        return (rest.to_owned(), vec![]);
    };
    let concrete = concrete(pattern.trim_end_matches('?'), steps);
    let exact = workspace.fields.project(&concrete).ok().map(|found| found.reads);
    let reads = exact.filter(|exact| !exact.is_empty()).unwrap_or_else(|| reads.clone());
    let what = match reads.as_slice() {
        [one] => one.path.clone(),
        _ => pattern.clone(),
    };
    let mut places: Vec<Place> = reads.iter().flat_map(|read| read.origins.iter().cloned()).collect();
    places.sort();
    places.dedup();
    (what, places)
}

/// The pattern of a projection with the steps of a result filled in: `workers.*.{name,ip}` and `[1].ip` give `workers.1.ip`.
fn concrete(pattern: &str, steps: &str) -> String {
    let mut steps = steps.replace('[', ".").replace(']', "");
    let mut parts = Vec::new();
    for part in pattern.split('.') {
        if part == "*" || part.starts_with('{') {
            let rest = steps.trim_start_matches('.').to_owned();
            let (step, rest) = rest
                .split_once('.')
                .map_or((rest.clone(), String::new()), |(a, b)| (a.to_owned(), b.to_owned()));
            parts.push(if step.is_empty() { part.to_owned() } else { step });
            steps = rest;
        } else {
            parts.push(part.to_owned());
        }
    }
    let rest = steps.trim_start_matches('.');
    if !rest.is_empty() {
        parts.push(rest.to_owned());
    }
    parts.join(".")
}

/// Of two texts, the first line that differs.
fn first_difference(from: Option<String>, to: Option<String>) -> (Option<String>, Option<String>) {
    let (Some(one), Some(other)) = (&from, &to) else { return (from, to) };
    let same = one.lines().zip(other.lines()).take_while(|(a, b)| a == b).count();
    let line =
        |text: &str| Some(format!("line {}: {}", same + 1, text.lines().nth(same).unwrap_or("(end)").trim()));
    (line(one), line(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_a_result_finds_its_field() {
        assert_eq!(concrete("workers.*.{name,ip}", "[1].ip"), "workers.1.ip");
        assert_eq!(concrete("workers.*.ip", "[0]"), "workers.0.ip");
        assert_eq!(concrete("cluster.domain", ""), "cluster.domain");
        assert_eq!(concrete("networks.cluster", "[0].cidr"), "networks.cluster.0.cidr");
        assert_eq!(concrete("proxy", ".httpProxy"), "proxy.httpProxy");
        assert_eq!(concrete("api.{vip,url}", ".vip"), "api.vip");
    }

    #[test]
    fn texts_are_shown_by_their_first_differing_line() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            first_difference(text("a\nb\nc"), text("a\nB\nc")),
            (text("line 2: b"), text("line 2: B"))
        );
        assert_eq!(first_difference(None, text("x")), (None, text("x")));
    }
}
