//! `check/schemas`: our manifests fit the CRDs of every release we have, and each way to break one is found and named.

use std::collections::BTreeMap;
use std::fs;

use crate::harness::{Workspace, list};
use crate::release::{data, pack::Pack};

/// A manifest of ours, what is changed in it, and the field that must be named. Of alternatives (`a|b`: YAML, JSON) the
/// one that is there counts.
/// A manifest, what is replaced by what in it (alternatives between `|`), and what the check says.
type Mutation = (&'static str, &'static str, &'static str, &'static str);

const MUTATIONS: [Mutation; 37] = [
    (
        "cluster-dns-02-config",
        "\n  baseDomain:",
        "\n  baseDomian:",
        "spec.baseDomian: this field does not exist",
    ),
    (
        "cluster-dns-02-config",
        "\nstatus",
        "\n  platform: {type: Nope}\nstatus",
        "spec.platform.type: `Nope` is not one of",
    ),
    (
        "cluster-dns-02-config",
        "\nstatus",
        "\n  platform: {}\nstatus",
        "spec.platform.type: it is required but missing",
    ),
    (
        "cluster-dns-02-config",
        "baseDomain: ocp4.example.com",
        "baseDomain: 4.10",
        "spec.baseDomain: `4.10` is a number, not a string",
    ),
    ("cluster-dns-02-config", "\nspec:", "\nspek:", "spec: it is required but missing"),
    (
        "cluster-dns-02-config",
        "name: cluster",
        "name: Cluster",
        "metadata.name: `Cluster` is not a valid name",
    ),
    (
        "cluster-dns-02-config",
        "name: cluster",
        "name: cluster\n  lables: {}",
        "metadata.lables: this field does not exist",
    ),
    (
        "cluster-dns-02-config",
        "name: cluster",
        "name: cluster\n  labels: {a b: c}",
        "metadata.labels[a b]: the key must be",
    ),
    (
        "cluster-network-02-config",
        "hostPrefix: 23\n  externalIP",
        "hostPrefix: '23'\n  externalIP",
        "spec.clusterNetwork[0].hostPrefix: `23` is a string, not an integer",
    ),
    (
        "cluster-network-02-config",
        "hostPrefix: 23\n  externalIP",
        "hostPrefix: -1\n  externalIP",
        "spec.clusterNetwork[0].hostPrefix: `-1` is too small",
    ),
    (
        "cluster-network-02-config",
        "\n  externalIP",
        "\n  networkDiagnostics: {mode: all}\n  externalIP",
        "spec.networkDiagnostics.mode: `all` is not one of",
    ),
    (
        "cluster-network-02-config",
        "\n  externalIP",
        "\n  externlIP",
        "spec.externlIP: this field does not exist",
    ),
    (
        "cluster-network-02-config",
        "  - cidr: \"10.128.0.0/14\"\n    hostPrefix: 23\n  externalIP",
        "  - 10.128.0.0/14\n  externalIP",
        "spec.clusterNetwork[0]: `10.128.0.0/14` is a string, not a map",
    ),
    (
        "cluster-network-02-config",
        "hostPrefix: 23\n  networkType",
        "hostPrefix: x\n  networkType",
        "status.clusterNetwork[0].hostPrefix: `x` is a string, not an integer",
    ),
    (
        "cluster-network-03-config",
        "\n  logLevel: Normal",
        "\n  logLevel: Loud",
        "spec.logLevel: `Loud` is not one of",
    ),
    (
        "cluster-network-03-config",
        "managementState: Managed",
        "managementState: managed",
        "spec.managementState: `managed` does not match",
    ),
    (
        "cluster-network-03-config",
        "serviceNetwork:\n  -",
        "serviceNetwork:",
        "spec.serviceNetwork: `172.30.0.0/16` is a string, not a list",
    ),
    (
        "cluster-network-03-config",
        "type: OVNKubernetes",
        "kind: OVNKubernetes",
        "spec.defaultNetwork.kind: this field does not exist",
    ),
    (
        "cluster-network-03-config",
        "type: OVNKubernetes",
        "type: OVNKubernetes\n    ovnKubernetesConfig: {ipv4: {internalJoinSubnet: 100.65.0.0}}",
        "spec.defaultNetwork.ovnKubernetesConfig.ipv4.internalJoinSubnet:",
    ),
    (
        "cluster-ingress-02-config",
        "Placement: Workers",
        "Placement: Worker",
        "status.defaultPlacement: `Worker` is not one of",
    ),
    ("cluster-ingress-02-config", "\n  domain:", "\n  domains:", "spec.domains: this field does not exist"),
    (
        "cluster-ingress-02-config",
        "\nstatus",
        "\n  componentRoutes: [{name: a, namespace: b}]\nstatus",
        "spec.componentRoutes[0].hostname: it is required but missing",
    ),
    (
        "cluster-proxy-01-config",
        "\n    name: \"\"",
        "\n    nme: \"\"",
        "spec.trustedCA.name: it is required but missing",
    ),
    (
        "cluster-proxy-01-config",
        "\nspec:",
        "\nspec:\n  noProxy: [a, b]",
        "spec.noProxy: it is a list, not a string",
    ),
    (
        "cluster-scheduler-02-config",
        "mastersSchedulable: false",
        "mastersSchedulable: 'false'",
        "spec.mastersSchedulable: `false` is a string, not a boolean",
    ),
    (
        "cluster-scheduler-02-config",
        "policy:\n    name: \"\"",
        "policy: {}",
        "spec.policy.name: it is required but missing",
    ),
    (
        "cluster-scheduler-02-config",
        "\n  policy:",
        "\n  profile: Low\n  policy:",
        "spec.profile: `Low` is not one of",
    ),
    (
        "99_feature-gate",
        "\"spec\": {}|spec: {}",
        "\"spec\": {\"featureSet\": \"Nope\"}|spec: {featureSet: Nope}",
        "spec.featureSet: `Nope` is not one of",
    ),
    (
        "99_feature-gate",
        "featureGates\":|featureGates:",
        "featureGate\":|featureGate:",
        "status.featureGate: this field does not exist",
    ),
    (
        "99_feature-gate",
        "\"version\":|- version:",
        "\"versoin\":|- versoin:",
        "status.featureGates[0].version: it is required but missing",
    ),
    (
        "image-digest-mirror-set",
        "mirrorSourcePolicy: Never",
        "mirrorSourcePolicy: Nevr",
        "spec.imageDigestMirrors[0].mirrorSourcePolicy: `NevrContactSource` is not one of",
    ),
    (
        "image-digest-mirror-set",
        "- source: ",
        "- sorce: ",
        "spec.imageDigestMirrors[0].source: it is required but missing",
    ),
    ("cluster-config", "\ndata:", "\ndata:\n  number: 5", "data.number: `5` is an integer, not a string"),
    ("cluster-config", "\ndata:", "\ndata:\n  'a b': c", "data[a b]: a key has"),
    (
        "cluster-config",
        "apiVersion: v1\nkind",
        "apiVersion: core/v1\nkind",
        "apiVersion: neither Kubernetes nor this release has core/v1 ConfigMap",
    ),
    (
        "openshift-config-secret-pull-secret",
        "  .dockerconfigjson:",
        "  dockerconfigjson:",
        "data: a Secret of type `kubernetes.io/dockerconfigjson` needs `.dockerconfigjson`",
    ),
    (
        "openshift-config-secret-pull-secret",
        ".dockerconfigjson: ",
        ".dockerconfigjson: '%'\n  more: ",
        "data[.dockerconfigjson]: the value is not base64",
    ),
];

/// A workspace whose configuration makes every manifest.
fn workspace() -> Workspace {
    let ws = Workspace::example().prebuilt();
    let more = "imageDigestSources:\n- source: registry.example.com/a\n  mirrors: ['mirror.example.com:5000/a']\n  sourcePolicy: NeverContactSource\nbaseDomain:";
    ws.edit("install-config.yaml", "\nbaseDomain:", &format!("\n{more}"));
    ws
}

/// Puts a broken manifest in place of ours for each mutation, as many at a time as there are manifests, and looks at what
/// the check says.
fn every_mutation_is_found(ws: &Workspace) {
    let built = ws.build_paths(&["check/schemas", "manifest"]);
    let report = fs::read_to_string(built["check/schemas"].join("report.json")).unwrap();
    assert!(
        !report.contains("not_evaluated"),
        "every rule that concerns our manifests is evaluated: {report}"
    );
    let mut ours: BTreeMap<&str, (String, String)> = BTreeMap::new();
    let mut rounds: BTreeMap<&str, Vec<&Mutation>> = BTreeMap::new();
    for mutation in &MUTATIONS {
        let folder = &built[&format!("manifest/{}", mutation.0)];
        let file = list(folder).into_iter().next().unwrap();
        let text = fs::read_to_string(folder.join(&file)).unwrap();
        ours.insert(mutation.0, (file, text));
        rounds.entry(mutation.0).or_default().push(mutation);
    }
    while !rounds.is_empty() {
        let round: Vec<&Mutation> = rounds.values_mut().filter_map(Vec::pop).collect();
        rounds.retain(|_, left| !left.is_empty());
        for mutation in &round {
            put(ws, &ours[mutation.0], mutation);
        }
        let said = ws.run(&["build", "check/schemas", "-q"]);
        let findings: Vec<&str> =
            said.lines().filter(|line| line.ends_with("-schema]") || line.ends_with("-types]")).collect();
        for (manifest, from, to, wanted) in &round {
            let file = format!("  {}:", ours[manifest].0);
            let found: Vec<&&str> = findings.iter().filter(|line| line.contains(&file)).collect();
            let named = found.iter().any(|line| line.contains(&format!(": {wanted}")));
            assert!(named, "{manifest}: {from:?} to {to:?}: wanted `{wanted}`, found {found:#?}\n{said}");
            assert!(said.contains(&format!("from: manifest/{manifest}\n")), "{said}");
            fs::remove_file(ws.dir.join(format!("recipes/50-manifest/{manifest}.toml"))).unwrap();
        }
        let broken = |line: &str| round.iter().any(|one| line.contains(&format!("  {}:", ours[one.0].0)));
        let others: Vec<&&str> = findings.iter().filter(|line| !broken(line)).collect();
        assert!(others.is_empty(), "{others:#?}");
        assert!(said.contains("at boot: the API server refuses it") && said.contains("[exit 1]"), "{said}");
        let typo = round.iter().any(|(_, _, to, _)| to.contains("baseDomian"));
        assert!(!typo || said.contains("hint: did you mean `baseDomain`?"), "{said}");
    }
    assert_eq!(ws.build(&["check/schemas"]), [""; 0], "ours are as they were");
}

/// Writes a recipe that makes the broken text in place of the built-in one.
fn put(ws: &Workspace, (file, text): &(String, String), (manifest, from, to, _): &Mutation) {
    let pairs = from.split('|').zip(to.split('|'));
    let (from, to) = pairs
        .clone()
        .find(|(from, _)| text.matches(from).count() == 1)
        .unwrap_or_else(|| panic!("none of {:?} is once in {manifest}:\n{text}", pairs.collect::<Vec<_>>()));
    let recipe =
        format!("# Broken, for a test.\nbuilder = 'template'\n[files]\n'{file}' = 'bad-{manifest}.j2'\n");
    ws.write(&format!("recipes/50-manifest/{manifest}.toml"), &recipe);
    ws.write(&format!("recipes/50-manifest/bad-{manifest}.j2"), &text.replace(from, to));
}

#[test]
fn mutations_against_the_demo_release() {
    every_mutation_is_found(&workspace());
}

#[test]
fn mutations_against_real_crds() {
    for version in ["4.18", "4.19"] {
        let Some(release) = data::release(version) else { return };
        let ws = workspace();
        release.put(&Pack::create(&ws.dir.join("layout")), "real");
        ws.edit("cluster.yaml", "release: demo:4.18", "release: oci:layout:real");
        ws.relock();
        every_mutation_is_found(&ws);
    }
}

/// What our manifests become for other clusters fits too.
#[test]
fn other_clusters_fit() {
    let ws = workspace();
    let more = "proxy: {httpProxy: 'http://proxy.example.com:3128', noProxy: example.org}\n\
                additionalTrustBundlePolicy: Always\nbaseDomain:";
    ws.edit("install-config.yaml", "\nbaseDomain:", &format!("\n{more}"));
    ws.edit("install-config.yaml", "  - cidr: 10.128.0.0/14", "  - cidr: 10.132.0.0/14");
    ws.build(&["check/schemas"]);
}

/// Rules that cannot be evaluated are listed, not silent; a check that is turned off says so.
#[test]
fn what_is_left_open_is_said() {
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.example.com\nspec:\n  group: example.com\n  scope: Cluster\n  \
               names:\n    kind: Thing\n    plural: things\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        \
               properties:\n          spec:\n            type: object\n            properties:\n              size:\n                type: integer\n            \
               x-kubernetes-validations:\n            - rule: self.?size.orValue(1) > 0\n---\napiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: one\nspec:\n  size: 1\n";
    let recipe =
        "# A CRD of the user's, for a test.\nbuilder = 'template'\n[files]\n'things.yaml' = 'things.j2'\n";
    let ws = Workspace::with(&[
        ("recipes/50-manifest/things.toml", recipe),
        ("recipes/50-manifest/things.j2", crd),
    ])
    .prebuilt();
    let text = ws.run(&["check"]);
    assert!(text.contains("crd-schema: 1 rule not evaluated; the API server will\n  things.yaml: spec: self.?size.orValue(1) > 0"), "{text}");
    let checks = ws.json(&["check"]);
    let found =
        checks["checks"].as_array().unwrap().iter().find(|check| check["name"] == "crd-schema").unwrap();
    assert_eq!(found["not_evaluated"][0]["field"], "spec", "{found}");
    ws.edit("recipes/50-manifest/things.j2", "  size: 1\n", "  size: x\n");
    assert!(ws.run(&["check", "-q"]).contains(": spec.size: `x` is a string, not an integer [crd-schema]"));
    ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.18\nchecks: {disabled: [crd-schema]}");
    let text = ws.run(&["check"]);
    assert!(text.contains("disabled  crd-schema") && text.contains("[exit 0]"), "{text}");
}
