//! `machine-config-operator bootstrap`: the ControllerConfig and the pools, from the cluster's own CRs.

use std::net::IpAddr;

use super::flags::Flags;
use super::manifests::{metadata, object, put, put_object, text};
use super::value::Value;
use super::{Done, Stop, encode, info, read, version, warning};

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

/// Image references without one of these are refused; the second name is the one in the ControllerConfig.
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

/// Writes `bootstrap/manifests/*` below `--dest-dir`, or below the current directory: the flag is not enforced.
pub(super) fn bootstrap(arguments: &[String]) -> Done<()> {
    let flags = Flags::parse(FLAGS, arguments)?;
    info(&format!("Version: {} (demo)", version()));
    let images = images(flags.get("image-references"))?;
    let wrong = |problem: String| Stop::Fatal(format!("error rendering bootstrap manifests: {problem}"));
    let config = controller_config(&flags, &images).map_err(wrong)?;
    let pull_secret = text(flags.get("pull-secret")).map_err(wrong)?;
    let directory = flags.get("dest-dir");
    put_object(directory, "bootstrap/manifests/machineconfigcontroller-controllerconfig.yaml", &config)?;
    for role in ["master", "worker"] {
        put_object(directory, &format!("bootstrap/manifests/{role}.machineconfigpool.yaml"), &pool(role))?;
    }
    if !pull_secret.is_empty() {
        put(directory, "bootstrap/manifests/machineconfigcontroller-pull-secret", &pull_secret)?;
    }
    put_object(
        directory,
        "bootstrap/machineconfigoperator-bootstrap-pod.yaml",
        &pod(images.text(&["machineConfigOperator"])),
    )
}

/// The images of a release, under the names that the ControllerConfig gives them.
fn images(path: &str) -> Done<Value> {
    let fatal = |problem: String| Stop::Fatal(format!("failed to read {path}: {problem}"));
    if path.is_empty() {
        return Err(Stop::Fatal("the demo needs --image-references".into()));
    }
    let documents = read::documents(&text(path).map_err(fatal)?).map_err(fatal)?;
    let stream = documents.into_iter().next().filter(|stream| stream.kind().1 == "ImageStream");
    let Some(stream) = stream else {
        return Err(Stop::Panic(format!("{path} holds no ImageStream")));
    };
    let find = |name: &str| {
        let is_it =
            |tag: &&Value| tag.text(&["name"]) == name && tag.text(&["from", "kind"]) == "DockerImage";
        stream.list(&["spec", "tags"]).iter().find(is_it).map(|tag| tag.text(&["from", "name"]))
    };
    let mut images = std::collections::BTreeMap::new();
    for (name, key) in NEEDED {
        let Some(image) = find(name) else {
            return Err(Stop::Fatal(format!("Failed to find {name} in image references")));
        };
        images.insert((*key).to_owned(), image.into());
    }
    for (name, key, what) in [
        ("rhel-coreos", "os", "Base OS container"),
        ("rhel-coreos-extensions", "extensions", "Base OS extensions container"),
    ] {
        if find(name).is_none() {
            warning(&format!("{what} not found: could not find {name} in images"));
        }
        images.insert(key.to_owned(), find(name).unwrap_or_default().into());
    }
    Ok(Value::Map(images))
}

fn controller_config(flags: &Flags, images: &Value) -> Result<Value, String> {
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
    let bundle = match text(flags.get("additional-trust-bundle-config-file")) {
        Ok(_) => {
            let map = object(flags.get("additional-trust-bundle-config-file"), "", "ConfigMap")?;
            map.text(&["data", "ca-bundle.crt"]).to_owned()
        }
        Err(_) => String::new(),
    };
    let (mut os, mut rest) = (images.clone(), images.clone());
    if let (Value::Map(os), Value::Map(rest)) = (&mut os, &mut rest) {
        os.retain(|key, _| key == "os" || key == "extensions");
        rest.retain(|key, _| key != "os" && key != "extensions");
    }
    let mut spec = Value::from([
        ("additionalTrustBundle", encode::base64(bundle.as_bytes()).into()),
        ("baseOSContainerImage", os.text(&["os"]).into()),
        ("baseOSExtensionsContainerImage", os.text(&["extensions"]).into()),
        ("cloudProviderConfig", "".into()),
        ("clusterDNSIP", cluster_dns(&network)?.into()),
        ("dns", dns),
        ("images", rest),
        ("infra", infrastructure.clone()),
        ("ipFamilies", ip_families(&network).into()),
        ("kubeAPIServerServingCAData", encode::base64(kube_ca.as_bytes()).into()),
        ("networkType", network.text(&["spec", "networkType"]).into()),
        ("osImageURL", "".into()),
        ("platform", infrastructure.text(&["status", "platformStatus", "type"]).to_lowercase().into()),
        ("releaseImage", flags.get("release-image").into()),
        ("rootCAData", encode::base64(format!("{root_ca}{kube_ca}").as_bytes()).into()),
    ]);
    if let (Value::Map(spec), Some(status @ Value::Map(_))) = (&mut spec, proxy.get("status")) {
        spec.insert("proxy".into(), status.clone());
    }
    let annotations = vec![
        ("machineconfiguration.openshift.io/generated-by-version".to_owned(), version().into()),
        ("machineconfiguration.openshift.io/release-image-version".to_owned(), release_version(flags).into()),
    ];
    Ok(Value::from([
        ("apiVersion", "machineconfiguration.openshift.io/v1".into()),
        ("kind", "ControllerConfig".into()),
        ("metadata", metadata("machine-config-controller", annotations, Vec::new())),
        ("spec", spec),
    ]))
}

/// The payload's version, or what the environment says instead: so the environment must be empty.
pub(super) fn release_version(flags: &Flags) -> String {
    std::env::var("RELEASE_VERSION").unwrap_or_else(|_| flags.get("payload-version").to_owned())
}

/// The tenth address of the first service network.
fn cluster_dns(network: &Value) -> Result<String, String> {
    let Some(Value::Text(range)) = network.list(&["spec", "serviceNetwork"]).first() else {
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
    match network.list(&["spec", "serviceNetwork"]) {
        [Value::Text(range)] if range.contains(':') => "IPv6",
        [_, _, ..] => "DualStack",
        _ => "IPv4",
    }
}

fn pool(role: &str) -> Value {
    let label = |key: String, value: &str| Value::Map([(key, value.into())].into());
    let labels = vec![
        ("machineconfiguration.openshift.io/mco-built-in".to_owned(), "".into()),
        (format!("pools.operator.machineconfiguration.openshift.io/{role}"), "".into()),
    ];
    Value::from([
        ("apiVersion", "machineconfiguration.openshift.io/v1".into()),
        ("kind", "MachineConfigPool".into()),
        ("metadata", metadata(role, Vec::new(), labels)),
        (
            "spec",
            Value::from([
                (
                    "machineConfigSelector",
                    Value::from([(
                        "matchLabels",
                        label("machineconfiguration.openshift.io/role".into(), role),
                    )]),
                ),
                (
                    "nodeSelector",
                    Value::from([("matchLabels", label(format!("node-role.kubernetes.io/{role}"), ""))]),
                ),
            ]),
        ),
    ])
}

/// What would run the controller and the server on the bootstrap node.
fn pod(image: &str) -> Value {
    let container = Value::from([
        ("command", vec!["/usr/bin/machine-config-controller".into(), "bootstrap".into()].into()),
        ("image", image.into()),
        ("name", "machine-config-controller".into()),
    ]);
    let mut metadata = metadata("bootstrap-machine-config-operator", Vec::new(), Vec::new());
    if let Value::Map(metadata) = &mut metadata {
        metadata.insert("namespace".into(), "openshift-machine-config-operator".into());
    }
    Value::from([
        ("apiVersion", "v1".into()),
        ("kind", "Pod".into()),
        ("metadata", metadata),
        ("spec", Value::from([("hostNetwork", true.into()), ("initContainers", vec![container].into())])),
    ])
}
