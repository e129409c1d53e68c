//! Reads fleet.yaml and what it names. All problems are reported at once: one of a layer once, not per site.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::layer::{FOLDERS, Layer, PARTS, columns, join};
use super::{FLEET, Fleet, Layered, RESULTS, Site, SiteKind, SiteValue, bounds, instance, table};
use crate::base::fs;
use crate::base::hint::{Place, Problem, Problems, did_you_mean};
use crate::base::yaml::{self, Source, YamlData, YamlEntry, YamlNode};
use crate::openshift::hosts::LeftOut;
use crate::openshift::workspace::{CLUSTER, Result, WorkspaceError, is_folder};

/// How many sites a problem of a layer names.
const NAMED: usize = 3;

impl Fleet {
    /// Reads a fleet's directory.
    pub(crate) fn load(directory: &Path) -> Result<Self> {
        let path = fs::canonical(directory)?;
        let Some(text) = fs::optional(fs::read_text_up_to(&path.join(FLEET), bounds::BYTES))? else {
            return Err(WorkspaceError::NotAFleet { path });
        };
        let mut reader = Reader {
            path: &path,
            problems: Problems::default(),
            sites: Vec::new(),
            places: BTreeMap::new(),
            left_out: Vec::new(),
            left: bounds::BYTES - text.len() as u64,
            values: 0,
            columns: BTreeSet::new(),
            is_full: false,
        };
        let root = yaml::parse(Source { name: FLEET, text: &text }, &mut reader.problems);
        let (common, groups) = match root {
            Some(root) => reader.root(&root)?,
            None => (Layer::empty(FLEET, 1, "common"), BTreeMap::new()),
        };
        let Reader { mut problems, sites, places, left_out, .. } = reader;
        let mut fleet = Self { path, common, groups, sites, unused: Vec::new(), left_out };
        // Links are written and removed there: those of this directory, and no others.
        is_folder(&fleet.path.join(RESULTS), RESULTS, &mut problems)?;
        fleet.check_groups(&places, &mut problems);
        fleet.check_columns(&mut problems);
        fleet.check_domains(&places, &mut problems);
        fleet.check_folders(&mut problems)?;
        Ok(problems.or(fleet)?)
    }

    /// Every group that a site names must exist.
    fn check_groups(&self, places: &BTreeMap<String, Place>, problems: &mut Problems) {
        let mut reported = BTreeSet::new();
        for site in &self.sites {
            let SiteKind::Layered(layered) = &site.kind else { continue };
            for group in layered.groups.iter().filter(|group| !self.groups.contains_key(*group)) {
                if reported.insert(group) {
                    let place = places.get(&site.name).cloned().unwrap_or_else(|| Place::file(FLEET));
                    let hint = did_you_mean(group, self.groups.keys().map(String::as_str))
                        .or_else(|| Some(format!("add `groups: {{{group}: …}}` to {FLEET}")));
                    problems.push(Problem::new(place, format!("there is no group `{group}`")).hint(hint));
                }
            }
        }
    }

    /// Every `$(column)` of a layer must have a value for every site that the layer is for.
    fn check_columns(&mut self, problems: &mut Problems) {
        let layered: Vec<(&str, &Layered)> = self
            .sites
            .iter()
            .filter_map(|site| match &site.kind {
                SiteKind::Layered(layered) => Some((site.name.as_str(), &**layered)),
                SiteKind::Directory(_) => None,
            })
            .collect();
        let known = layered.iter().flat_map(|(_, site)| site.values.keys().map(String::as_str)).collect();
        let mut used = BTreeSet::new();
        check_layer(&self.common, &layered, (&known, &mut used), problems);
        for (name, group) in &self.groups {
            let sites: Vec<_> =
                layered.iter().filter(|(_, site)| site.groups.contains(name)).copied().collect();
            check_layer(group, &sites, (&known, &mut used), problems);
        }
        for site in &layered {
            check_layer(&site.1.own, &[*site], (&known, &mut used), problems);
        }
        let unused = known.iter().filter(|column| **column != "name" && !used.contains(**column));
        self.unused = unused.map(|column| (*column).to_owned()).collect();
    }

    /// Two sites of one domain would have one identity.
    fn check_domains(&self, places: &BTreeMap<String, Place>, problems: &mut Problems) {
        let mut known: BTreeMap<String, &str> = BTreeMap::new();
        for site in &self.sites {
            let SiteKind::Layered(layered) = &site.kind else { continue };
            let Some(domain) = self.domain(layered) else { continue };
            if let Some(other) = known.get(&domain) {
                let place = places.get(&site.name).cloned().unwrap_or_else(|| Place::file(FLEET));
                let hint =
                    "`metadata: {name: $(name)}` in install-config gives every site a domain of its own"
                        .to_owned();
                let message = format!("`{}` has the domain `{domain}`, as `{other}` has", site.name);
                problems.push(Problem::new(place, message).hint(hint));
            } else {
                known.insert(domain, &site.name);
            }
        }
    }

    /// Every folder that a layer names must exist.
    fn check_folders(&self, problems: &mut Problems) -> Result<()> {
        let own = self.sites.iter().filter_map(|site| match &site.kind {
            SiteKind::Layered(layered) => Some(&layered.own),
            SiteKind::Directory(_) => None,
        });
        for layer in [&self.common].into_iter().chain(self.groups.values()).chain(own) {
            for (kind, folder) in &layer.folders {
                if let Some((message, hint)) = bounds::flaw(&self.path, folder)? {
                    let place = layer.place(layer.line, kind);
                    problems.push(Problem::new(place, message).hint(hint.to_owned()));
                    continue;
                }
                let found = fs::optional(fs::metadata(&self.path.join(folder)))?;
                if !found.is_some_and(|found| found.is_dir()) {
                    let message = format!("there is no folder `{folder}`");
                    let hint = "a path is relative to the fleet's directory".to_owned();
                    problems.push(Problem::new(layer.place(layer.line, kind), message).hint(hint));
                }
            }
        }
        Ok(())
    }
}

/// Every `$(column)` of a layer must have a value for each of these sites.
fn check_layer(
    layer: &Layer,
    sites: &[(&str, &Layered)],
    (known, used): (&BTreeSet<&str>, &mut BTreeSet<String>),
    problems: &mut Problems,
) {
    if sites.is_empty() {
        return; // a group that nobody is in
    }
    let mut wanted: BTreeMap<String, Place> = BTreeMap::new();
    layer.texts(&mut |text, line, path| {
        for column in columns(text) {
            wanted.entry(column.to_owned()).or_insert_with(|| layer.place(line, path));
        }
    });
    for (column, place) in wanted {
        let lacking = sites.iter().filter(|(_, site)| !site.values.contains_key(&column));
        let lacking: Vec<&str> = lacking.map(|(name, _)| *name).collect();
        if !known.contains(column.as_str()) {
            let hint = did_you_mean(&column, known.iter().copied()).unwrap_or_else(|| {
                format!("write `$$({column})` if it is to stay as it is; the columns are {}", list(known))
            });
            problems.push(Problem::new(place, format!("no site has a value `{column}`")).hint(hint));
        } else if !lacking.is_empty() {
            let message = format!("no value for `$({column})`: {}", named(&lacking));
            let hint = format!("fill in the column `{column}` of these sites");
            problems.push(Problem::new(place, message).hint(hint));
        }
        used.insert(column);
    }
}

fn list(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(", ")
}

/// The first few names.
fn named(names: &[&str]) -> String {
    let first = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(NAMED).filter(|more| *more > 0) {
        Some(more) => format!("{first} and {more} more"),
        None => first,
    }
}

/// A text of a table, and whether it stands there without quotes.
struct Cell {
    text: String,
    plain: bool,
    line: usize,
}

struct Reader<'a> {
    path: &'a Path,
    problems: Problems,
    sites: Vec<Site>,
    /// Where each site is named.
    places: BTreeMap<String, Place>,
    left_out: Vec<LeftOut>,
    /// Bytes that may still be read.
    left: u64,
    /// How many values the sites have.
    values: usize,
    /// Their names.
    columns: BTreeSet<String>,
    /// Whether it was said that there is too much of something.
    is_full: bool,
}

impl Reader<'_> {
    fn report(&mut self, place: Place, message: impl Into<String>, hint: impl Into<Option<String>>) {
        self.problems.push(Problem::new(place, message).hint(hint));
    }

    /// Says, once, that there is more of something than a fleet may have.
    fn report_full(&mut self, place: Place, what: &str, most: usize) {
        if !std::mem::replace(&mut self.is_full, true) {
            self.report(
                place,
                format!("there are more than {most} {what}"),
                "divide it into several fleets".to_owned(),
            );
        }
    }

    fn root(&mut self, root: &YamlNode) -> Result<(Layer, BTreeMap<String, Layer>)> {
        let mut common = Layer::empty(FLEET, root.line, "common");
        let mut groups = BTreeMap::new();
        let YamlData::Map(entries) = &root.data else {
            self.report(
                place(FLEET, root.line, ""),
                "must be a map",
                Some("it has `common`, `groups` and `sites`".to_owned()),
            );
            return Ok((common, groups));
        };
        for YamlEntry { key, line, value, .. } in entries {
            match key.as_str() {
                "common" => common = self.layer(FLEET, "common", *line, value),
                "groups" => match &value.data {
                    YamlData::Map(entries) => {
                        for YamlEntry { key, line, value, .. } in entries {
                            let layer = self.layer(FLEET, &join("groups", key), *line, value);
                            groups.insert(key.clone(), layer);
                        }
                        if groups.len() > bounds::GROUPS {
                            self.report_full(place(FLEET, *line, key), "groups", bounds::GROUPS);
                        }
                    }
                    _ if value.is_null() => {}
                    _ => self.report(
                        place(FLEET, *line, key),
                        "must be a map",
                        Some("write `groups: {NAME: {…}}`".to_owned()),
                    ),
                },
                "sites" => self.sites(value, *line)?,
                _ => {
                    let hint = did_you_mean(key, ["common", "groups", "sites"])
                        .unwrap_or_else(|| "known: common, groups, sites".into());
                    self.report(place(FLEET, *line, key), "unknown field", Some(hint));
                }
            }
        }
        if !entries.iter().any(|entry| entry.key == "sites") {
            let hint = "a list, or the name of a table: `sites: sites.csv`".to_owned();
            self.report(place(FLEET, root.line, "sites"), "required, but missing", Some(hint));
        }
        Ok((common, groups))
    }

    /// A layer; every key that is none of its own is reported.
    fn layer(&mut self, file: &str, field: &str, line: usize, node: &YamlNode) -> Layer {
        let mut layer = Layer::empty(file, line, field);
        match &node.data {
            YamlData::Map(entries) => {
                for entry in entries {
                    if !self.part_of_layer(&mut layer, entry) {
                        let known = || PARTS.into_iter().chain(FOLDERS);
                        let hint = did_you_mean(&entry.key, known())
                            .unwrap_or_else(|| format!("known: {}", known().collect::<Vec<_>>().join(", ")));
                        let place = layer.place(entry.line, &entry.key);
                        self.report(place, "unknown field", Some(hint));
                    }
                }
            }
            _ if node.is_null() => {}
            _ => {
                let hint = "it has `install-config` and `cluster`: parts of these two files".to_owned();
                self.report(place(file, line, field), "must be a map", Some(hint));
            }
        }
        layer
    }

    /// Takes an entry of a layer; false if it is none.
    fn part_of_layer(&mut self, layer: &mut Layer, entry: &YamlEntry) -> bool {
        let YamlEntry { key, line, value, .. } = entry;
        if let Some(at) = PARTS.iter().position(|part| part == key) {
            match &value.data {
                YamlData::Map(_) => layer.parts[at] = Some(value.clone()),
                _ if value.is_null() => {}
                _ => self.report(layer.place(*line, key), "must be a map", None),
            }
            return true;
        }
        let Some(kind) = FOLDERS.into_iter().find(|kind| *kind == key.as_str()) else { return false };
        match value.text().filter(|text| !text.is_empty()) {
            Some(text) => drop(layer.folders.insert(kind, text.trim_end_matches('/').to_owned())),
            None => self.report(layer.place(*line, key), "it is not the name of a folder", None),
        }
        true
    }

    /// A list of sites and of sources of sites, or one source.
    fn sites(&mut self, node: &YamlNode, line: usize) -> Result<()> {
        match &node.data {
            YamlData::Scalar { text, .. } if !node.is_null() => self.source(text, line)?,
            YamlData::List(items) => {
                for item in items {
                    match &item.data {
                        YamlData::Scalar { text, .. } => self.source(text, item.line)?,
                        _ => self.site(FLEET, "sites", item),
                    }
                }
            }
            _ => {
                let hint = "a list, or the name of a table: `sites: sites.csv`".to_owned();
                self.report(place(FLEET, line, "sites"), "it is neither a list nor a text", Some(hint));
            }
        }
        if self.sites.is_empty() && self.problems.0.is_empty() {
            self.report(place(FLEET, line, "sites"), "there is no site", None);
        }
        Ok(())
    }

    /// Sites that are elsewhere.
    fn source(&mut self, source: &str, line: usize) -> Result<()> {
        let at = place(FLEET, line, "sites");
        let (folder, last) = source.rsplit_once('/').unwrap_or(("", source));
        if !last.contains('*') {
            if let Some((message, hint)) = bounds::flaw(self.path, source)? {
                self.report(at, format!("`{source}`: {message}"), Some(hint.to_owned()));
                return Ok(());
            }
            return match fs::exists(&self.path.join(source))? {
                true => self.table(source),
                false => {
                    let hint = "a path is relative to fleet.yaml; a folder of cluster directories is `DIR/*`";
                    self.report(at, format!("there is no file `{source}`"), Some(hint.to_owned()));
                    Ok(())
                }
            };
        }
        if let Some((message, hint)) = bounds::flaw(self.path, folder)? {
            self.report(at, format!("`{folder}`: {message}"), Some(hint.to_owned()));
            return Ok(());
        }
        let Some(names) = fs::optional(fs::list(&self.path.join(folder)))? else {
            self.report(at, format!("there is no folder `{folder}`"), None);
            return Ok(());
        };
        let (first, end) = last.split_once('*').unwrap_or((last, ""));
        let is_wanted = |name: &str| {
            name.len() >= first.len() + end.len() && name.starts_with(first) && name.ends_with(end)
        };
        let mut any = false;
        for name in names.iter().filter_map(|name| name.to_str()) {
            if name.starts_with('.') || !is_wanted(name) {
                continue;
            }
            let (path, full) = (join_path(folder, name), self.path.join(folder).join(name));
            if let Some((message, hint)) = bounds::flaw(self.path, &path)? {
                any = true;
                self.report(Place::file(path), message, Some(hint.to_owned()));
                continue;
            }
            match fs::followed(&full).is_some_and(|found| found.is_dir()) {
                true if fs::exists(&full.join(CLUSTER))? => {
                    any = true;
                    self.add(name.to_owned(), Place::file(path), SiteKind::Directory(fs::canonical(&full)?));
                }
                true => {}
                false if yaml::is_manifest(name) || name.ends_with(".csv") => {
                    any = true;
                    self.table(&path)?;
                }
                false => {}
            }
        }
        if !any {
            let message = format!("`{source}` matches no cluster directory, table or document");
            self.report(at, message, Some("a cluster directory has a cluster.yaml".to_owned()));
        }
        Ok(())
    }

    /// A file with sites in it.
    fn table(&mut self, file: &str) -> Result<()> {
        let text = &fs::read_text_up_to(&self.path.join(file), self.left)?;
        self.left -= text.len() as u64;
        if file.ends_with(".csv") {
            for row in table::rows(file, text, &mut self.problems) {
                let cells = row.cells.into_iter();
                let cells = cells.map(|(key, text)| (key, Cell { text, plain: true, line: row.line }));
                self.add_layered(file, row.line, cells.collect(), |_, field| {
                    Layer::empty(file, row.line, field)
                });
            }
            return Ok(());
        }
        let documents = yaml::documents(Source { name: file, text }, &mut self.problems);
        for document in &documents {
            match &document.data {
                YamlData::List(items) => items.iter().for_each(|item| self.site(file, "", item)),
                _ => match instance::read(file, document, &mut self.problems) {
                    Some(all) => {
                        for found in all {
                            self.left_out.extend(found.left_out);
                            self.add(found.name, found.place, SiteKind::Layered(Box::new(found.site)));
                        }
                    }
                    None => {
                        let hint =
                            "a list of sites, or documents of kind ClusterInstance or SiteConfig".to_owned();
                        let at = place(file, document.line, "");
                        self.report(at, "there is no site in this document", Some(hint));
                    }
                },
            }
        }
        Ok(())
    }

    /// An element of a list of sites.
    fn site(&mut self, file: &str, list: &str, node: &YamlNode) {
        let YamlData::Map(entries) = &node.data else {
            let hint = "write `- {name: …, groups: …}`".to_owned();
            self.report(place(file, node.line, list), "must be a map", Some(hint));
            return;
        };
        let mut cells = BTreeMap::new();
        let mut own = Vec::new();
        for entry in entries {
            let YamlEntry { key, line, value, .. } = entry;
            let is_own = PARTS.iter().chain(&FOLDERS).any(|known| known == key);
            match &value.data {
                _ if value.is_null() => {}
                _ if is_own => own.push(entry.clone()),
                YamlData::Scalar { text, plain } => {
                    cells.insert(key.clone(), Cell { text: text.clone(), plain: *plain, line: *line });
                }
                YamlData::List(items) if key == "groups" => {
                    let words: Vec<&str> = items.iter().filter_map(YamlNode::text).collect();
                    cells.insert(key.clone(), Cell { text: words.join(" "), plain: true, line: *line });
                }
                _ => {
                    let hint = did_you_mean(key, PARTS.into_iter().chain(FOLDERS)).unwrap_or_else(|| {
                        "fields of the two files belong below `install-config` or `cluster`".into()
                    });
                    self.report(place(file, *line, &join(list, key)), "must be a single value", Some(hint));
                }
            }
        }
        self.add_layered(file, node.line, cells, |reader, field| {
            let mut layer = Layer::empty(file, node.line, &join(list, field));
            for entry in &own {
                reader.part_of_layer(&mut layer, entry);
            }
            layer
        });
    }

    /// A site of a table. Three columns have a meaning; all are values.
    fn add_layered(
        &mut self,
        file: &str,
        line: usize,
        mut cells: BTreeMap<String, Cell>,
        own: impl FnOnce(&mut Self, &str) -> Layer,
    ) {
        let Some(name) = cells.get("name").map(|cell| cell.text.clone()) else {
            self.report(place(file, line, "name"), "required, but missing", None);
            return;
        };
        self.values += cells.len();
        self.columns
            .extend(cells.keys().filter(|key| !self.columns.contains(*key)).cloned().collect::<Vec<_>>());
        if self.values > bounds::VALUES {
            self.report_full(place(file, line, ""), "values of sites", bounds::VALUES);
        } else if self.columns.len() > bounds::COLUMNS {
            self.report_full(place(file, line, ""), "columns", bounds::COLUMNS);
        }
        if self.is_full {
            return;
        }
        let own = own(self, &name);
        let groups = cells.remove("groups").map(|cell| cell.text).unwrap_or_default();
        let groups: Vec<String> =
            groups.split([' ', ',', ';']).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        if groups.len() > bounds::GROUPS_OF_SITE {
            self.report_full(place(file, line, "groups"), "groups of a site", bounds::GROUPS_OF_SITE);
            return;
        }
        let seed = cells.remove("seed").map(|cell| cell.text);
        let values = cells.into_iter().map(|(key, Cell { text, plain, line })| {
            let place = place(file, line, &key);
            (key, SiteValue { text, plain, place })
        });
        let site =
            Layered { base: None, groups, own, values: values.collect(), seed, manifests: BTreeMap::new() };
        self.add(name, place(file, line, "name"), SiteKind::Layered(Box::new(site)));
    }

    fn add(&mut self, name: String, place: Place, kind: SiteKind) {
        let word = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let bytes = name.as_bytes();
        let is_label = bytes.len() <= 63
            && bytes.first().is_some_and(word)
            && bytes.last().is_some_and(word)
            && bytes.iter().all(|b| word(b) || *b == b'-');
        if self.sites.len() == bounds::SITES {
            self.report_full(place, "sites", bounds::SITES);
        } else if !is_label {
            let hint = "lower-case letters, digits and `-`, at most 63".to_owned();
            self.report(place, format!("`{name}` is not a name for a site"), Some(hint));
        } else if let Some(first) = self.places.get(&name) {
            let message = format!("there are two sites `{name}`, the other at {first}");
            self.report(place, message, None);
        } else {
            self.places.insert(name.clone(), place);
            self.sites.push(Site { name, kind });
        }
    }
}

pub(super) fn place(file: &str, line: usize, field: &str) -> Place {
    Place { file: file.to_owned(), line: Some(line), field: field.to_owned() }
}

fn join_path(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
