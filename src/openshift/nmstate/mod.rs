//! NMState: from a node's `networkConfig` to NetworkManager keyfiles, without a network and without a running system.
//!
//! The crate `nmstate` generates them, as `nmstatectl gc` does for the agent-based installer. It is lenient where it has a
//! running system to ask: an unknown type becomes `ethernet`, a setting that no keyfile can hold is dropped, and a line
//! break in a name starts another section. [`limits`] refuses all of these first.
//!
//! Pure: the same document and ports give the same bytes. A version of the crate that writes other bytes needs a new
//! version of the builder `nmstate`; a test with a whole keyfile notices.

mod culprit;
mod limits;
mod routes;
mod survey;

pub(crate) use survey::Survey;

use std::collections::BTreeMap;

use crate::base::value::Value;

/// A network port of a machine: its name in the document, and the address to recognise it by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Port<'a> {
    pub name: &'a str,
    pub mac: &'a str,
}

/// Why a document is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Where in the document, list elements by index: `interfaces.0.ipv4`; empty for all of it.
    pub path: String,
    pub message: String,
    pub hint: Option<String>,
}

impl Refusal {
    fn new(path: impl Into<String>, message: impl Into<String>, hint: Option<&str>) -> Self {
        Self { path: path.into(), message: message.into(), hint: hint.map(str::to_owned) }
    }
}

/// The keyfiles by file name, or everything that is wrong with the document.
pub(crate) fn keyfiles(
    document: &Value,
    ports: &[Port<'_>],
) -> Result<BTreeMap<String, String>, Vec<Refusal>> {
    let mut refusals = limits::check(document, ports);
    let known: Vec<String> = refusals.iter().map(|one| one.path.clone()).collect();
    let is_known =
        |one: &Refusal| known.iter().any(|path| is_below(path, &one.path) || is_below(&one.path, path));
    refusals.extend(parts(document).into_iter().filter(|one| !is_known(one)));
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let identified = identify(document, ports);
    let whole = |message: String| vec![Refusal::new("", message, None)];
    let state: nmstate::NetworkState = read(&identified).map_err(whole)?;
    let made = state.gen_conf().map_err(|error| vec![located(document, error.msg())])?;
    let mut files = BTreeMap::new();
    for (name, text) in
        made.into_iter().filter(|(backend, _)| backend == "NetworkManager").flat_map(|(_, made)| made)
    {
        if files.contains_key(&name) {
            return Err(whole(format!("two connections would be called `{}`", name.escape_debug())));
        }
        files.insert(name, text);
    }
    Ok(files)
}

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T, String> {
    serde_json::to_value(value).and_then(serde_json::from_value).map_err(|error| error.to_string())
}

/// Whether a path is another one, or leads to something in it.
fn is_below(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Parses each part of the document on its own: the crate reports only the first problem, and not where it is.
fn parts(document: &Value) -> Vec<Refusal> {
    fn complaint<T: serde::de::DeserializeOwned>(value: &Value) -> Option<String> {
        read::<T>(value).err()
    }
    let mut refusals = Vec::new();
    for (index, interface) in elements(document, &["interfaces"]).enumerate() {
        let path = format!("interfaces.{index}");
        refusals.extend(culprit::refuse(&path, interface, complaint::<nmstate::Interface>));
    }
    for (index, route) in elements(document, &["routes", "config"]).enumerate() {
        let path = format!("routes.config.{index}");
        refusals.extend(culprit::refuse(&path, route, complaint::<nmstate::RouteEntry>));
    }
    for (index, rule) in elements(document, &["route-rules", "config"]).enumerate() {
        let path = format!("route-rules.config.{index}");
        refusals.extend(culprit::refuse(&path, rule, complaint::<nmstate::RouteRuleEntry>));
    }
    // What is beside `config`; its entries were read above.
    if let Some(routes) = document.get("routes") {
        refusals.extend(culprit::refuse("routes", &without_config(routes), complaint::<nmstate::Routes>));
    }
    if let Some(rules) = document.get("route-rules") {
        refusals.extend(culprit::refuse(
            "route-rules",
            &without_config(rules),
            complaint::<nmstate::RouteRules>,
        ));
    }
    if let Some(dns) = document.get("dns-resolver") {
        refusals.extend(culprit::refuse("dns-resolver", dns, complaint::<nmstate::DnsState>));
    }
    refusals
}

fn without_config(part: &Value) -> Value {
    let mut rest = part.clone();
    if let Value::Map(map) = &mut rest {
        map.remove("config");
    }
    rest
}

/// The elements of a list below map keys; none for anything else.
fn elements<'v>(value: &'v Value, keys: &[&str]) -> impl Iterator<Item = &'v Value> {
    let list = keys.iter().try_fold(value, |value, key| value.get(key));
    let items = match list {
        Some(Value::List(items)) => items.as_slice(),
        _ => &[],
    };
    items.iter()
}

fn name_of(interface: &Value) -> &str {
    interface.get("name").and_then(Value::as_text).unwrap_or_default()
}

/// Makes the document recognise ports by MAC address: what the kernel calls them differs from machine to machine.
fn identify(document: &Value, ports: &[Port<'_>]) -> Value {
    let mut interfaces: Vec<Value> = elements(document, &["interfaces"]).cloned().collect();
    for Port { name, mac } in ports {
        let known = interfaces.iter().position(|interface| name_of(interface) == *name);
        let mut fields = match known.map(|at| interfaces.swap_remove(at)) {
            Some(Value::Map(fields)) => fields,
            // A port of a bond or bridge need not be listed.
            _ => BTreeMap::from([
                ("name".to_owned(), Value::from(*name)),
                ("type".to_owned(), Value::from("ethernet")),
                ("state".to_owned(), Value::from("up")),
            ]),
        };
        fields.insert("identifier".to_owned(), Value::from("mac-address"));
        fields.insert("mac-address".to_owned(), Value::from(*mac));
        interfaces.push(Value::Map(fields));
    }
    interfaces.sort_by(|one, other| name_of(one).cmp(name_of(other)));
    let mut whole = match document {
        Value::Map(map) => map.clone(),
        _ => BTreeMap::new(),
    };
    whole.insert("interfaces".to_owned(), Value::List(interfaces));
    Value::Map(whole)
}

/// Places an error of the whole document at the interface or route that it names.
fn located(document: &Value, message: &str) -> Refusal {
    let words = || message.split(|c: char| c.is_whitespace() || "'\",:[]()".contains(c));
    let about = |name: &str| !name.is_empty() && words().any(|word| word.trim_end_matches('.') == name);
    let hop = |route: &Value| {
        let text = |key| route.get(key).and_then(Value::as_text).unwrap_or_default();
        message.starts_with("Route ") && about(text("destination")) && about(text("next-hop-address"))
    };
    let route = elements(document, &["routes", "config"]).position(hop);
    let interface = elements(document, &["interfaces"]).position(|one| about(name_of(one)));
    let path = match (route, interface) {
        (Some(index), _) => format!("routes.config.{index}"),
        (None, Some(index)) => format!("interfaces.{index}"),
        (None, None) if message.contains("DNS") => "dns-resolver".to_owned(),
        (None, None) => String::new(),
    };
    Refusal::new(path, message, None)
}

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
