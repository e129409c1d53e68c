//! `machine-config-controller bootstrap`: renders a directory of manifests and the templates into one MachineConfig
//! per pool.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use serde_json::{Value, json};

use super::flags::Flags;
use super::manifests::{directory, items, kind, metadata, name, object, selects};
use super::{Build, Done, Stop, go_yaml, streams};
use crate::base::json::compacted;
use crate::openshift::builders::RENDERED_SALT;

const FLAGS: &[(&str, &str)] = &[
    ("manifest-dir", ""),
    ("dest-dir", ""),
    ("pull-secret", ""),
    ("payload-version", ""),
    ("templates", "/etc/mcc/templates"),
];

/// Feature gates that a build queries, and the first one that no longer does: it panics if the FeatureGate does not list them.
const ASKED: [(&str, Option<&str>); 2] = [("NodeSwap", Some("4.21")), (SIGSTORE, None)];

pub(super) const SIGSTORE: &str = "SigstoreImageVerification";

/// Writes `machine-configs`, `machine-pools` and `controller-config` below `--dest-dir`.
pub(super) fn bootstrap(build: &Build<'_>, arguments: &[String]) -> Done<()> {
    let flags = Flags::parse(FLAGS, arguments)?;
    build.info(&format!("Version: {} (demo)", build.version()));
    let wrong = |problem: String| Stop::Fatal(format!("error running MCC[BOOTSTRAP]: {problem}"));
    let objects = directory(flags.get("manifest-dir"), "error running MCC[BOOTSTRAP]")?;
    let pull_secret = pull_secret(flags.get("pull-secret")).map_err(wrong)?;
    let of = |group: &'static str, wanted: &'static str| {
        objects.iter().filter(move |object| kind(object) == (group, wanted))
    };
    let none = |what: &str| wrong(format!("error: no {what} found in dir: {:?}", flags.get("manifest-dir")));
    let config = of("machineconfiguration.openshift.io", "ControllerConfig")
        .next_back()
        .ok_or_else(|| none("controllerconfig"))?;
    let gate = of("config.openshift.io", "FeatureGate")
        .rfind(|gate| name(gate) == "cluster")
        .ok_or_else(|| none("featuregate"))?;
    let gates = build.gates(gate, flags.get("payload-version"))?;
    build.same_build(config).map_err(wrong)?;
    let config = &build.with_stream(config, &objects, &gates).map_err(wrong)?;

    let mut configs: Vec<Value> = of("machineconfiguration.openshift.io", "MachineConfig").cloned().collect();
    configs.extend(build.render_templates(flags.get("templates"), config, &pull_secret).map_err(wrong)?);
    // The last of several pools with the same name: a user's comes after the built-in one.
    let pools: BTreeMap<&str, &Value> =
        of("machineconfiguration.openshift.io", "MachineConfigPool").map(|pool| (name(pool), pool)).collect();
    build.generate(&mut configs, &objects, &pools, &gates).map_err(wrong)?;

    for (pool_name, pool) in pools {
        let (rendered, sources) =
            build.render(pool, &configs, config, build.release_version(&flags)).map_err(wrong)?;
        let pool = with_configuration(pool, name(&rendered), &sources);
        build.put_object(flags.get("dest-dir"), &format!("machine-pools/{pool_name}.yaml"), &pool)?;
        let file = format!("machine-configs/{}.yaml", name(&rendered));
        build.put_object(flags.get("dest-dir"), &file, &rendered)?;
    }
    build.info(&format!("writing the following controllerConfig to disk: {}", go_yaml::write(config)));
    build.put_object(flags.get("dest-dir"), "controller-config/machine-config-controller.yaml", config)
}

/// The text of the pull secret, from its Secret.
fn pull_secret(path: &str) -> Result<String, String> {
    let secret = object(path, "", "Secret")?;
    let kind = secret["type"].as_str().unwrap_or_default();
    if kind != "kubernetes.io/dockerconfigjson" {
        return Err(format!("expected secret type kubernetes.io/dockerconfigjson found {kind}"));
    }
    let text = match secret["stringData"][".dockerconfigjson"].as_str() {
        Some(plain) => plain.to_owned(),
        None => decoded(&secret["data"][".dockerconfigjson"]),
    };
    if text.is_empty() {
        return Err("the pull secret has no .dockerconfigjson".into());
    }
    compacted(&text).ok_or_else(|| "couldn't compact pullsecret: it is not JSON".to_owned())
}

/// Decodes a base64 field; empty if it has no text.
pub(super) fn decoded(field: &Value) -> String {
    let text: String = field.as_str().unwrap_or_default().split_whitespace().collect();
    STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

impl Build<'_> {
    /// Every gate of this version, and whether it is enabled.
    fn gates(&self, gate: &Value, version: &str) -> Done<BTreeMap<String, bool>> {
        let Some(these) =
            items(&gate["status"]["featureGates"]).iter().find(|gates| gates["version"] == version)
        else {
            return Err(Stop::Fatal(format!(
                "error running MCC[BOOTSTRAP]: error creating feature gates handler: unable to determine features: \
                 missing desired version {version:?} in featuregates.config.openshift.io/cluster"
            )));
        };
        let named = |list: &str, on: bool| {
            let names = items(&these[list]).iter().filter_map(|gate| gate["name"].as_str());
            names.map(|name| (name.to_owned(), on)).collect::<Vec<_>>()
        };
        let gates: BTreeMap<_, _> =
            named("disabled", false).into_iter().chain(named("enabled", true)).collect();
        let asked = |(_, until): &&(&str, Option<&str>)| until.is_none_or(|until| !self.is_from(until));
        match ASKED.iter().filter(asked).find(|(asked, _)| !gates.contains_key(*asked)) {
            Some((asked, _)) => {
                Err(Stop::Panic(format!("feature {asked:?} is not registered in FeatureGates")))
            }
            None => Ok(gates),
        }
    }

    /// Both programs are one build: they reject the output of another version.
    fn same_build(&self, config: &Value) -> Result<(), String> {
        let (key, own) = ("machineconfiguration.openshift.io/generated-by-version", self.version());
        match config["metadata"]["annotations"][key].as_str().unwrap_or_default() {
            "" => Err(format!(
                "Ignoring controller config generated without {key} annotation (my version: {own})"
            )),
            by if by == own => Ok(()),
            by => Err(format!("Ignoring controller config generated from {by} (my version: {own})")),
        }
    }

    /// The ControllerConfig, with the OS images of the default stream if this build knows streams and they are enabled.
    fn with_stream(
        &self,
        config: &Value,
        objects: &[Value],
        gates: &BTreeMap<String, bool>,
    ) -> Result<Value, String> {
        let mut config = config.clone();
        if self.is_from("4.21") && gates.get(streams::GATE) == Some(&true) {
            let stream = self.default_stream(objects)?;
            config["spec"]["baseOSContainerImage"] = stream.image.into();
            config["spec"]["baseOSExtensionsContainerImage"] = stream.extensions.into();
        }
        Ok(config)
    }

    /// Renders one pool's MachineConfig; returns it with the names of its sources.
    fn render<'a>(
        &self,
        pool: &Value,
        configs: &'a [Value],
        config: &Value,
        release: &str,
    ) -> Result<(Value, Vec<&'a str>), String> {
        let mut mine: Vec<&Value> = configs
            .iter()
            .filter(|config| selects(&pool["spec"]["machineConfigSelector"], &config["metadata"]["labels"]))
            .collect();
        mine.sort_by_key(|config| name(config));
        let names: Vec<&str> = mine.iter().map(|config| name(config)).collect();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("two MachineConfigs are named {}", twice[0]));
        }
        let image = |field: &str| config["spec"][field].as_str().unwrap_or_default();
        if image("baseOSContainerImage").is_empty() {
            self.warning("No BaseOSContainerImage set");
        }
        let spec =
            self.merge(&mine, image("baseOSContainerImage"), image("baseOSExtensionsContainerImage"))?;
        let version = self.version();
        let annotations = [
            ("machineconfiguration.openshift.io/generated-by-controller-version", version.as_str()),
            ("machineconfiguration.openshift.io/release-image-version", release),
        ];
        let rendered = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "MachineConfig",
            "metadata": metadata(&rendered_name(name(pool), &spec), &annotations, &[]),
            "spec": spec,
        });
        Ok((rendered, names))
    }
}

/// A rendered config is named after its content.
pub(super) fn rendered_name(pool: &str, spec: &Value) -> String {
    let digest = Md5::new().chain_update(RENDERED_SALT).chain_update(go_yaml::write(spec)).finalize();
    format!("rendered-{pool}-{:032x}", u128::from_be_bytes(digest.into()))
}

/// The pool, pointing to its rendered config.
fn with_configuration(pool: &Value, name: &str, sources: &[&str]) -> Value {
    let source = |name: &&str| json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig", "name": name});
    let configuration = json!({"name": name, "source": sources.iter().map(source).collect::<Vec<_>>()});
    let mut pool = pool.clone();
    if pool["spec"].is_object() {
        pool["spec"]["configuration"] = configuration.clone();
    }
    pool["status"] = json!({"configuration": configuration});
    pool
}
