//! `blame` and a node's entries as text for people.

use super::output::{Colour, line, size, stdout_paint, table};
use super::show::origin;
use crate::cli::ops::blame::{Blame, BlameLine, BlameStep};
use crate::cli::ops::node::NodeEntry;

/// What a node gets.
pub(super) fn entries(entries: &[NodeEntry]) {
    let rows = entries.iter().map(|entry| {
        let state = entry.mode.as_ref().or(entry.state.as_ref()).filter(|_| entry.kind != "link");
        let target = entry.state.as_ref().filter(|_| entry.kind == "link");
        vec![
            entry.kind.to_owned(),
            state.cloned().unwrap_or_default(),
            if entry.secret { "secret" } else { "" }.to_owned(),
            entry.size.map(size).unwrap_or_default(),
            target.map_or_else(|| entry.path.clone(), |target| format!("{} -> {target}", entry.path)),
            entry.from.join(", "),
        ]
    });
    table(&["KIND", "MODE", "", "SIZE", "PATH", "FROM"], &rows.collect::<Vec<_>>());
}

/// Where a file comes from.
pub(super) fn blame(found: &Blame) {
    let Blame { target, path, entry, why, replaces, way, template, lines, origins, images } = found;
    line(stdout_paint(&format!("{target}:{path}"), Colour::Green));
    if let Some(entry) = entry {
        let words = [Some(entry.kind), entry.mode.as_deref(), entry.state.as_deref()];
        let secret = entry.secret.then_some("secret");
        fact("what", words.into_iter().flatten().chain(secret).collect::<Vec<_>>().join(", "));
    }
    why.iter().for_each(|why| fact("why", why.clone()));
    replaces.iter().for_each(|why| fact("replaces", format!("what the base has: {why}")));
    for BlameStep { derivation, path, recipe, builder } in way {
        let inside = if path.is_empty() { String::new() } else { format!(":{path}") };
        fact("from", format!("{derivation}{inside}  ({builder}, {recipe})"));
    }
    template.iter().for_each(|file| fact("template", file.clone()));
    for BlameLine { line: at, template, names } in lines {
        let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        fact("line", format!("{at}: {names} at {template}"));
    }
    origins.iter().map(origin).for_each(|text| fact("origin", text));
    for (derivation, image) in images {
        fact("image", format!("{image}  ({derivation})"));
    }
}

fn fact(name: &str, text: String) {
    line(format!("  {}{text}", stdout_paint(&format!("{name:<10}"), Colour::Cyan)));
}
