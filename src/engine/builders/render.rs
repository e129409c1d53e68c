//! Renders a job's templates: minijinja, strict. An undefined name is an error with file and line.
//!
//! A path whose last component starts with `_` is an include, not an output. Templates see the recipe's `config`
//! aliases, its `values` and its inputs: a file is its text, a directory a map from path to text.
//!
//! Additional filters: `yaml(indent)`, `json`, `quote` (a YAML scalar), `b64`; `from_yaml` (the first document of a text,
//! scalars as texts); `reverse_name` (of an
//! IP address, in DNS); and for a certificate in PEM form `not_before`, `not_after` (RFC 3339) and `common_name`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value as Jinja};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};

use super::{BuildError, Job, JobError, filter_bounds};
use crate::base::hint::{Problems, did_you_mean};
use crate::base::pki::Certificate;
use crate::base::time::rfc3339;
use crate::base::value::Value;
use crate::base::yaml::{self, YamlData, YamlNode};
use crate::engine::tree::leaf;

/// The instructions of a template, and the bytes of its text: a hundred times what any of ours needs.
const STEPS: u64 = 10_000_000;
pub(super) const TEXT: usize = 64 << 20;

/// What a template says, up to its end.
#[derive(Default)]
struct Text(String);

impl io::Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > TEXT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.push_str(std::str::from_utf8(bytes).map_err(io::Error::other)?);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) struct Templates<'j> {
    environment: Environment<'j>,
    /// The free names of each template.
    names: BTreeMap<&'j str, BTreeSet<String>>,
}

/// The values that templates see, by name.
pub(crate) type TemplateContext = BTreeMap<String, Jinja>;

impl<'j> Templates<'j> {
    /// Parses all templates.
    pub(crate) fn read(job: &'j Job<'_>) -> Result<Self, BuildError> {
        let files = job.text_map("files")?;
        let environment = environment(&files)?;
        let mut names = BTreeMap::new();
        for path in files.into_keys() {
            let template = environment.get_template(path).map_err(|error| explain(error, &[]))?;
            names.insert(path, template.undeclared_variables(false).into_iter().collect());
        }
        Ok(Self { environment, names })
    }

    /// Templates that are rendered, not included.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &'j str> {
        self.names.keys().copied().filter(|path| !is_part(path))
    }

    /// All of them, for messages.
    pub(crate) fn listed(&self) -> String {
        self.names.keys().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ")
    }

    /// The free names of all templates.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        self.names.values().flatten().map(String::as_str).collect()
    }

    /// The names that a template may use: its own, and those of the includes.
    pub(crate) fn names_of(&self, path: &str) -> BTreeSet<&str> {
        let used = self.names.iter().filter(|(one, _)| **one == path || is_part(one));
        used.flat_map(|(_, names)| names).map(String::as_str).collect()
    }

    /// The values of all names in use.
    pub(crate) fn context(&self, job: &Job<'_>) -> Result<TemplateContext, JobError> {
        let used = self.names();
        let mut context = TemplateContext::new();
        for (alias, value) in job.config() {
            context.insert(alias.to_owned(), Jinja::from(Serde(value)));
        }
        for (name, value) in values(job)? {
            context.insert(name.clone(), Jinja::from(Serde(value)));
        }
        for (alias, secret) in job.secrets.iter().filter(|(alias, _)| used.contains(alias.as_str())) {
            let wrong = || JobError::Input { alias: alias.clone(), problem: "is not text".into() };
            context.insert(alias.clone(), Jinja::from(secret.reveal_text().ok_or_else(wrong)?));
        }
        for alias in job.aliases().intersection(&used) {
            let value = match job.inputs.get(*alias) {
                Some(input) => texts(input.texts(alias)?),
                None => {
                    let members = job
                        .members(alias)
                        .map(|(member, input)| Ok((member.to_owned(), texts(input.texts(alias)?))));
                    Jinja::from(members.collect::<Result<BTreeMap<_, _>, JobError>>()?)
                }
            };
            context.insert((*alias).to_owned(), value);
        }
        Ok(context)
    }

    pub(crate) fn render(&self, path: &str, context: &TemplateContext) -> Result<String, BuildError> {
        let template = self.environment.get_template(path);
        let names = || context.keys().map(String::as_str).collect::<Vec<_>>();
        let mut text = Text::default();
        let rendered =
            template.and_then(|template| template.render_captured_to(context, &mut text).map(drop));
        rendered.map(|()| text.0).map_err(|error| match explain(error, &names()) {
            // What ends the output knows no line.
            BuildError::Text { line: 0, message, hint, .. } => {
                BuildError::Text { file: path.to_owned(), line: 1, message, hint }
            }
            error => error,
        })
    }
}

/// The recipe's own values, by name.
pub(crate) fn values<'a>(job: &'a Job<'_>) -> Result<&'a BTreeMap<String, Value>, JobError> {
    static NONE: BTreeMap<String, Value> = BTreeMap::new();
    match job.params.get("values") {
        None => Ok(&NONE),
        Some(Value::Map(values)) => Ok(values),
        Some(_) => Err(JobError::Expected { name: "values".into(), expected: "a table" }),
    }
}

/// The free names of a template fragment; none if it is not complete.
pub(crate) fn names(piece: &str) -> BTreeSet<String> {
    let whole =
        |text: &str| Some(Environment::new().template_from_str(text).ok()?.undeclared_variables(false));
    whole(piece).map(BTreeSet::from_iter).unwrap_or_default()
}

fn is_part(path: &str) -> bool {
    leaf(path).starts_with('_')
}

fn environment<'a>(files: &BTreeMap<&'a str, &'a str>) -> Result<Environment<'a>, BuildError> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(STEPS));
    let syntax =
        SyntaxConfig::builder().keep_trailing_newline(true).trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.map_err(|error| explain(error, &[]))?);
    environment.set_auto_escape_callback(|name| {
        if name.ends_with(".xml") { AutoEscape::Html } else { AutoEscape::None }
    });
    filter_bounds::add(&mut environment);
    environment.add_filter("yaml", |value: &Jinja, indent: Option<usize>| {
        filter_bounds::few(indent.unwrap_or(0))?;
        to_value(value).map(|value| yaml::emit(&value, indent.unwrap_or(0)))
    });
    environment.add_filter("from_yaml", from_yaml);
    environment.add_filter("json", |value: &Jinja| to_value(value).map(|value| value.to_string()));
    environment.add_filter("quote", |text: &str| yaml::scalar(text));
    environment.add_filter("b64", |text: &str| STANDARD.encode(text));
    environment.add_filter("reverse_name", reverse_name);
    environment.add_filter("not_before", |pem: &str| certificate(pem).map(|one| rfc3339(one.not_before())));
    environment.add_filter("not_after", |pem: &str| certificate(pem).map(|one| rfc3339(one.not_after())));
    environment.add_filter("common_name", |pem: &str| {
        let name = certificate(pem)?.common_name().map(str::to_owned);
        name.ok_or_else(|| wrong("the certificate's subject has no common name"))
    });
    for (path, text) in files {
        environment.add_template(path, text).map_err(|error| explain(error, &[]))?;
    }
    Ok(environment)
}

/// The name under which DNS has the name of an address.
fn reverse_name(address: &str) -> Result<String, minijinja::Error> {
    let parsed = address.parse().map_err(|_| wrong(&format!("`{address}` is not an IP address")))?;
    Ok(match parsed {
        IpAddr::V4(ip) => {
            let [a, b, c, d] = ip.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        IpAddr::V6(ip) => {
            let nibbles = ip.octets().into_iter().rev().flat_map(|byte| [byte & 0xf, byte >> 4]);
            nibbles.map(|nibble| format!("{nibble:x}.")).collect::<String>() + "ip6.arpa"
        }
    })
}

/// The first certificate of a PEM text: the subject of a chain.
fn certificate(pem: &str) -> Result<Certificate, minijinja::Error> {
    let chain = Certificate::chain_from_pem(pem).map_err(|error| wrong(&error.to_string()))?;
    chain.into_iter().next().ok_or_else(|| wrong("there is no certificate"))
}

/// An error of a filter.
fn wrong(what: &str) -> minijinja::Error {
    minijinja::Error::new(ErrorKind::InvalidOperation, what.to_owned())
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

/// The first document of a YAML text.
fn from_yaml(text: &str) -> Result<Jinja, minijinja::Error> {
    fn value(node: &YamlNode) -> Jinja {
        match &node.data {
            _ if node.is_null() => Jinja::from(()),
            YamlData::Scalar { text, .. } => Jinja::from(text.as_str()),
            YamlData::List(items) => Jinja::from(items.iter().map(value).collect::<Vec<_>>()),
            YamlData::Map(entries) => {
                let entries = entries.iter().map(|entry| (entry.key.clone(), value(&entry.value)));
                Jinja::from(entries.collect::<BTreeMap<_, _>>())
            }
        }
    }
    let mut problems = Problems::default();
    let documents = yaml::documents(yaml::Source { name: "text", text }, &mut problems);
    match (documents.first(), problems.0.first()) {
        (Some(node), None) => Ok(value(node)),
        (_, Some(problem)) => Err(minijinja::Error::new(
            ErrorKind::InvalidOperation,
            format!("it is not YAML: {}", problem.message),
        )),
        (None, None) => Err(wrong("it is empty")),
    }
}

fn to_value(value: &Jinja) -> Result<Value, minijinja::Error> {
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

/// Converts minijinja's error: file, line, and a suggestion for an unknown name.
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
        _ if error.kind() == ErrorKind::OutOfFuel => format!("it takes more than {STEPS} steps"),
        _ if error.kind() == ErrorKind::WriteFailure => format!("its text has more than {} MiB", TEXT >> 20),
        Some(detail) => format!("{}: {detail}", error.kind()),
        None if undefined => format!("undefined name in `{}`", source.trim()),
        None => error.kind().to_string(),
    };
    BuildError::Text { file, line, message, hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_yaml_text() {
        let texts = [("x", "{{ (text | from_yaml).list | map(attribute='name') | join(',') }}")].into();
        let environment = environment(&texts).unwrap();
        let render = |text: &str| {
            let context = BTreeMap::from([("text", Jinja::from(text))]);
            environment.get_template("x").unwrap().render(context).map_err(|error| error.to_string())
        };
        assert_eq!(render("# It.\nlist:\n- {name: a}\n- name: 'b'\n---\nlist: []\n").as_deref(), Ok("a,b"));
        assert_eq!(render("{\"list\": [{\"name\": \"c\"}]}").as_deref(), Ok("c"));
        assert!(render("list: [").unwrap_err().contains("is not YAML"));
        assert!(render("").unwrap_err().contains("is empty"));
    }
}
