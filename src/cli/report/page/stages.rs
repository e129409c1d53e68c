//! The graph as stages that open: a row for each folder of recipes in build order, with lines to those that use it, and in
//! it the artifacts with where they come from.

use std::collections::{BTreeMap, BTreeSet};

use super::{anchor, artifact, count, state};
use crate::cli::output::size;
use crate::cli::report::document::{Artifact, Origin, Report};
use crate::compare::page::{Markup, Tone, code, el, facts, finder, link, note, section as part, tag, time};
use crate::compare::picture::Rails;

/// The height of a stage's first line.
const HEAD: usize = 36;

/// A folder of recipes.
struct Stage<'r> {
    name: &'r str,
    number: Option<u32>,
    artifacts: Vec<&'r Artifact>,
}

/// The section, and the style that keeps its text beside the lines.
pub(super) fn section(found: &Report) -> (Markup, String) {
    let stages = stages(found);
    let edges = edges(&stages);
    let rails = Rails::new(stages.len(), &edges);
    let users = users(found);
    let at: BTreeMap<&str, usize> =
        found.artifacts.iter().enumerate().map(|(at, one)| (one.name.as_str(), at)).collect();
    let context = Context { found, users, at };
    let rows = stages.iter().enumerate().map(|(at, one)| context.stage(&stages, &edges, &rails, at, one));
    let lead = "In build order. Lines lead to the stages that use one; point at a stage or an artifact, or move there \
                with j and k, to see what it needs and what follows from it.";
    let rows = el("div", &[("class", "graph")], rows.collect::<Markup>());
    let room = rails.width() + 8;
    let style = format!(
        ".stage > summary {{ padding-left: {room}px; }}\n@media (min-width: 40rem) {{ .stage > .fold-body {{ padding-left: {room}px; }} }}\n"
    );
    (part("stages", "Stages and artifacts", lead, finder("artifacts", "Search artifacts", rows)), style)
}

/// Artifacts by folder, in build order; those without a recipe come last.
fn stages(found: &Report) -> Vec<Stage<'_>> {
    let mut stages: Vec<Stage<'_>> = Vec::new();
    for artifact in &found.artifacts {
        let name = folder(&artifact.name);
        match stages.iter_mut().find(|known| known.name == name) {
            Some(known) => known.artifacts.push(artifact),
            None => stages.push(Stage { name, number: artifact.stage, artifacts: vec![artifact] }),
        }
    }
    stages.sort_by_key(|stage| (stage.number.is_none(), stage.number, stage.name));
    stages
}

fn folder(name: &str) -> &str {
    name.split_once('/').map_or(name, |(folder, _)| folder)
}

fn edges(stages: &[Stage<'_>]) -> BTreeSet<(usize, usize)> {
    let at: BTreeMap<&str, usize> = stages.iter().enumerate().map(|(at, stage)| (stage.name, at)).collect();
    let of = |(to, stage): (usize, &Stage<'_>)| {
        let inputs = stage.artifacts.iter().flat_map(|one| &one.inputs);
        let from = inputs.filter_map(|input| at.get(folder(&input.from)).copied());
        from.filter(|from| *from != to).map(|from| (from, to)).collect::<BTreeSet<_>>()
    };
    stages.iter().enumerate().flat_map(of).collect()
}

/// The artifacts that use each artifact.
fn users(found: &Report) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut users: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for one in &found.artifacts {
        for input in &one.inputs {
            users.entry(&input.from).or_default().insert(&one.name);
        }
    }
    users
}

struct Context<'r> {
    found: &'r Report,
    users: BTreeMap<&'r str, BTreeSet<&'r str>>,
    /// The place of each artifact in the document.
    at: BTreeMap<&'r str, usize>,
}

impl Context<'_> {
    fn stage(
        &self,
        stages: &[Stage<'_>],
        edges: &BTreeSet<(usize, usize)>,
        rails: &Rails,
        at: usize,
        stage: &Stage<'_>,
    ) -> Markup {
        let needs: Vec<usize> = edges.iter().filter(|(_, to)| *to == at).map(|(from, _)| *from).collect();
        let names = |some: &[usize]| some.iter().map(|one| stages[*one].name).collect::<Vec<_>>().join(", ");
        let of = |state: Origin| stage.artifacts.iter().filter(|one| one.state == state).count();
        let built = of(Origin::Built);
        let built = match built
            == self.found.artifacts.iter().filter(|one| folder(&one.name) == stage.name).count()
        {
            true => Some(tag("built", Tone::Notable)),
            false if built > 0 => Some(tag(&format!("{built} built"), Tone::Notable)),
            false => None,
        };
        let total: u64 = stage.artifacts.iter().map(|one| one.size).sum();
        let needed = if needs.is_empty() { String::new() } else { format!("; needs {}", names(&needs)) };
        let about = format!("{}, {}{needed}", count(stage.artifacts.len(), "artifact"), size(total));
        let summary = [
            rails.beside(at, HEAD),
            el("span", &[("class", "stage-name")], stage.name),
            built.into(),
            note(about),
            el("span", &[("class", "relation")], ""),
        ];
        let inside: Markup = stage.artifacts.iter().map(|one| self.artifact(one)).collect();
        let needs: Vec<String> = needs.iter().map(ToString::to_string).collect();
        let attributes = [
            ("class", "fold group stage"),
            ("id", &format!("stage/{}", stage.name)),
            ("data-stage", &at.to_string()),
            ("data-needs", &needs.join(" ")),
        ];
        el(
            "details",
            &attributes,
            [el("summary", &[], summary), el("div", &[("class", "fold-body")], inside)],
        )
    }

    fn artifact(&self, one: &Artifact) -> Markup {
        let secret = one.secret.then(|| tag("secret", Tone::Notable));
        let took = one.milliseconds.map(|took| format!("{took} ms, ")).unwrap_or_default();
        let summary = [
            code(&one.name),
            state(one).into(),
            secret.into(),
            note(format!("{took}{}, {}", size(one.size), count(one.files, "file"))),
            el("span", &[("class", "relation")], ""),
            note(one.summary.as_deref().unwrap_or("no recipe has it any more")),
        ];
        let needs: BTreeSet<usize> =
            one.inputs.iter().filter_map(|input| self.at.get(input.from.as_str()).copied()).collect();
        let needs: Vec<String> = needs.iter().map(ToString::to_string).collect();
        let at = self.at.get(one.name.as_str()).map(ToString::to_string).unwrap_or_default();
        let attributes = [
            ("class", "fold item artifact"),
            ("id", &anchor(&one.name)),
            ("data-at", &at),
            ("data-needs", &needs.join(" ")),
        ];
        let body = el("div", &[("class", "fold-body")], self.provenance(one));
        el("details", &attributes, [el("summary", &[], summary), body])
    }

    /// Where an artifact comes from, what it holds, and who uses it.
    fn provenance(&self, one: &Artifact) -> Markup {
        let built = one.time.as_deref().map(time);
        let inputs = one.inputs.iter().map(|input| {
            let path = input.path.as_deref().map(|path| note(format!(":{path}")));
            Markup::from([code(&input.alias), " ← ".into(), artifact(self.found, &input.from), path.into()])
        });
        let users =
            self.users.get(one.name.as_str()).into_iter().flatten().map(|name| artifact(self.found, name));
        let mut certificates: Vec<(&str, &str)> = Vec::new();
        for decoded in self.found.certificates.iter().filter(|decoded| decoded.derivation == one.name) {
            if !certificates.iter().any(|(known, _)| *known == decoded.fingerprint) {
                certificates.push((&decoded.fingerprint, &decoded.subject));
            }
        }
        let certificates =
            certificates.iter().map(|(id, subject)| link(&format!("certificate/{id}"), code(subject)));
        let leads = one
            .leads
            .as_ref()
            .map(|leads| Markup::from([code(&leads.server), " as ".into(), code(&leads.user)]));
        facts([
            ("leads to", leads.into()),
            ("certificates", Markup::join(certificates, ", ")),
            ("objects", Markup::join(one.objects.iter().map(|object| code(object)), ", ")),
            ("inputs", Markup::join(inputs, ", ")),
            ("used by", Markup::join(users, ", ")),
            ("recipe", one.recipe.as_deref().map(code).into()),
            ("builder", one.builder.as_deref().map(code).into()),
            ("isolation", one.isolation.as_deref().map(Markup::from).into()),
            ("built", built.into()),
            ("derivation", code(&one.drv.to_string())),
            ("object", code(&one.object.to_string())),
        ])
    }
}
