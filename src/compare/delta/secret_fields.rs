//! Hides the secret values of an object as [`Data::Hidden`], which nothing can show.

use super::data::{Data, Map};
use super::ignition;

/// This annotation may contain a copy of the whole object.
const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The machine-config operator's objects: public but for the contents of files, which are judged one by one.
const MCO: &str = "machineconfiguration.openshift.io/";
/// Fields of a kubeconfig's user that are not secret.
const USER: [&str; 7] = [
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "username",
    "tokenFile",
    "as",
    "as-groups",
];

/// Hides secrets. `masked`: everything that is not known to be public.
pub(super) fn hide_secrets(data: &mut Data, masked: bool) {
    if is_ignition(data) {
        return files(data);
    }
    if is_kubeconfig(data) {
        return kubeconfig(data);
    }
    let kind = data.get("kind").and_then(Data::text).unwrap_or_default().to_owned();
    let group = data.get("apiVersion").and_then(Data::text).unwrap_or_default();
    if masked && !group.starts_with(MCO) {
        return object(data, &kind);
    }
    if kind == "Secret" {
        secret(data);
    }
    if kind == "MachineConfig" {
        at_mut(data, &["spec", "config"]).into_iter().for_each(files);
    }
    if masked {
        annotations(data);
    }
    auths(data);
}

pub(super) fn is_ignition(data: &Data) -> bool {
    data.at(&["ignition", "version"]).is_some_and(|version| version.text().is_some())
        && data.get("kind").is_none()
}

pub(super) fn is_kubeconfig(data: &Data) -> bool {
    data.get("kind").and_then(Data::text) == Some("Config")
        && data.get("apiVersion").and_then(Data::text) == Some("v1")
        && (data.get("clusters").is_some() || data.get("users").is_some())
}

/// Hides the values of a Secret, and the annotation that repeats them.
fn secret(data: &mut Data) {
    let Data::Map(map) = data else { return };
    for key in ["data", "stringData"] {
        map.get_mut(key).into_iter().for_each(hide);
    }
    annotations(data);
}

/// Hides the contents of a config's secret files.
fn files(config: &mut Data) {
    let Some(Data::List(files)) = at_mut(config, &["storage", "files"]) else { return };
    for file in files {
        if file.map().is_some_and(ignition::is_secret) {
            at_mut(file, &["contents", "source"]).into_iter().for_each(hide);
        }
    }
}

fn at_mut<'d>(data: &'d mut Data, way: &[&str]) -> Option<&'d mut Data> {
    way.iter().try_fold(data, |data, key| match data {
        Data::Map(map) => map.get_mut(*key),
        _ => None,
    })
}

/// Hides the annotation that repeats the object.
fn annotations(data: &mut Data) {
    if let Data::Map(map) = data
        && let Some(Data::Map(metadata)) = map.get_mut("metadata")
        && let Some(Data::Map(annotations)) = metadata.get_mut("annotations")
    {
        annotations.get_mut(APPLIED).into_iter().for_each(hide);
    }
}

/// Handles an object in a secret file: only its identity stays.
fn object(data: &mut Data, kind: &str) {
    let Data::Map(map) = data else { return hide(data) };
    let is_object = map.contains_key("apiVersion") && !kind.is_empty();
    for (key, value) in map.iter_mut() {
        match key.as_str() {
            "apiVersion" | "kind" if is_object => {}
            "type" if kind == "Secret" => {}
            "metadata" if is_object => metadata(value),
            _ => hide(value),
        }
    }
}

fn metadata(data: &mut Data) {
    let Data::Map(map) = data else { return hide(data) };
    for (key, value) in map.iter_mut() {
        match (key.as_str(), value) {
            ("name" | "namespace" | "labels", _) => {}
            ("annotations", Data::Map(annotations)) => {
                annotations.get_mut(APPLIED).into_iter().for_each(hide);
            }
            (_, value) => hide(value),
        }
    }
}

fn kubeconfig(data: &mut Data) {
    let Data::Map(map) = data else { return };
    let Some(Data::List(users)) = map.get_mut("users") else { return };
    for user in users {
        let Data::Map(user) = user else {
            hide(user);
            continue;
        };
        match user.get_mut("user") {
            Some(Data::Map(fields)) => {
                let secret = |(key, _): &(&String, &mut Data)| !USER.contains(&key.as_str());
                fields.iter_mut().filter(secret).for_each(|(_, value)| hide(value));
            }
            other => other.into_iter().for_each(hide),
        }
    }
}

/// Hides registry credentials, at any depth.
fn auths(data: &mut Data) {
    match data {
        Data::Map(map) => {
            for (key, value) in map.iter_mut() {
                if key == "auths" && is_auths(value) { hide(value) } else { auths(value) }
            }
        }
        Data::List(items) => items.iter_mut().for_each(auths),
        _ => {}
    }
}

fn is_auths(data: &Data) -> bool {
    let entry = |map: &Map| map.values().all(|value| value.map().is_some());
    data.map().is_some_and(entry)
}

fn hide(data: &mut Data) {
    match data {
        Data::Map(map) => map.values_mut().for_each(hide),
        Data::List(items) => items.iter_mut().for_each(hide),
        Data::Text(text) => *data = Data::Hidden(std::mem::take(text)),
        // A number differs from the text that looks like it.
        Data::Number(number) => *data = Data::Hidden(format!("\0{}", super::data::number(number))),
        Data::Bool(value) => *data = Data::Hidden(format!("\0{value}")),
        Data::Null | Data::Hidden(_) => {}
    }
}
