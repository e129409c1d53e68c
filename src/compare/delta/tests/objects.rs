//! Kubernetes objects: identity, images, feature gates, contents of fields.

use super::{DeltaContext, changes, diff, file, render};

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: etcd, namespace: openshift-etcd}
spec:
  containers:
  - name: etcd
    image: quay.io/r/a@sha256:1111111111111111111111111111111111111111111111111111111111111111
    command: [etcd, --logger=zap, --listen, ':2379']
    env: [{name: A, value: x}]
    volumeMounts: [{mountPath: /a, name: a}, {mountPath: /b, name: b}]
  - {name: guard, image: x}
";

#[test]
fn an_object_is_known_by_kind_namespace_and_name() {
    let two = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";
    let one = format!("{POD}---\n{two}");
    let other =
        format!("{two}---\n{}", POD.replace("- {name: guard, image: x}", "- {name: guard, image: z}"));
    insta::assert_snapshot!(diff("a.yaml", &one, &other), @"object: Pod openshift-etcd/etcd / spec / containers / name=guard / image: x -> z");
    insta::assert_snapshot!(diff("a.yaml", POD, &format!("{POD}---\n{two}data: {{a: b}}\n")), @"object: ConfigMap b: + apiVersion: v1⏎data:⏎  a: b⏎kind: ConfigMap⏎metadata:⏎  name: b");
    insta::assert_snapshot!(diff("a.yaml", two, &two.replace("ConfigMap", "Service")), @r"
    object: ConfigMap b: - apiVersion: v1⏎kind: ConfigMap⏎metadata:⏎  name: b
    object: Service b: + apiVersion: v1⏎kind: Service⏎metadata:⏎  name: b
    ");
}

#[test]
fn an_object_under_another_name_is_renamed() {
    let one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: ns}\ndata: {a: b}\n";
    insta::assert_snapshot!(diff("a.yaml", one, &one.replace("name: b,", "name: c,").replace("a: b", "a: c")), @r"
    object: ConfigMap ns/c: renamed ConfigMap ns/b -> ConfigMap ns/c
    object: ConfigMap ns/c / data / a: b -> c
    ");
}

#[test]
fn a_list_is_its_items() {
    let item = |name: &str, value: u32| {
        format!(
            "{{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {{\"name\": \"{name}\"}}, \"data\": {{\"a\": \"{value}\"}}}}"
        )
    };
    let list = |items: [String; 2]| {
        format!("{{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{}]}}", items.join(","))
    };
    insta::assert_snapshot!(diff("a.json", &list([item("a", 1), item("b", 1)]), &list([item("b", 2), item("a", 1)])), @"object: ConfigMap b / data / a: 1 -> 2");
}

#[test]
fn images_are_named_by_their_component() {
    let mut context = DeltaContext::default();
    for (digit, name) in [("1", "etcd"), ("2", "etcd")] {
        context.components.insert(format!("sha256:{}", digit.repeat(64)), name.into());
    }
    let new = POD.replace(&"1".repeat(64), &"2".repeat(64));
    let found = |old: &str, new: &str| {
        render(&changes(file("a.yaml", old.as_bytes()), file("a.yaml", new.as_bytes()), &context))
    };
    insta::assert_snapshot!(found(POD, &new), @"image: Pod openshift-etcd/etcd / spec / containers / name=etcd / image: etcd@sha256:1111111111111111111111111111111111111111111111111111111111111111 -> etcd@sha256:2222222222222222222222222222222222222222222222222222222222222222");
    let mirrored = POD.replace("quay.io", "mirror");
    insta::assert_snapshot!(found(POD, &mirrored), @"image: Pod openshift-etcd/etcd / spec / containers / name=etcd / image: quay.io/r/a@sha256:1111111111111111111111111111111111111111111111111111111111111111 -> mirror/r/a@sha256:1111111111111111111111111111111111111111111111111111111111111111");
    let images = |digit: &str| {
        format!(
            "{{\"etcd\": \"quay.io/r/a@sha256:{}\", \"new\": \"quay.io/r/b@sha256:{}\"}}",
            digit.repeat(64),
            "3".repeat(64)
        )
    };
    insta::assert_snapshot!(render(&changes(file("images.json", images("1").replace("\"new\"", "\"old\"").as_bytes()), file("images.json", images("2").as_bytes()), &context)), @r"
    image: etcd: etcd@sha256:1111111111111111111111111111111111111111111111111111111111111111 -> etcd@sha256:2222222222222222222222222222222222222222222222222222222222222222
    image: new: + quay.io/r/b@sha256:3333333333333333333333333333333333333333333333333333333333333333
    image: old: - quay.io/r/b@sha256:3333333333333333333333333333333333333333333333333333333333333333
    ");
}

#[test]
fn feature_gates_are_told_by_name() {
    let gates = |version: &str, enabled: &[&str], disabled: &[&str]| {
        let list = |names: &[&str]| {
            names.iter().map(|name| format!("{{name: {name}}}")).collect::<Vec<_>>().join(", ")
        };
        format!(
            "apiVersion: config.openshift.io/v1\nkind: FeatureGate\nmetadata: {{name: cluster}}\nspec: {{}}\nstatus:\n  featureGates:\n  - version: {version}\n    enabled: [{}]\n    disabled: [{}]\n",
            list(enabled),
            list(disabled)
        )
    };
    insta::assert_snapshot!(diff("a.yaml", &gates("4.18.0", &["A", "B"], &["C"]), &gates("4.19.0", &["C", "A"], &["D", "B"])), @r"
    object: FeatureGate cluster / status / featureGates / version: 4.18.0 -> 4.19.0
    gate: FeatureGate cluster / status / featureGates / B: enabled -> disabled
    gate: FeatureGate cluster / status / featureGates / C: disabled -> enabled
    gate: FeatureGate cluster / status / featureGates / D: + disabled
    ");
    assert_eq!(diff("a.yaml", &gates("1", &["A", "B"], &[]), &gates("1", &["B", "A"], &[])), "(none)");
    insta::assert_snapshot!(diff("a.yaml", "kind: KubeletConfiguration\nfeatureGates: {A: true, B: false}\n", "kind: KubeletConfiguration\nfeatureGates: {A: false, C: true}\n"), @r"
    gate: featureGates / A: true -> false
    gate: featureGates / B: - false
    gate: featureGates / C: + true
    ");
}

#[test]
fn what_is_inside_of_a_field_is_compared_by_what_it_is() {
    let map = |value: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  config.yaml: |\n    # comment\n    a: {{b: {value}}}\n  run.sh: |\n    #!/bin/sh\n    echo {value}\n  json: '{{\"x\": [\"{value}\"]}}'\n  unit.service: |\n    [Service]\n    ExecStart=/bin/x --level={value}\n  word: {value}\n"
        )
    };
    insta::assert_snapshot!(diff("a.yaml", &map("one"), &map("two")), @r"
    data: ConfigMap a / data / config.yaml / a / b: one -> two
    data: ConfigMap a / data / json / x / one: - one
    data: ConfigMap a / data / json / x / two: + two
    text: ConfigMap a / data / run.sh: 
      @@ -1 +1 @@
       #!/bin/sh
      -echo one
      +echo two
    flag: ConfigMap a / data / unit.service / Service / ExecStart / --level: one -> two
    object: ConfigMap a / data / word: one -> two
    ");
    assert_eq!(diff("a.yaml", &map("one"), &map("one").replace("    # comment\n", "")), "(none)");
}

#[test]
fn a_kubeconfig_is_compared_by_field_and_its_token_is_secret() {
    let config = |server: &str, token: &str| {
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {{server: 'https://{server}:6443'}}\ncontexts:\n- name: a\n  context: {{cluster: c, user: u}}\ncurrent-context: a\nusers:\n- name: u\n  user: {{token: {token}}}\n"
        )
    };
    insta::assert_snapshot!(diff("auth/kubeconfig", &config("a.example", "hunter2"), &config("b.example", "hunter3")), @r"
    kubeconfig: clusters / name=c / cluster / server: https://a.example:6443 -> https://b.example:6443
    kubeconfig: users / name=u / user / token: (secret) -> (secret)
    ");
    insta::assert_snapshot!(super::diff_secret("auth/kubeconfig", &config("a.example", "hunter2"), &config("b.example", "hunter3")), @r"
    kubeconfig: clusters / name=c / cluster / server: https://a.example:6443 -> https://b.example:6443
    kubeconfig: users / name=u / user / token: (secret) -> (secret)
    ");
}
