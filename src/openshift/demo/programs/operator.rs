//! `machine-config-operator bootstrap`: renders the ControllerConfig and the pools from the cluster's own CRs.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::super::payload::named;
use super::flags::Flags;
use super::manifests::{document, items, kind, metadata, object, text};
use super::on_prem::OnPrem;
use super::{Build, Done, Stop};

const FLAGS: &[(&str, &str)] = &[
    ("root-ca", "/etc/ssl/kubernetes/ca.crt"),
    ("kube-ca", ""),
    ("config-file", ""),
    ("dest-dir", ""),
    ("pull-secret", "/assets/manifests/pull.json"),
    ("release-image", ""),
    ("image-references", ""),
    ("payload-version", ""),
    ("infra-config-file", "/assets/manifests/cluster-infrastructure-02-config.yml"),
    ("network-config-file", "/assets/manifests/cluster-network-02-config.yml"),
    ("dns-config-file", "/assets/manifests/cluster-dns-02-config.yml"),
    ("proxy-config-file", "/assets/manifests/cluster-proxy-01-config.yaml"),
    ("additional-trust-bundle-config-file", "/assets/manifests/user-ca-bundle-config.yaml"),
    ("cloud-config-file", ""),
    ("cloud-provider-ca-file", ""),
];

/// Required components; the second name is the one in the ControllerConfig.
const NEEDED: &[(&str, &str)] = &[
    ("machine-config-operator", "machineConfigOperator"),
    ("keepalived-ipfailover", "keepalivedImage"),
    ("coredns", "corednsImage"),
    ("baremetal-runtimecfg", "baremetalRuntimeCfgImage"),
    ("oauth-proxy", "oauthProxyImage"),
    ("kube-rbac-proxy", "kubeRbacProxyImage"),
    ("pod", "infraImageKey"),
    ("haproxy-router", "haproxyImage"),
];

/// Optional images, missing with a warning: the name in the ControllerConfig, and the name in the warning.
const OPTIONAL: &[(&str, &str, &str)] = &[
    ("node-os", "baseOSContainerImage", "Base OS container"),
    ("node-os-extensions", "baseOSExtensionsContainerImage", "Base OS extensions container"),
];

/// Writes `bootstrap/manifests/*` below `--dest-dir`, or below the current directory: the flag is not required.
pub(super) fn bootstrap(build: &Build<'_>, arguments: &[String]) -> Done<()> {
    let flags = Flags::parse(FLAGS, arguments)?;
    build.info(&format!("Version: {} (demo)", build.version()));
    let images = build.images(flags.get("image-references"))?;
    let wrong = |problem: String| Stop::Fatal(format!("error rendering bootstrap manifests: {problem}"));
    let config = build.controller_config(&flags, &images).map_err(wrong)?;
    let pull_secret = text(flags.get("pull-secret")).map_err(wrong)?;
    let directory = flags.get("dest-dir");
    build.put_object(
        directory,
        "bootstrap/manifests/machineconfigcontroller-controllerconfig.yaml",
        &config,
    )?;
    for role in ["master", "worker"] {
        let file = format!("bootstrap/manifests/{role}.machineconfigpool.yaml");
        build.put_object(directory, &file, &pool(role))?;
    }
    if !pull_secret.is_empty() {
        build.put(directory, "bootstrap/manifests/machineconfigcontroller-pull-secret", &pull_secret)?;
    }
    if let Some(on_prem) = OnPrem::of(&config["spec"]) {
        on_prem.bootstrap(build, directory)?;
    }
    let pod = pod(&images.needed["machineConfigOperator"]);
    build.put_object(directory, "bootstrap/machineconfigoperator-bootstrap-pod.yaml", &pod)
}

/// The images of a release, under their names in the ControllerConfig.
struct Images {
    needed: Map<String, Value>,
    optional: Map<String, Value>,
}

impl Build<'_> {
    fn images(&self, path: &str) -> Done<Images> {
        let fatal = |problem: String| Stop::Fatal(format!("failed to read {path}: {problem}"));
        if path.is_empty() {
            return Err(Stop::Fatal("the demo needs --image-references".into()));
        }
        let stream = document(path, &text(path).map_err(fatal)?).map_err(fatal)?;
        if kind(&stream).1 != "ImageStream" {
            return Err(Stop::Panic(format!("{path} holds no ImageStream")));
        }
        let find = |name: &str| {
            let is_it = |tag: &&Value| tag["name"] == name && tag["from"]["kind"] == "DockerImage";
            items(&stream["spec"]["tags"]).iter().find(is_it).map(|tag| tag["from"]["name"].clone())
        };
        // OKD's build of the program looks for other names; this one is told by the release.
        let named_okd = stream["metadata"]["name"].as_str().filter(|name| name.contains("-okd-"));
        let version = named_okd.unwrap_or(self.minor);
        let (mut needed, mut optional) = (Map::new(), Map::new());
        for (component, key) in NEEDED {
            let name = named(version, component);
            let Some(image) = find(name) else {
                return Err(Stop::Fatal(format!("Failed to find {name} in image references")));
            };
            needed.insert((*key).to_owned(), image);
        }
        for (component, key, what) in OPTIONAL {
            let name = named(version, component);
            let image = find(name).unwrap_or_else(|| {
                self.warning(&format!("{what} not found: could not find {name} in images"));
                "".into()
            });
            optional.insert((*key).to_owned(), image);
        }
        Ok(Images { needed, optional })
    }

    fn controller_config(&self, flags: &Flags, images: &Images) -> Result<Value, String> {
        let root_ca = text(flags.get("root-ca"))?;
        let kube_ca = match flags.get("kube-ca") {
            "" => String::new(),
            path => text(path)?,
        };
        object(flags.get("config-file"), "", "ConfigMap")?;
        let config = |flag: &str, kind: &str| object(flags.get(flag), "config.openshift.io", kind);
        let infrastructure = config("infra-config-file", "Infrastructure")?;
        let network = config("network-config-file", "Network")?;
        let dns = config("dns-config-file", "DNS")?;
        let proxy = config("proxy-config-file", "Proxy")?;
        let bundle = match flags.get("additional-trust-bundle-config-file") {
            path if text(path).is_ok() => object(path, "", "ConfigMap")?["data"]["ca-bundle.crt"].clone(),
            _ => Value::Null,
        };
        let platform = infrastructure["status"]["platformStatus"]["type"].as_str().unwrap_or_default();
        let mut spec = json!({
            "additionalTrustBundle": STANDARD.encode(bundle.as_str().unwrap_or_default()),
            "cloudProviderConfig": "",
            "clusterDNSIP": cluster_dns(&network)?,
            "dns": dns,
            "images": images.needed,
            "infra": infrastructure,
            "ipFamilies": ip_families(&network),
            "kubeAPIServerServingCAData": STANDARD.encode(&kube_ca),
            "networkType": network["spec"]["networkType"].as_str().unwrap_or_default(),
            "osImageURL": "",
            "platform": platform.to_lowercase(),
            "releaseImage": flags.get("release-image"),
            "rootCAData": STANDARD.encode(format!("{root_ca}{kube_ca}")),
        });
        for (key, image) in &images.optional {
            spec[key] = image.clone();
        }
        if proxy["status"].is_object() {
            spec["proxy"] = proxy["status"].clone();
        }
        let version = self.version();
        let annotations = [
            ("machineconfiguration.openshift.io/generated-by-version", version.as_str()),
            ("machineconfiguration.openshift.io/release-image-version", self.release_version(flags)),
        ];
        Ok(json!({
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "ControllerConfig",
            "metadata": metadata("machine-config-controller", &annotations, &[]),
            "spec": spec,
        }))
    }

    /// The payload's version, unless the environment overrides it: so the environment must be empty.
    pub(super) fn release_version<'a>(&'a self, flags: &'a Flags) -> &'a str {
        self.release_version.unwrap_or_else(|| flags.get("payload-version"))
    }
}

/// The tenth address of the first service network.
fn cluster_dns(network: &Value) -> Result<String, String> {
    let Some(range) = network["spec"]["serviceNetwork"][0].as_str() else {
        return Err("could not derive the cluster DNS IP: network.spec.serviceNetwork is empty".into());
    };
    let address = range.split_once('/').and_then(|(address, _)| address.parse().ok());
    match address {
        Some(IpAddr::V4(base)) => Ok(std::net::Ipv4Addr::from(u32::from(base).wrapping_add(10)).to_string()),
        Some(IpAddr::V6(base)) => Ok(std::net::Ipv6Addr::from(u128::from(base).wrapping_add(10)).to_string()),
        None => Err(format!("could not derive the cluster DNS IP: invalid CIDR address: {range}")),
    }
}

fn ip_families(network: &Value) -> &'static str {
    match items(&network["spec"]["serviceNetwork"]) {
        [Value::String(range)] if range.contains(':') => "IPv6",
        [_, _, ..] => "DualStack",
        _ => "IPv4",
    }
}

fn pool(role: &str) -> Value {
    let own = format!("pools.operator.machineconfiguration.openshift.io/{role}");
    let labels = [("machineconfiguration.openshift.io/mco-built-in", ""), (&*own, "")];
    let node = format!("node-role.kubernetes.io/{role}");
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfigPool",
        "metadata": metadata(role, &[], &labels),
        "spec": {
            "machineConfigSelector": {"matchLabels": {"machineconfiguration.openshift.io/role": role}},
            "nodeSelector": {"matchLabels": {node: ""}},
        },
    })
}

/// The pod that would run the controller and the server on the bootstrap node.
fn pod(image: &Value) -> Value {
    let mut metadata = metadata("bootstrap-machine-config-operator", &[], &[]);
    metadata["namespace"] = "openshift-machine-config-operator".into();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "hostNetwork": true,
            "initContainers": [{
                "command": ["/usr/bin/machine-config-controller", "bootstrap"],
                "image": image,
                "name": "machine-config-controller",
            }],
        },
    })
}
