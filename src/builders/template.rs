//! `template`: renders text files with minijinja, strictly. An undefined name is an error that says file and line, and
//! so is a name that the recipe gives and no template uses: what is named is rebuilt for.
//!
//! `files` holds the templates by output path; a path whose last part begins with `_` is a part to include, not an
//! output. Names in a template are the recipe's `config` aliases, its `values` and its inputs: a file is its text, a
//! directory a map from path to text. `exec` lists the outputs that can be executed.
//!
//! Filters beyond minijinja's own: `yaml(indent)`, `json`, `quote` (a YAML scalar), `b64`.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value as Jinja};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};

use super::{BuildError, Builder, Job, JobError};
use crate::drv::BuilderId;
use crate::hint::did_you_mean;
use crate::tree::{TreeWriter, leaf};
use crate::value::Value;
use crate::yaml;

pub(super) struct Template;

impl Builder for Template {
    fn id(&self) -> BuilderId {
        BuilderId::new("template", 1)
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["config", "files", "exec", "values"])?;
        values(job)?;
        let files = job.text_map("files")?;
        if !files.keys().any(|path| is_output(path)) {
            return Err(JobError::Expected {
                name: "files".into(),
                expected: "a table with at least one template",
            }
            .into());
        }
        let executables = job.text_list("exec")?;
        if let Some(path) = executables.iter().find(|path| !files.contains_key(*path)) {
            return Err(JobError::Unused { name: format!("exec: {path}"), used_in: "`files`".into() }.into());
        }
        let environment = environment(&files)?;
        let mut used = BTreeSet::new();
        for path in files.keys() {
            let template = environment.get_template(path).map_err(|error| explain(error, &[]))?;
            used.extend(template.undeclared_variables(false));
        }
        let given: BTreeSet<&str> = job
            .config()
            .into_keys()
            .chain(job.secrets.keys().map(String::as_str))
            .chain(values(job)?.keys().map(String::as_str))
            .chain(job.aliases())
            .collect();
        match given.iter().find(|name| !used.contains(**name)) {
            Some(name) => {
                let used_in = files.keys().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
                Err(JobError::Unused { name: (*name).to_owned(), used_in }.into())
            }
            None => Ok(()),
        }
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let files = job.text_map("files")?;
        let executables = job.text_list("exec")?;
        let environment = environment(&files)?;
        let context = context(job)?;
        let names: Vec<&str> = context.keys().map(String::as_str).collect();
        for path in files.keys().filter(|path| is_output(path)) {
            let text = environment
                .get_template(path)
                .and_then(|template| template.render(&context))
                .map_err(|error| explain(error, &names))?;
            out.write(path, text.as_bytes(), executables.contains(path))?;
        }
        Ok(())
    }
}

/// What the recipe itself says, by name.
fn values<'a>(job: &'a Job<'_>) -> Result<&'a BTreeMap<String, Value>, JobError> {
    static NONE: BTreeMap<String, Value> = BTreeMap::new();
    match job.params.get("values") {
        None => Ok(&NONE),
        Some(Value::Map(values)) => Ok(values),
        Some(_) => Err(JobError::Expected { name: "values".into(), expected: "a table" }),
    }
}

/// The names that a piece of a template uses and does not make itself; none if it is not a whole piece.
pub fn names(piece: &str) -> BTreeSet<String> {
    let whole =
        |text: &str| Some(Environment::new().template_from_str(text).ok()?.undeclared_variables(false));
    whole(piece).map(BTreeSet::from_iter).unwrap_or_default()
}

fn is_output(path: &str) -> bool {
    !leaf(path).starts_with('_')
}

fn environment<'a>(files: &BTreeMap<&'a str, &'a str>) -> Result<Environment<'a>, BuildError> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax =
        SyntaxConfig::builder().keep_trailing_newline(true).trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.map_err(|error| explain(error, &[]))?);
    environment.set_auto_escape_callback(|name| {
        if name.ends_with(".xml") { AutoEscape::Html } else { AutoEscape::None }
    });
    environment.add_filter("yaml", |value: &Jinja, indent: Option<usize>| {
        to_value(value).map(|value| yaml::emit(&value, indent.unwrap_or(0)))
    });
    environment.add_filter("json", |value: &Jinja| to_value(value).map(|value| value.to_string()));
    environment.add_filter("quote", |text: &str| yaml::scalar(text));
    environment.add_filter("b64", |text: &str| STANDARD.encode(text));
    for (path, text) in files {
        environment.add_template(path, text).map_err(|error| explain(error, &[]))?;
    }
    Ok(environment)
}

fn context(job: &Job<'_>) -> Result<BTreeMap<String, Jinja>, JobError> {
    let mut context = BTreeMap::new();
    for (alias, value) in job.config() {
        context.insert(alias.to_owned(), Jinja::from(Serde(value)));
    }
    for (name, value) in values(job)? {
        context.insert(name.clone(), Jinja::from(Serde(value)));
    }
    for (alias, secret) in job.secrets {
        let wrong = || JobError::Input { alias: alias.clone(), problem: "is not text".into() };
        context.insert(alias.clone(), Jinja::from(secret.reveal_text().ok_or_else(wrong)?));
    }
    for alias in job.aliases() {
        let single = job.inputs.get(alias);
        let value = match single {
            Some(input) => texts(input.texts(alias)?),
            None => {
                let members = job
                    .members(alias)
                    .map(|(member, input)| Ok((member.to_owned(), texts(input.texts(alias)?))));
                Jinja::from(members.collect::<Result<BTreeMap<_, _>, JobError>>()?)
            }
        };
        context.insert(alias.to_owned(), value);
    }
    Ok(context)
}

/// A single file is its text, anything else a map.
fn texts(mut texts: BTreeMap<String, String>) -> Jinja {
    match texts.remove("") {
        Some(text) => Jinja::from(text),
        None => Jinja::from(
            texts.into_iter().map(|(path, text)| (path, Jinja::from(text))).collect::<BTreeMap<_, _>>(),
        ),
    }
}

fn to_value(value: &Jinja) -> Result<Value, minijinja::Error> {
    let wrong = |what: &str| minijinja::Error::new(ErrorKind::InvalidOperation, what.to_owned());
    use minijinja::value::ValueKind;
    Ok(match value.kind() {
        ValueKind::None => Value::Null,
        ValueKind::Undefined => return Err(minijinja::Error::from(ErrorKind::UndefinedError)),
        ValueKind::Bool => Value::Bool(value.is_true()),
        ValueKind::Number => {
            Value::Int(i64::try_from(value.clone()).map_err(|_| wrong("only whole numbers have one text"))?)
        }
        ValueKind::String => Value::from(value.as_str().unwrap_or_default()),
        ValueKind::Seq | ValueKind::Iterable => {
            Value::List(value.try_iter()?.map(|item| to_value(&item)).collect::<Result<_, _>>()?)
        }
        ValueKind::Map => {
            let mut map = BTreeMap::new();
            for key in value.try_iter()? {
                map.insert(key.to_string(), to_value(&value.get_item(&key)?)?);
            }
            Value::Map(map)
        }
        _ => return Err(wrong("not plain data")),
    })
}

/// minijinja's error as ours: file, line, and for an unknown name what was probably meant.
fn explain(error: minijinja::Error, names: &[&str]) -> BuildError {
    let file = error.name().unwrap_or("template").to_owned();
    let line = error.line().unwrap_or(0);
    let source =
        error.template_source().and_then(|text| text.lines().nth(line.saturating_sub(1))).unwrap_or_default();
    let words = |text: &str| {
        text.split(|c: char| !(c.is_alphanumeric() || c == '_')).map(str::to_owned).collect::<Vec<_>>()
    };
    let undefined = error.kind() == ErrorKind::UndefinedError;
    let hint = undefined
        .then(|| {
            words(source).iter().find_map(|word| {
                (!names.contains(&word.as_str())).then(|| did_you_mean(word, names.iter().copied())).flatten()
            })
        })
        .flatten();
    let message = match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None if undefined => format!("undefined name in `{}`", source.trim()),
        None => error.kind().to_string(),
    };
    BuildError::Template { file, line, message, hint }
}
