//! Recipes to nodes: expands `for_each`, finds inputs, projects config, reads files.

use std::collections::BTreeMap;

use super::condition::{self, Aliases, Outcome};
use super::graph::{Absent, Edge, GraphNode, Missing};
use super::index::NodeIndex;
use super::names::Names;
use super::parse::{At, ForEach, Recipe, is_name};
use super::sources::Sources;
use crate::base::hint::{Place, Problem, Problems, did_you_mean};
use crate::base::value::Value;
use crate::engine::drv::Step;
use crate::engine::fields::{Fields, Projected};
use crate::engine::tree::{check_path, leaf};

/// One named instance of a recipe.
#[derive(Debug)]
pub(super) struct Draft {
    recipe: usize,
    name: String,
    /// Set if its recipe has a `for_each`.
    each: Option<Each>,
    /// The fields that its recipe's condition reads.
    when: Vec<String>,
    /// Why it is not in the graph, if so.
    absent: Option<Missing>,
}

/// The subject of one instance of a `for_each` recipe.
#[derive(Debug, Clone)]
pub(super) enum Each {
    /// A list element, `{node}` in the recipe's texts; `node.…` in `[config]` are its fields.
    Element(String),
    /// A name that the recipe lists, `{each}` in its texts.
    Name(String),
}

impl Each {
    /// The placeholder in texts, and its value.
    fn pair(&self) -> (&'static str, &str) {
        match self {
            Self::Element(name) => ("{node}", name),
            Self::Name(name) => ("{each}", name),
        }
    }
}

/// Instances of all recipes, absent ones included, so that a reference to one can say why it is absent.
pub(super) fn expand(
    recipes: &[Recipe],
    fields: &Fields,
    aliases: &Aliases<'_>,
    problems: &mut Problems,
) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (at, recipe) in recipes.iter().enumerate() {
        let outcome = |each: Option<&Each>, problems: &mut Problems| {
            let when = recipe.when.as_ref();
            when.map(|when| condition::evaluate(recipe, when, (fields, each), aliases, problems))
                .unwrap_or_default()
        };
        // Evaluated once, unless it is about the element.
        let own = recipe.when.as_ref().is_some_and(|when| when.text.contains("node."));
        let common = if own { Outcome::default() } else { outcome(None, problems) };
        for each in instances(recipe, fields, problems) {
            let Outcome { reads, unmet } =
                if own { outcome(each.as_ref(), problems) } else { common.clone() };
            let why = recipe.none.clone().map(Absent::Never).or(unmet);
            let absent = why.map(|why| Missing { why, reads: reads.clone() });
            let written = recipe.name.as_ref().map_or(&recipe.stem, |name| &name.text);
            let leaf = substitute(written, each.as_ref());
            if !is_name(&leaf) {
                let line = recipe.name.as_ref().map_or(1, |name| name.line);
                let message = format!("`{}` is not a name", leaf.escape_debug());
                let hint = "names are made of a-z, 0-9, `-`, `_` and `.`, and begin with a letter or digit"
                    .to_owned();
                problems.push(Problem::new(recipe.place(line, "name"), message).hint(hint));
                continue;
            }
            let name = if recipe.folder.is_empty() { leaf } else { format!("{}/{leaf}", recipe.folder) };
            drafts.push(Draft { recipe: at, name, each, when: reads, absent });
        }
    }
    // Of several recipes with the same name, the one that applies comes first.
    drafts
        .sort_by(|one, other| (&one.name, one.absent.is_some()).cmp(&(&other.name, other.absent.is_some())));
    for pair in drafts.windows(2) {
        if pair[0].name == pair[1].name && pair.iter().all(|draft| draft.absent.is_none()) {
            let (one, other) = (&recipes[pair[0].recipe], &recipes[pair[1].recipe]);
            let message = format!("`{}` is also made by {}", pair[0].name, one.shown);
            let hint = "to replace a recipe, give yours the same path below recipes/".to_owned();
            problems.push(Problem::new(other.place(1, ""), message).hint(hint));
        }
    }
    drafts
}

/// The subjects of a recipe; one nameless instance without `for_each`.
fn instances(recipe: &Recipe, fields: &Fields, problems: &mut Problems) -> Vec<Option<Each>> {
    let (line, placeholder) = match &recipe.for_each {
        None => return vec![None],
        Some(ForEach::Elements(list)) => (list.line, "{node}"),
        Some(ForEach::Names(_, line)) => (*line, "{each}"),
    };
    if recipe.name.as_ref().is_none_or(|name| !name.text.contains(placeholder)) {
        let hint = format!("write for example `name = \"{placeholder}\"`");
        let message = format!("needs a `name` with `{placeholder}` in it");
        problems.push(Problem::new(recipe.place(line, "for_each"), message).hint(hint));
        return Vec::new();
    }
    match &recipe.for_each {
        Some(ForEach::Names(names, _)) => names.iter().cloned().map(Each::Name).map(Some).collect(),
        Some(ForEach::Elements(list)) => elements(recipe, list, fields, problems),
        None => Vec::new(),
    }
}

fn elements(recipe: &Recipe, list: &At, fields: &Fields, problems: &mut Problems) -> Vec<Option<Each>> {
    if let Some(names) = fields.elements(&list.text) {
        return names.into_iter().map(|name| Some(Each::Element(name.to_owned()))).collect();
    }
    let lists = fields.lists();
    let hint = did_you_mean(&list.text, lists.iter().copied())
        .or_else(|| Some(format!("known: {}", lists.join(", "))));
    let message = format!("there is no list `{}`", list.text);
    problems.push(Problem::new(recipe.place(list.line, "for_each"), message).hint(hint));
    Vec::new()
}

fn substitute(text: &str, each: Option<&Each>) -> String {
    match each.map(Each::pair) {
        Some((placeholder, name)) => text.replace(placeholder, name),
        None => text.to_owned(),
    }
}

fn substitute_value(value: &Value, each: &Each) -> Value {
    let text = |text: &str| substitute(text, Some(each));
    match value {
        Value::Text(value) => Value::Text(text(value)),
        Value::List(list) => Value::List(list.iter().map(|item| substitute_value(item, each)).collect()),
        Value::Map(map) => {
            Value::Map(map.iter().map(|(key, item)| (text(key), substitute_value(item, each))).collect())
        }
        other => other.clone(),
    }
}

pub(super) fn absent(drafts: &[Draft]) -> BTreeMap<String, Missing> {
    // The first of each name counts: the one that applies, if any.
    let firsts = drafts.chunk_by(|one, other| one.name == other.name).filter_map(|same| same.first());
    firsts.filter_map(|draft| Some((draft.name.clone(), draft.absent.clone()?))).collect()
}

/// Present instances with all their references resolved.
pub(super) fn connect(
    recipes: &[Recipe],
    drafts: Vec<Draft>,
    sources: &Sources,
    fields: &Fields,
    names: &Names<'_>,
    problems: &mut Problems,
) -> Vec<GraphNode> {
    let connector = Connector { recipes, drafts: &drafts, sources, fields, names };
    drafts
        .iter()
        .filter(|draft| draft.absent.is_none())
        .map(|draft| connector.node(draft, problems))
        .collect()
}

struct Connector<'a> {
    recipes: &'a [Recipe],
    /// Sorted by name.
    drafts: &'a [Draft],
    sources: &'a Sources,
    fields: &'a Fields,
    names: &'a Names<'a>,
}

impl Connector<'_> {
    fn node(&self, draft: &Draft, problems: &mut Problems) -> GraphNode {
        let recipe = &self.recipes[draft.recipe];
        let each = draft.each.as_ref();
        let (params, tables) = self.params(recipe, each, problems);
        let mut made = GraphNode {
            name: draft.name.clone(),
            stage: recipe.stage,
            recipe: recipe.shown.clone(),
            summary: recipe.summary.clone(),
            builder: (recipe.builder.text.clone(), recipe.place(recipe.builder.line, "builder")),
            aliases: recipe.inputs.keys().cloned().collect(),
            inputs: BTreeMap::new(),
            params,
            tables,
            secrets: BTreeMap::new(),
            reads: Vec::new(),
            files: BTreeMap::new(),
            when: draft.when.clone(),
            impure: recipe.impure,
        };
        for (alias, spec) in &recipe.inputs {
            self.input(recipe, draft, alias, spec, &mut made, problems);
        }
        self.config(recipe, each, &mut made, problems);
        self.files(recipe, each, &mut made, problems);
        made
    }

    fn params(
        &self,
        recipe: &Recipe,
        each: Option<&Each>,
        problems: &mut Problems,
    ) -> (BTreeMap<String, Value>, BTreeMap<String, String>) {
        let (mut params, mut tables) = (recipe.params.clone(), BTreeMap::new());
        for (key, value) in &mut params {
            if let Some(each) = each {
                *value = substitute_value(value, each);
            }
            let mut path = vec![Step::Key("params"), Step::Key(key)];
            if let Err((message, hint)) = self.names.value(&mut path, value, &mut tables) {
                let place = Place { field: format!("params.{key}"), ..Place::file(&recipe.shown) };
                problems.push(Problem::new(place, message).hint(hint));
            }
        }
        (params, tables)
    }

    fn input(
        &self,
        recipe: &Recipe,
        draft: &Draft,
        alias: &str,
        spec: &At,
        made: &mut GraphNode,
        problems: &mut Problems,
    ) {
        let place = || recipe.place(spec.line, format!("inputs.{alias}"));
        if recipe.config.contains_key(alias) || alias.contains('/') {
            problems.push(Problem::new(
                place(),
                format!("`{alias}` is also an alias of `[config]`, or contains a `/`"),
            ));
            return;
        }
        let text = match self.names.text(&substitute(&spec.text, draft.each.as_ref())) {
            Ok(text) => text,
            Err((message, hint)) => {
                problems.push(Problem::new(place(), message).hint(hint));
                return;
            }
        };
        if let Some((_, rest)) = text.split_once('{') {
            let name = rest.split('}').next().unwrap_or_default();
            let table = name.split('.').next().unwrap_or_default();
            let hint = did_you_mean(table, self.names.tables().chain(["node", "each"]));
            problems.push(Problem::new(place(), format!("`{{{name}}}` is not defined")).hint(hint));
            return;
        }
        let (wanted, path) =
            text.split_once(':').map_or((text.as_str(), None), |(name, path)| (name, Some(path)));
        let (wanted, is_optional) = wanted.strip_suffix('?').map_or((wanted, false), |wanted| (wanted, true));
        let group = wanted.contains('*');
        if let Some(Err(error)) = path.map(check_path) {
            problems.push(Problem::new(place(), format!("`{}`: {error}", text.escape_debug())));
            return;
        }
        let found: Vec<&Draft> = match wanted.split_once('*') {
            None => self.exact(wanted).into_iter().collect(),
            Some((prefix, suffix)) => self.matching(prefix, suffix).collect(),
        };
        // A group may be empty; a single name that no recipe has is always a mistake.
        if found.is_empty() && !(is_optional && group) {
            let names = self.drafts.iter().map(|draft| draft.name.as_str());
            let message = format!("`{}` needs `{wanted}`, which no recipe provides", draft.name);
            problems.push(Problem::new(place(), message).hint(did_you_mean(wanted, names)));
        }
        for input in found {
            let from = &self.recipes[input.recipe];
            if from.stage > recipe.stage {
                let message = format!(
                    "`{}` (stage {}) needs `{}` of a later stage {} ({})",
                    draft.name, recipe.stage, input.name, from.stage, from.shown
                );
                let hint =
                    "move one of the two, so that the listing of recipes/ stays the build order".to_owned();
                problems.push(Problem::new(place(), message).hint(hint));
            }
            if from.impure {
                let message = format!(
                    "`{}` needs `{}`, which is impure ({}): its output may differ each time",
                    draft.name, input.name, from.shown
                );
                let hint =
                    "use a pure input; impure ones are only for `tinderbox build` and `show`".to_owned();
                problems.push(Problem::new(place(), message).hint(hint));
            }
            match &input.absent {
                Some(_) if group || is_optional => {}
                Some(Missing { why, .. }) => {
                    let message = format!("`{}` is absent: {why}", input.name);
                    let hint = match why {
                        Absent::Otherwise { .. } | Absent::NoneOf(_) => {
                            Some(format!("write `{wanted}?` if it may be absent"))
                        }
                        _ => None,
                    };
                    problems.push(Problem::new(place(), message).hint(hint));
                }
                None => {
                    let leaf = leaf(&input.name);
                    let alias = if group { format!("{alias}/{leaf}") } else { alias.to_owned() };
                    // `disk/*:*.img`: the file named after each member.
                    let path = path.map(|path| if group { path.replace('*', leaf) } else { path.to_owned() });
                    let edge = Edge { from: input.name.clone(), node: NodeIndex::UNSORTED, path };
                    made.inputs.insert(alias, edge);
                }
            }
        }
    }

    fn exact(&self, name: &str) -> Option<&Draft> {
        let at = self.drafts.partition_point(|draft| draft.name.as_str() < name);
        self.drafts.get(at).filter(|draft| draft.name == name)
    }

    fn matching(&self, prefix: &str, suffix: &str) -> impl Iterator<Item = &Draft> {
        let start = self.drafts.partition_point(|draft| draft.name.as_str() < prefix);
        self.drafts[start..].iter().take_while(move |draft| draft.name.starts_with(prefix)).filter(
            move |draft| draft.name.len() >= prefix.len() + suffix.len() && draft.name.ends_with(suffix),
        )
    }

    fn config(&self, recipe: &Recipe, each: Option<&Each>, made: &mut GraphNode, problems: &mut Problems) {
        let mut config = BTreeMap::new();
        for (alias, path) in &recipe.config {
            // `node` is the element of this instance.
            let bound = match (each, path.text.strip_prefix("node.")) {
                (Some(Each::Element(node)), Some(rest)) => format!("nodes.{node}.{rest}"),
                _ => substitute(&path.text, each),
            };
            match self.fields.project(&bound) {
                Ok(found) => {
                    match found.value {
                        Projected::Plain(value) => drop(config.insert(alias.clone(), value)),
                        Projected::Secret(secret) => drop(made.secrets.insert(alias.clone(), secret)),
                    }
                    made.reads.push((alias.clone(), bound, found.reads));
                }
                Err(error) => {
                    let hint = crate::base::hint::Hint::hint(&error);
                    let place = recipe.place(path.line, format!("config.{alias}"));
                    problems.push(Problem::new(place, error.to_string()).hint(hint));
                }
            }
        }
        self.reserve(recipe, "config", config, made, problems);
    }

    fn files(&self, recipe: &Recipe, each: Option<&Each>, made: &mut GraphNode, problems: &mut Problems) {
        let mut files = BTreeMap::new();
        for (alias, file) in &recipe.files {
            let alias = substitute(alias, each);
            let place = recipe.place(file.line, format!("files.{}", alias.escape_debug()));
            let name = substitute(&file.text, each);
            // A leading `/` means a file in another folder, shared by several recipes.
            let (directory, name) = match name.strip_prefix('/') {
                Some(name) => ("", name.to_owned()),
                None => (recipe.directory.as_str(), name),
            };
            if let Err(error) = check_path(&name).and_then(|()| check_path(&alias)) {
                problems.push(Problem::new(place, format!("`{}`: {error}", name.escape_debug())));
                continue;
            }
            let path = if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
            match self.sources.get(&path) {
                Some(found) => {
                    files.insert(alias.clone(), Value::from(found.text.as_ref()));
                    made.files.insert(alias, found.shown.clone());
                }
                None => {
                    let beside = format!("{}/", recipe.directory);
                    let names = self.sources.iter().filter_map(|(path, _)| path.strip_prefix(&beside));
                    let message = format!("there is no file `{path}` below recipes/");
                    problems.push(Problem::new(place, message).hint(did_you_mean(&name, names)));
                }
            }
        }
        self.reserve(recipe, "files", files, made, problems);
    }

    /// Adds one of our tables to the parameters.
    fn reserve(
        &self,
        recipe: &Recipe,
        name: &str,
        table: BTreeMap<String, Value>,
        made: &mut GraphNode,
        problems: &mut Problems,
    ) {
        if made.params.contains_key(name) {
            let message = format!("`params.{name}` is reserved: use the table `[{name}]`");
            problems.push(Problem::new(recipe.place(1, "params"), message));
        } else if !table.is_empty() {
            made.params.insert(name.to_owned(), Value::Map(table));
        }
    }
}
