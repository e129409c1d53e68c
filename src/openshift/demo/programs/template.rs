//! The templates of /etc/mcc/templates: `<role>/<MachineConfig>/_base/{files,units}/*.yaml`, and `common/_base` for
//! both.
//!
//! A template is YAML; in its texts, `{{.Name}}` is replaced by a fact, and `{{if .Name}}…{{else}}…{{end}}` tests
//! whether it is empty. A line with nothing but such a directive disappears. A file with empty contents is omitted.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::controller::decoded;
use super::manifests::{document, scalar, text};
use super::on_prem::OnPrem;
use super::{Build, merge};
use crate::base::fs;
use crate::openshift::ignition;

/// The values that templates can use.
type Facts = BTreeMap<&'static str, String>;

impl Build<'_> {
    /// The MachineConfigs of both roles.
    pub(super) fn render_templates(
        &self,
        directory: &str,
        config: &Value,
        pull_secret: &str,
    ) -> Result<Vec<Value>, String> {
        let mut facts = self.facts(&config["spec"], pull_secret);
        let mut all = Vec::new();
        for role in ["master", "worker"] {
            facts.insert("Role", role.to_owned());
            for name in names(&format!("{directory}/{role}"))? {
                let mut folders = vec![format!("{directory}/{role}/{name}/_base")];
                if name == format!("00-{role}") {
                    folders.insert(0, format!("{directory}/common/_base"));
                }
                let (mut files, mut units) = (Vec::new(), Vec::new());
                if let (true, Some(on_prem)) = (name == format!("00-{role}"), OnPrem::of(&config["spec"])) {
                    files.extend(on_prem.files(role));
                }
                for folder in folders {
                    for template in templates(&format!("{folder}/files"))? {
                        files.extend(file(&template, &facts)?);
                    }
                    for template in templates(&format!("{folder}/units"))? {
                        units.push(unit(&template, &facts)?);
                    }
                }
                all.push(self.machine_config(&name, role, files, units));
            }
        }
        Ok(all)
    }

    /// Exactly what a rendered config depends on, besides users' own manifests: no certificate, no cluster name, no
    /// network but that of the services.
    fn facts(&self, spec: &Value, pull_secret: &str) -> Facts {
        let image = |name: &str| scalar(&spec["images"][name]);
        let (network, status) = (scalar(&spec["networkType"]), &spec["infra"]["status"]);
        let internal = scalar(&status["apiServerInternalURI"]);
        let address = internal.split_once("://").map_or("", |(_, rest)| rest).trim_end_matches('/');
        let (host, port) = address.rsplit_once(':').unwrap_or((address, "443"));
        let when = |truth: bool| if truth { "true".to_owned() } else { String::new() };
        BTreeMap::from([
            ("APIServerHost", host.to_owned()),
            ("APIServerPort", port.to_owned()),
            ("ClusterDNSIP", scalar(&spec["clusterDNSIP"])),
            ("HTTPProxy", scalar(&spec["proxy"]["httpProxy"])),
            ("HTTPSProxy", scalar(&spec["proxy"]["httpsProxy"])),
            ("KubeRbacProxyImage", image("kubeRbacProxyImage")),
            ("MachineConfigOperatorImage", image("machineConfigOperator")),
            ("NoProxy", scalar(&spec["proxy"]["noProxy"])),
            ("OVNKubernetes", when(network == "OVNKubernetes")),
            ("NetworkType", network),
            ("PodImage", image("infraImageKey")),
            ("PullSecret", pull_secret.to_owned()),
            ("RuntimeConfigImage", image("baremetalRuntimeCfgImage")),
            ("SingleReplica", when(status["controlPlaneTopology"] == "SingleReplica")),
            ("TrustBundle", decoded(&spec["additionalTrustBundle"])),
            ("Version", self.minor.to_owned()),
        ])
    }
}

fn names(directory: &str) -> Result<Vec<String>, String> {
    let names = fs::list(Path::new(directory))
        .map_err(|error| format!("failed to read dir {directory:?}: {}", error.source))?;
    Ok(names.into_iter().map(|name| name.to_string_lossy().into_owned()).collect())
}

fn templates(directory: &str) -> Result<Vec<Value>, String> {
    if !fs::exists(Path::new(directory)).unwrap_or(false) {
        return Ok(Vec::new());
    }
    let read = |name: String| {
        let path = format!("{directory}/{name}");
        document(&path, &text(&path)?).map_err(|problem| format!("failed to parse template {problem}"))
    };
    names(directory)?.into_iter().map(read).collect()
}

fn file(template: &Value, facts: &Facts) -> Result<Option<Value>, String> {
    let path = scalar(&template["path"]);
    let contents = expand(&scalar(&template["contents"]["inline"]), facts)
        .map_err(|problem| format!("{path}: {problem}"))?;
    let mode = template["mode"].as_u64().and_then(|mode| u32::try_from(mode).ok());
    let mode = mode.ok_or_else(|| format!("{path}: a template needs a mode"))?;
    let source = ignition::encode(contents.as_bytes());
    Ok((!contents.trim().is_empty()).then(|| merge::file(&path, mode, source)))
}

/// A unit, with the facts filled into all its texts.
fn unit(template: &Value, facts: &Facts) -> Result<Value, String> {
    let mut unit = expanded(template, facts)?;
    if let Some(enabled @ Value::String(_)) = unit.get_mut("enabled") {
        *enabled = (*enabled == "true").into();
    }
    Ok(unit)
}

fn expanded(value: &Value, facts: &Facts) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => expand(text, facts)?.into(),
        Value::Array(list) => list.iter().map(|one| expanded(one, facts)).collect::<Result<_, _>>()?,
        Value::Object(map) => {
            let fields = map.iter().map(|(key, value)| Ok((key.clone(), expanded(value, facts)?)));
            fields.collect::<Result<Map<_, _>, String>>()?.into()
        }
        other => other.clone(),
    })
}

/// Fills the facts into a text.
fn expand(text: &str, facts: &Facts) -> Result<String, String> {
    let mut out = String::new();
    // For every open `if`, whether its text is included now.
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
            None => Err(format!("{name} is not a fact")),
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
