//! Merges layers: the highest entry for a path wins.

use std::collections::BTreeMap;

use super::super::BuildError;
use super::layer::{Item, Layer, Wanted, is_at_or_below};
use crate::engine::registry::{ImageName, RegistryError};
use crate::engine::tree::TreeWriter;

/// Maximum number of links on a path.
const MAX_LINKS: usize = 40;

/// Merges all layers, lowest first, and writes the requested paths.
pub(super) fn compose(
    name: &ImageName,
    wanted: &Wanted,
    layers: &[Layer<'_>],
    out: &TreeWriter<'_>,
) -> Result<(), BuildError> {
    let mut merged: BTreeMap<String, &Item> = BTreeMap::new();
    for layer in layers {
        for hidden in &layer.opaque {
            remove_below(&mut merged, hidden);
        }
        for removed in &layer.removed {
            merged.remove(removed);
            remove_below(&mut merged, removed);
        }
        for (path, item) in &layer.items {
            put(&mut merged, path, item);
        }
    }
    let malformed =
        |problem| BuildError::Registry(RegistryError::Malformed { image: name.to_string(), problem });
    for path in wanted.paths().filter(|path| !path.is_empty()) {
        if let Some((link, target)) = link_on_the_way(&merged, path) {
            let problem =
                format!("has no `/{path}`: `/{link}` is a link to `{target}`, so ask for the real path");
            return Err(malformed(problem));
        }
        if !merged.contains_key(path) && !merged.keys().any(|found| is_at_or_below(found, path)) {
            return Err(malformed(format!("has no `/{path}`")));
        }
    }
    for (path, item) in merged.iter().filter(|(path, _)| wanted.has(path) && !path.is_empty()) {
        match item {
            Item::Dir => out.dir(path)?,
            Item::Link(target) => out.link(path, &inside(path, target))?,
            Item::File(place, entry) => out.share_fresh(path, place, entry)?,
            Item::Same(other) => match follow(&merged, other) {
                Some(Item::File(place, entry)) => out.share_fresh(path, place, entry)?,
                Some(Item::Link(target)) => out.link(path, &inside(path, target))?,
                _ => {
                    let problem = format!(
                        "`/{path}` is a hard link to `/{other}`, which is not among the requested paths"
                    );
                    return Err(malformed(problem));
                }
            },
        }
    }
    Ok(())
}

/// The file of a hard link, through further hard links.
fn follow<'a>(merged: &BTreeMap<String, &'a Item>, path: &str) -> Option<&'a Item> {
    let mut item = *merged.get(path)?;
    for _ in 0..MAX_LINKS {
        match item {
            Item::Same(other) => item = merged.get(other)?,
            found => return Some(found),
        }
    }
    None
}

/// Inserts an item where its path leads in the lower layers: through links to directories, never out of the root.
fn put<'a>(merged: &mut BTreeMap<String, &'a Item>, path: &str, item: &'a Item) {
    let mut real = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Some((link, target)) = link_on_the_way(merged, &real) else { break };
        let rest = real[link.len()..].trim_start_matches('/').to_owned();
        real = format!("{}/{rest}", resolve(&link, &target)).trim_matches('/').to_owned();
    }
    match (merged.get(&real), item) {
        // A directory over a directory keeps its entries.
        (Some(Item::Dir), Item::Dir) => {}
        (Some(_), _) => remove_below(merged, &real),
        (None, _) => {}
    }
    merged.insert(real, item);
}

/// The first proper ancestor of a path that is a link, and its target.
fn link_on_the_way(merged: &BTreeMap<String, &Item>, path: &str) -> Option<(String, String)> {
    path.match_indices('/').find_map(|(at, _)| match merged.get(&path[..at]) {
        Some(Item::Link(target)) => Some((path[..at].to_owned(), target.clone())),
        _ => None,
    })
}

/// The path that a link resolves to, from the root; `..` stops at the root, as in a container.
fn resolve(link: &str, target: &str) -> String {
    let mut parts: Vec<&str> = match target.starts_with('/') {
        true => Vec::new(),
        false => link.rsplit_once('/').map_or(Vec::new(), |(parent, _)| parent.split('/').collect()),
    };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// A link target that stays inside the tree with the same meaning: absolute targets become relative.
fn inside(path: &str, target: &str) -> String {
    if !target.starts_with('/') && crate::engine::tree::check_link(path, target).is_ok() {
        return target.to_owned();
    }
    let up = "../".repeat(path.matches('/').count());
    let real = resolve(path, target);
    match (up.as_str(), real.as_str()) {
        ("", "") => ".".to_owned(),
        (up, "") => up.trim_end_matches('/').to_owned(),
        (up, real) => format!("{up}{real}"),
    }
}

fn remove_below(merged: &mut BTreeMap<String, &Item>, path: &str) {
    if path.is_empty() {
        return merged.clear();
    }
    let (from, to) = (format!("{path}/"), format!("{path}0")); // `0` follows `/`
    let below: Vec<String> = merged.range(from..to).map(|(path, _)| path.clone()).collect();
    for path in below {
        merged.remove(&path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(target: &str) -> Item {
        Item::Link(target.to_owned())
    }

    #[test]
    fn links_stay_inside_and_mean_the_same() {
        assert_eq!(inside("usr/bin/sh", "bash"), "bash");
        assert_eq!(inside("etc/alternatives/x", "/usr/bin/x"), "../../usr/bin/x");
        assert_eq!(inside("a", "../../etc/passwd"), "etc/passwd");
        assert_eq!(inside("a/b", "/"), "..");
        assert_eq!(inside("a", "/"), ".");
    }

    #[test]
    fn items_go_through_links_of_lower_layers() {
        let (bin, dir, same) = (link("usr/bin"), Item::Dir, Item::Same("x".into()));
        let mut merged = BTreeMap::from([("bin".to_owned(), &bin), ("usr/bin".to_owned(), &dir)]);
        put(&mut merged, "bin/x", &same);
        assert!(merged.contains_key("usr/bin/x") && !merged.contains_key("bin/x"));
    }

    #[test]
    fn a_loop_of_links_ends() {
        let (a, b, dir) = (link("b"), link("a"), Item::Dir);
        let mut merged = BTreeMap::from([("a".to_owned(), &a), ("b".to_owned(), &b)]);
        put(&mut merged, "a/x", &dir);
    }

    #[test]
    fn what_replaces_a_directory_takes_its_content_away() {
        let (dir, file) = (Item::Dir, link("x"));
        let mut merged =
            BTreeMap::from([("a".to_owned(), &dir), ("a/b".to_owned(), &dir), ("a.b".to_owned(), &dir)]);
        put(&mut merged, "a", &file);
        assert_eq!(merged.keys().collect::<Vec<_>>(), ["a", "a.b"]);
    }
}
