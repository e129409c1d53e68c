//! `show` and `blame` of what nodes get.

use crate::harness::Workspace;

#[test]
fn show_lists_what_a_node_gets() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["ignition", "infra/pool"]);
    let list = ws.json(&["show", "ignition/bootstrap"]);
    let entries = list["node"].as_array().unwrap();
    let find = |path: &str| entries.iter().find(|entry| entry["path"] == path).unwrap();
    let key = find("/etc/kubernetes/bootstrap-secrets/kubernetes-ca.key");
    assert_eq!((key["mode"].as_str(), key["secret"].as_bool()), (Some("0600"), Some(true)));
    assert_eq!(key["from"], serde_json::json!(["key/kubernetes-ca:kubernetes-ca.key"]));
    assert!(key["size"].is_null());
    assert_eq!(find("bootkube.service")["state"], "enabled");
    assert_eq!(find("/etc/kubernetes/kubeconfigs")["kind"], "directory");
    let table = ws.run(&["show", "ignition/bootstrap"]);
    let lines: Vec<&str> =
        table.lines().filter(|line| line.contains("kubelet") || line.starts_with("KIND")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    KIND       MODE             SIZE      PATH                                                                                                        FROM
    file       0644             899 B     /etc/kubernetes/bootstrap-secrets/kube-apiserver-kubelet-client.crt                                         pki/kube-apiserver-kubelet-client:kube-apiserver-kubelet-client.crt
    file       0600     secret            /etc/kubernetes/bootstrap-secrets/kube-apiserver-kubelet-client.key                                         key/kube-apiserver-kubelet-client:kube-apiserver-kubelet-client.key
    file       0644             619 B     /etc/kubernetes/kubelet.conf                                                                                built-in recipes/65-ignition/kubelet.conf.j2
    file       0644             4.8 KiB   /opt/openshift/crds/0000_80_machine-config_01_kubeletconfigs.crd.yaml                                       release/crds:0000_80_machine-config_01_kubeletconfigs.crd.yaml
    file       0600             1.9 KiB   /opt/openshift/manifests/hand-over-kube-apiserver-to-kubelet-client-ca.yaml                                 patched:manifests/hand-over-kube-apiserver-to-kubelet-client-ca.yaml
    file       0600     secret            /opt/openshift/manifests/hand-over-kube-apiserver-to-kubelet-signer.yaml                                    patched:manifests/hand-over-kube-apiserver-to-kubelet-signer.yaml
    file       0600             1.5 KiB   /opt/openshift/manifests/hand-over-kubelet-bootstrap-kubeconfig.yaml                                        patched:manifests/hand-over-kubelet-bootstrap-kubeconfig.yaml
    file       0600     secret            /var/lib/kubelet/config.json                                                                                pullSecret
    unit       enabled          646 B     kubelet.service                                                                                             built-in recipes/65-ignition/kubelet.service.j2
    ");
    insta::assert_snapshot!(ws.run(&["show", "ignition/master-0:/etc/hostname"]), @"
    master-0.ocp4.example.com
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["show", "ignition/master-0:/etc/kubernetes/kubeconfig"]), @"
    (secret)
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["show", "ignition/bootstrap:/var/lib/etcd"]), @"
    directory, 0700
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["show", "ignition/master-0:/etc/hostnam"]), @"
    [stderr]
    error: `ignition/master-0` has no `/etc/hostnam`
    hint: did you mean `/etc/hostname`?
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["show", "infra/pool:/etc/hostname"]), @"
    [stderr]
    error: `infra/pool` has no `/etc/hostname`
    hint: a path with a leading `/` is a path on a node, and only `ignition/…` has those
    [exit 2]
    ");
}

#[test]
fn blame_goes_back_to_lines_of_files() {
    let ws = Workspace::with(&[(
        "patches/10-dns.yaml",
        "target: {kind: DNS, name: cluster}\npatch: {metadata: {annotations: {mine: here}}}\n",
    )])
    .prebuilt();
    insta::assert_snapshot!(ws.run(&["blame", "ignition/master-0:/etc/hostname"]), @"
    [stderr]
    error: `ignition/master-0` is not built
    hint: run `tinderbox build ignition/master-0`
    [exit 1]
    ");
    ws.build(&[]);
    insta::assert_snapshot!(ws.run(&["blame", "ignition/master-0:/etc/hostname"]), @"
    ignition/master-0:/etc/hostname
      for       The node's name: the kubelet registers under it, and its certificate requests carry it.
      read by   systemd-hostnamed; on masters and workers then the kubelet
      without   the node is called localhost: node-valid-hostname.service holds the kubelet back, and a request for system:node:localhost is never approved
      what      file, 0644
      why       the node's name, which it registers with and its certificates have
      from      ignition/master-0:tree/etc/hostname  (ignition, built-in recipes/65-ignition/masters.toml)
      template  built-in recipes/65-ignition/hostname.j2
      line      1: `fqdn` at built-in recipes/65-ignition/hostname.j2:1
      origin    `fqdn` = nodes.master-0.fqdn ← cluster.yaml:27: nodes.master-0.name; install-config.yaml:8: metadata.name; install-config.yaml:9: baseDomain
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["blame", "ignition/bootstrap:/opt/openshift/manifests/cluster-dns-02-config.yml"]), @"
    ignition/bootstrap:/opt/openshift/manifests/cluster-dns-02-config.yml
      for       The domain of the cluster.
      read by   the DNS and ingress operators, and the kube-apiserver operator, which builds api and api-int from it
      without   the ingress operator does not know which names routes get, and the machine-config operator cannot render
      checked   dns-base-domain
      what      file, 0600
      why       bootkube.sh applies them in order
      from      ignition/bootstrap:tree/opt/openshift/manifests/cluster-dns-02-config.yml  (ignition, built-in recipes/65-ignition/bootstrap.toml)
      from      patched:manifests/cluster-dns-02-config.yml  (tree, built-in recipes/59-patched.toml)
      from      patch/10-dns:manifests/cluster-dns-02-config.yml  (patch, patches/10-dns.yaml)
      from      assembled:manifests/cluster-dns-02-config.yml  (tree, built-in recipes/57-assembled.toml)
      from      manifest/cluster-dns-02-config:cluster-dns-02-config.yml  (template, built-in recipes/50-manifest/cluster-dns-02-config.toml)
      template  built-in recipes/50-manifest/cluster-dns-02-config.yml.j2
      line      7: `domain` at built-in recipes/50-manifest/cluster-dns-02-config.yml.j2:7
      origin    `domain` = cluster.domain ← install-config.yaml:8: metadata.name; install-config.yaml:9: baseDomain
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["blame", "ignition/master-0:/var/lib/kubelet/config.json"]), @"
    ignition/master-0:/var/lib/kubelet/config.json
      for       The pull secret: credentials for the registries that hold the release.
      read by   the kubelet, CRI-O and podman, for every image that they pull
      without   registries answer 401: not even the pause image arrives, and no pod starts
      what      file, 0600, secret
      why       the machine-config operator's rendered master config
      from      ignition/master-0:tree/var/lib/kubelet/config.json  (ignition, built-in recipes/65-ignition/masters.toml)
      from      mco/master:config.ign  (machineconfig, built-in recipes/60-mco/pools.toml)
      origin    `rendered` = mco/rendered:machine-configs
      image     sha256:7da92966b36c46282caff1f8ce6b030900007767ac731384820cdcba088b2975  (release/image)
      image     demo.invalid/openshift/components@sha256:9c644f1b350beac727dec66db01f60779d44a363ed13d26b0fcf92ae02cf04cc  (mco/image)
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["blame", "ignition/bootstrap:/etc/systemd/system/bootkube.service"]), @"
    ignition/bootstrap:/etc/systemd/system/bootkube.service
      for       Starts bootkube.sh once the kubelet runs, and again whenever it fails; never again after it is done.
      read by   systemd
      without   the bootstrap node runs a control plane that nobody fills
      checked   bootkube-path
      what      unit, enabled
      why       runs bootkube.sh until it is done
      from      ignition/bootstrap:tree/etc/systemd/system/bootkube.service  (ignition, built-in recipes/65-ignition/bootstrap.toml)
      template  built-in recipes/65-ignition/bootkube.service.j2
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["blame", "ignition/bootstrap"]), @"
    [stderr]
    error: `ignition/bootstrap` has several files
    hint: name one: `ignition/bootstrap:PATH`; `tinderbox show ignition/bootstrap` lists them
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["blame", "cluster:manifests/cluster-dns-02-config.yaml"]), @"
    [stderr]
    error: `cluster` has no `manifests/cluster-dns-02-config.yaml`
    hint: did you mean `manifests/cluster-dns-02-config.yml`?
    [exit 2]
    ");
    // The image of a static pod, by digest, as in the file itself.
    let told = ws.json(&["blame", "ignition/master-0:/etc/kubernetes/manifests/kube-proxy.yaml"]);
    let image = told["images"][0][1].as_str().unwrap();
    assert!(ws.run(&["show", "ignition/master-0:/etc/kubernetes/manifests/kube-proxy.yaml"]).contains(image));
    // What came out of an image names that image.
    let told = ws
        .json(&["blame", "ignition/bootstrap:/opt/openshift/crds/0000_10_config-operator_01_dnses.crd.yaml"]);
    let images = told["images"].as_array().unwrap();
    assert!(
        images
            .iter()
            .any(|one| one[0] == "release/config-api" && one[1].as_str().unwrap().contains("@sha256:"))
    );
    assert_eq!(told["way"].as_array().unwrap().last().unwrap()["derivation"], "release/config-api");
}
