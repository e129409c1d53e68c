//! The templates of /etc/mcc/templates: `<role>/<MachineConfig>/_base/{files,units}/*.yaml`, and `common/_base` for both.
//!
//! A template is YAML; inside of its texts `{{.Name}}` stands for a fact, and `{{if .Name}}…{{else}}…{{end}}` asks whether
//! it is empty. A line with nothing but such a word leaves no line behind. A file whose contents come out empty is none.

use std::collections::BTreeMap;
use std::path::Path;

use super::controller::document;
use super::manifests::text;
use super::value::Value;
use super::{MINOR, encode, merge};

/// What templates may ask for.
pub(super) type Facts = BTreeMap<&'static str, String>;

/// Exactly what a rendered config depends on, beside users' own manifests: no certificate, no name of the cluster, no
/// network but that of the services.
pub(super) fn facts(config: &Value, pull_secret: &str) -> Facts {
    let spec = |path: &[&str]| config.get("spec").map_or("", |spec| spec.text(path)).to_owned();
    let image = |name: &str| spec(&["images", name]);
    let internal = spec(&["infra", "status", "apiServerInternalURI"]);
    let address = internal.split_once("://").map_or("", |(_, rest)| rest).trim_end_matches('/');
    let (host, port) = address.rsplit_once(':').unwrap_or((address, "443"));
    let bundle = encode::unbase64(&spec(&["additionalTrustBundle"])).unwrap_or_default();
    let when = |truth: bool| if truth { "true".to_owned() } else { String::new() };
    BTreeMap::from([
        ("APIServerHost", host.to_owned()),
        ("APIServerPort", port.to_owned()),
        ("ClusterDNSIP", spec(&["clusterDNSIP"])),
        ("HTTPProxy", spec(&["proxy", "httpProxy"])),
        ("HTTPSProxy", spec(&["proxy", "httpsProxy"])),
        ("KubeRbacProxyImage", image("kubeRbacProxyImage")),
        ("MachineConfigOperatorImage", image("machineConfigOperator")),
        ("NetworkType", spec(&["networkType"])),
        ("NoProxy", spec(&["proxy", "noProxy"])),
        ("OVNKubernetes", when(spec(&["networkType"]) == "OVNKubernetes")),
        ("PodImage", image("infraImageKey")),
        ("PullSecret", pull_secret.to_owned()),
        ("RuntimeConfigImage", image("baremetalRuntimeCfgImage")),
        ("SingleReplica", when(spec(&["infra", "status", "controlPlaneTopology"]) == "SingleReplica")),
        ("TrustBundle", String::from_utf8_lossy(&bundle).into_owned()),
        ("Version", MINOR.to_owned()),
    ])
}

/// The MachineConfigs of both roles.
pub(super) fn configs(directory: &str, facts: &Facts) -> Result<Vec<Value>, String> {
    let mut all = Vec::new();
    for role in ["master", "worker"] {
        let mut facts = facts.clone();
        facts.insert("Role", role.to_owned());
        for name in names(&Path::new(directory).join(role))? {
            let mut folders = vec![format!("{directory}/{role}/{name}/_base")];
            if name == format!("00-{role}") {
                folders.insert(0, format!("{directory}/common/_base"));
            }
            let (mut files, mut units) = (Vec::new(), Vec::new());
            for folder in folders {
                for template in templates(&format!("{folder}/files"))? {
                    files.extend(file(&template, &facts)?);
                }
                for template in templates(&format!("{folder}/units"))? {
                    units.push(unit(&template, &facts)?);
                }
            }
            all.push(merge::machine_config(&name, role, files, units));
        }
    }
    Ok(all)
}

fn names(directory: &Path) -> Result<Vec<String>, String> {
    let wrong = |error: std::io::Error| format!("failed to read dir {:?}: {error}", directory.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(wrong)? {
        names.push(entry.map_err(wrong)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn templates(directory: &str) -> Result<Vec<Value>, String> {
    if std::fs::metadata(directory).is_err() {
        return Ok(Vec::new());
    }
    let read = |name: String| {
        let path = format!("{directory}/{name}");
        document(&text(&path)?).map_err(|problem| format!("failed to parse template {path}: {problem}"))
    };
    names(Path::new(directory))?.into_iter().map(read).collect()
}

fn file(template: &Value, facts: &Facts) -> Result<Option<Value>, String> {
    let path = template.text(&["path"]);
    let contents = expand(template.text(&["contents", "inline"]), facts)
        .map_err(|problem| format!("{path}: {problem}"))?;
    let mode = template.text(&["mode"]).parse().map_err(|_| format!("{path}: a template needs a mode"))?;
    Ok((!contents.trim().is_empty()).then(|| merge::file(path, mode, encode::data_url(&contents))))
}

fn unit(template: &Value, facts: &Facts) -> Result<Value, String> {
    let expanded = |value: &Value| match value {
        Value::Text(text) => expand(text, facts).map(Value::Text),
        other => Ok(other.clone()),
    };
    let Value::Map(fields) = template else { return Err("a unit's template is no map".into()) };
    let mut unit = BTreeMap::new();
    for (key, value) in fields {
        let value = match (key.as_str(), value) {
            ("enabled", Value::Text(_)) => Value::Bool(expanded(value)? == Value::from("true")),
            ("dropins", Value::List(list)) => {
                Value::List(list.iter().map(|one| unit_part(one, &expanded)).collect::<Result<_, _>>()?)
            }
            _ => expanded(value)?,
        };
        unit.insert(key.clone(), value);
    }
    Ok(Value::Map(unit))
}

fn unit_part(part: &Value, expanded: &impl Fn(&Value) -> Result<Value, String>) -> Result<Value, String> {
    let Value::Map(fields) = part else { return expanded(part) };
    let fields: Result<_, String> =
        fields.iter().map(|(key, value)| Ok((key.clone(), expanded(value)?))).collect();
    Ok(Value::Map(fields?))
}

/// A text with its facts filled in.
fn expand(text: &str, facts: &Facts) -> Result<String, String> {
    let mut out = String::new();
    // For every open `if`, whether its text is wanted now.
    let mut open: Vec<bool> = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let wanted = open.iter().all(|wanted| *wanted);
        let Some(length) = rest[start..].find("}}") else { return Err("`{{` is never closed".into()) };
        let (before, word) = (&rest[..start], rest[start + 2..start + length].trim());
        rest = &rest[start + length + 2..];
        if wanted {
            out.push_str(before);
        }
        let known = |name: &str| match facts.get(name.trim().trim_start_matches('.')) {
            Some(fact) => Ok(fact),
            None => Err(format!("{name} is no fact")),
        };
        if let Some(name) = word.strip_prefix("if ") {
            open.push(!known(name)?.is_empty());
        } else if word == "else" {
            let last = open.last_mut().ok_or("`else` without `if`")?;
            *last = !*last;
        } else if word == "end" {
            open.pop().ok_or("`end` without `if`")?;
        } else {
            let fact = known(word)?;
            if wanted {
                out.push_str(fact);
            }
            continue;
        }
        let alone = before.is_empty() || before.ends_with('\n');
        if let (true, Some(next)) = (alone, rest.strip_prefix('\n')) {
            rest = next;
        }
    }
    if !open.is_empty() {
        return Err("`if` without `end`".into());
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_and_conditions() {
        let facts = Facts::from([("A", "1".to_owned()), ("B", String::new())]);
        let expand = |text: &str| expand(text, &facts);
        assert_eq!(expand("x={{.A}} y={{ .B }}.").unwrap(), "x=1 y=.");
        assert_eq!(expand("a\n{{if .A}}\nyes\n{{else}}\nno\n{{end}}\nz\n").unwrap(), "a\nyes\nz\n");
        assert_eq!(expand("{{if .B}}\n{{if .A}}\nboth\n{{end}}\n{{end}}\n").unwrap(), "");
        assert_eq!(expand("{{if .B}}y{{else}}n{{end}}").unwrap(), "n");
        for wrong in ["{{.C}}", "{{if .A}}", "{{end}}", "{{else}}", "{{.A"] {
            assert!(expand(wrong).is_err(), "{wrong}");
        }
    }
}
