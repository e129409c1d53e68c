//! bootkube.sh, run to the end by a real client through good and bad days: the end state is right each time.

use std::fs;

use serde_json::{Value, json};

use super::last;
use super::node::{
    API_SERVERS, BOOTSTRAP, ETCDS, INFRASTRUCTURE, Node, SAY_COMPLETE, SOME, VERSION, api_servers, crd, etcd,
    get, healthy, master, step,
};
use crate::api::{Api, Cluster, Https, Tls};
use crate::harness::list;

/// Every CRD and manifest of the example gets in, as the administrator, with its status; what is there in the end.
#[test]
fn the_artifacts_of_the_example() {
    let Some(node) = Node::new(&["patched"]) else { return };
    fs::remove_dir_all(node.at("assets")).unwrap();
    node.ws.build(&["patched", "release/crds"]);
    for (folder, target) in [("crds", "release/crds"), ("manifests", "patched")] {
        let from = node.ws.path_of(target);
        let from = if folder == "crds" { from } else { from.join(folder) };
        for name in list(&from).into_iter().filter(|name| from.join(name).is_file()) {
            node.write(&format!("assets/{folder}/{name}"), &fs::read_to_string(from.join(&name)).unwrap());
        }
    }
    let said = node.run(&[("APPLY_LIMIT", "300")]);
    node.assert_complete(&said);
    assert!(!said.contains("not yet"), "{said}");
    let applied = |folder: &str| -> Vec<String> {
        let start = format!("[TIME] in: {folder}/");
        let names = said.lines().filter_map(|line| line.strip_prefix(&start)?.split_once(": "));
        names.map(|(name, _)| name.to_owned()).collect()
    };
    for folder in ["crds", "manifests"] {
        assert_eq!(applied(folder), list(&node.at("assets").join(folder)).into_iter().collect::<Vec<_>>());
    }
    // Everything that was written was written by the administrator; only health is asked by nobody.
    for seen in node.api.seen() {
        let user = if seen.request == "GET /readyz" { "" } else { "system:admin" };
        assert_eq!(seen.user, user, "{seen:?}");
    }
    let statuses = node.api.seen().into_iter().filter(|seen| seen.request.starts_with("PUT "));
    let statuses: Vec<String> = statuses.map(|seen| seen.request).collect();
    insta::assert_snapshot!(statuses.join("\n"), @r"
    PUT /apis/config.openshift.io/v1/featuregates/cluster/status
    PUT /apis/config.openshift.io/v1/infrastructures/cluster/status
    PUT /apis/config.openshift.io/v1/ingresses/cluster/status
    ");
    // This one's CRD has no door for its status: it comes in with the object.
    let network = node.object("/apis/config.openshift.io/v1/networks/cluster").unwrap();
    assert_eq!(network["status"]["serviceNetwork"], json!(["172.30.0.0/16"]));
    let handed_over = node.api.look(|cluster| {
        let ours = cluster.paths().filter(|path| path.contains("/configmaps/") || path.contains("/secrets/"));
        ours.map(str::to_owned).collect::<Vec<_>>()
    });
    insta::assert_snapshot!(handed_over.join("\n"), @r"
    /api/v1/namespaces/kube-system/configmaps/bootstrap
    /api/v1/namespaces/kube-system/configmaps/cluster-config-v1
    /api/v1/namespaces/kube-system/configmaps/root-ca
    /api/v1/namespaces/kube-system/secrets/kubeadmin
    /api/v1/namespaces/openshift-config-managed/configmaps/csr-controller-ca
    /api/v1/namespaces/openshift-config-managed/configmaps/kube-apiserver-aggregator-client-ca
    /api/v1/namespaces/openshift-config-managed/configmaps/kubelet-bootstrap-kubeconfig
    /api/v1/namespaces/openshift-config-managed/configmaps/sa-token-signing-certs
    /api/v1/namespaces/openshift-config/configmaps/admin-kubeconfig-client-ca
    /api/v1/namespaces/openshift-config/configmaps/initial-kube-apiserver-server-ca
    /api/v1/namespaces/openshift-config/configmaps/openshift-install-manifests
    /api/v1/namespaces/openshift-config/secrets/initial-service-account-private-key
    /api/v1/namespaces/openshift-config/secrets/pull-secret
    /api/v1/namespaces/openshift-etcd-operator/configmaps/etcd-ca-bundle
    /api/v1/namespaces/openshift-etcd-operator/secrets/etcd-client
    /api/v1/namespaces/openshift-etcd/configmaps/etcd-ca-bundle
    /api/v1/namespaces/openshift-etcd/configmaps/etcd-endpoints
    /api/v1/namespaces/openshift-etcd/secrets/etcd-client
    /api/v1/namespaces/openshift-etcd/secrets/etcd-signer
    /api/v1/namespaces/openshift-kube-apiserver-operator/configmaps/kube-apiserver-to-kubelet-client-ca
    /api/v1/namespaces/openshift-kube-apiserver-operator/configmaps/kube-control-plane-signer-ca
    /api/v1/namespaces/openshift-kube-apiserver-operator/configmaps/loadbalancer-serving-ca
    /api/v1/namespaces/openshift-kube-apiserver-operator/configmaps/localhost-serving-ca
    /api/v1/namespaces/openshift-kube-apiserver-operator/configmaps/service-network-serving-ca
    /api/v1/namespaces/openshift-kube-apiserver-operator/secrets/aggregator-client-signer
    /api/v1/namespaces/openshift-kube-apiserver-operator/secrets/kube-apiserver-to-kubelet-signer
    /api/v1/namespaces/openshift-kube-apiserver-operator/secrets/kube-control-plane-signer
    /api/v1/namespaces/openshift-kube-apiserver-operator/secrets/loadbalancer-serving-signer
    /api/v1/namespaces/openshift-kube-apiserver-operator/secrets/localhost-serving-signer
    /api/v1/namespaces/openshift-kube-apiserver-operator/secrets/next-bound-service-account-signing-key
    /api/v1/namespaces/openshift-kube-apiserver-operator/secrets/service-network-serving-signer
    /api/v1/namespaces/openshift-kube-controller-manager-operator/configmaps/csr-controller-signer-ca
    /api/v1/namespaces/openshift-kube-controller-manager-operator/secrets/csr-signer-signer
    /api/v1/namespaces/openshift-machine-config-operator/secrets/machine-config-server-tls
    ");
}

/// A namespace that only the cluster-version operator brings: what is in it waits, all else does not, and what is in is
/// not touched again.
#[test]
fn a_namespace_appears_late() {
    let Some(node) = Node::new(&SOME) else { return };
    node.write(
        "assets/manifests/mine.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: openshift-monitoring}\ndata: {a: b}\n",
    );
    let mine = "/api/v1/namespaces/openshift-monitoring/configmaps/mine";
    node.api.at(3, &format!("PATCH {mine}"), |cluster| {
        let name = "openshift-monitoring";
        cluster.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
    });
    let said = node.run(&[]);
    insta::assert_snapshot!(step(&said, "applying manifests", "waiting for 3 masters"), @r"
    [TIME] applying manifests, for at most 60 s
    [TIME] in: manifests/cluster-infrastructure-02-config.yml: infrastructure.config.openshift.io/cluster serverside-applied; infrastructure.config.openshift.io/cluster replaced
    [TIME] in: manifests/cvo-overrides.yaml: clusterversion.config.openshift.io/version serverside-applied
    [TIME] in: manifests/hand-over-etcd-signer.yaml: secret/etcd-signer created
    [TIME] not yet: manifests/mine.yaml: …
    [TIME] in: manifests/mine.yaml: configmap/mine serverside-applied
    [TIME] done: all of manifests are in
    ");
    assert!(said.contains("(NotFound): namespaces \"openshift-monitoring\" not found"), "{said}");
    node.assert_complete(&said);
    assert_eq!(node.object(mine).unwrap()["data"], json!({"a": "b"}));
    assert_eq!(node.count(&format!("PATCH {mine}")), 3);
    assert_eq!(node.count("POST /api/v1/namespaces/openshift-etcd/secrets"), 1);
    assert_eq!(node.count(&format!("PATCH {INFRASTRUCTURE}")), 1);
}

/// A kind that only the cluster-version operator brings: each round asks anew what kinds there are.
#[test]
fn a_crd_appears_late() {
    let Some(node) = Node::new(&SOME) else { return };
    let text = "apiVersion: example.com/v1\nkind: Spark\nmetadata: {name: mine}\nspec: {dry: true}\nstatus:\n  lit: true\n";
    node.write("assets/manifests/spark.yaml", text);
    node.api.at(8, "GET /apis", |cluster| cluster.put(crd("example.com", "sparks", "Spark")));
    let said = node.run(&[]);
    insta::assert_snapshot!(step(&said, "applying manifests", "waiting for 3 masters"), @r"
    [TIME] applying manifests, for at most 60 s
    [TIME] in: manifests/cluster-infrastructure-02-config.yml: infrastructure.config.openshift.io/cluster serverside-applied; infrastructure.config.openshift.io/cluster replaced
    [TIME] in: manifests/cvo-overrides.yaml: clusterversion.config.openshift.io/version serverside-applied
    [TIME] in: manifests/hand-over-etcd-signer.yaml: secret/etcd-signer created
    [TIME] not yet: manifests/spark.yaml: …
    [TIME] in: manifests/spark.yaml: spark.example.com/mine serverside-applied; spark.example.com/mine replaced
    [TIME] done: all of manifests are in
    ");
    assert!(said.contains("no matches for kind \"Spark\" in version \"example.com/v1\""), "{said}");
    node.assert_complete(&said);
    let spark = node.object("/apis/example.com/v1/sparks/mine").unwrap();
    assert_eq!((&spark["spec"], &spark["status"]), (&json!({"dry": true}), &json!({"lit": true})));
}

/// Our own CRDs are not served from the first moment.
#[test]
fn crds_are_established_late() {
    let Some(node) = Node::new(&SOME) else { return };
    node.api.look(|cluster| cluster.establishes = false);
    let first = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clusterversions.config.openshift.io";
    node.api.at(3, &get(first), Cluster::establish);
    let said = node.run(&[]);
    insta::assert_snapshot!(step(&said, "waiting for the CRDs", "applying manifests"), @r"
    [TIME] waiting for the CRDs, for at most 60 s
    [TIME] not yet: condition not met for customresourcedefinitions/clusterversions.config.openshift.io; condition not met for customresourcedefinitions/infrastructures.config.openshift.io
    [TIME] done: all are established
    [TIME] waiting for the API server at [API] to be ready, for at most 60 s
    [TIME] done: ok
    ");
    node.assert_complete(&said);
}

/// Somebody makes the object anew while the masters install: it is given its status again, through its own door.
#[test]
fn a_status_is_lost() {
    let Some(node) = Node::new(&SOME) else { return };
    node.api.look(|cluster| cluster.put(master(2, "False")));
    node.api.at(1, "GET /api/v1/nodes", |cluster| {
        let mut anew = cluster.get(INFRASTRUCTURE).unwrap().clone();
        assert!(anew["status"].is_object());
        anew.as_object_mut().unwrap().remove("status");
        cluster.put(anew);
    });
    node.api.at(2, "GET /api/v1/nodes", |cluster| cluster.put(master(2, "True")));
    let said = node.run(&[]);
    insta::assert_snapshot!(step(&said, "waiting for 3 masters", "waiting for etcd"), @r"
    [TIME] waiting for 3 masters to be Ready, for at most 60 s
    [TIME] not yet: 2 of 3 are Ready: master-0=True; master-1=True; master-2=False
    [TIME] done: 3 of 3 are Ready: master-0=True; master-1=True; master-2=True
    [TIME] looking for statuses that are lost, for at most 60 s
    [TIME] done: infrastructure.config.openshift.io/cluster replaced
    ");
    node.assert_complete(&said);
    assert_eq!(node.count(&format!("PUT {INFRASTRUCTURE}/status")), 2);
}

/// What operators say is wrong is in the log, and the end comes only after they are content.
#[test]
fn operators_report_degraded() {
    let Some(node) = Node::new(&SOME) else { return };
    let waiting = ("EtcdRunningInCluster", "False", "EtcdMembersNotReady");
    let no_address = ("EnvVarControllerDegraded", "True", "no node has an address");
    let no_member = ("ClusterMemberControllerDegraded", "True", "unhealthy members found");
    let content = ("ClusterMemberControllerDegraded", "False", "");
    node.api.look(|cluster| {
        cluster.remove(ETCDS);
        cluster.put(api_servers(
            [0, 0, 0],
            &[("InstallerControllerDegraded", "True", "missing secret etcd-client")],
        ));
    });
    node.api.at(2, &get(ETCDS), move |cluster| cluster.put(etcd(&[no_address, waiting, content])));
    node.api.at(3, &get(ETCDS), move |cluster| cluster.put(etcd(&[waiting, no_member])));
    node.api.at(4, &get(ETCDS), move |cluster| {
        cluster.put(etcd(&[("EtcdRunningInCluster", "True", "enough members found"), content]))
    });
    // The object is asked twice in each look: for its nodes, and for what it complains about.
    node.api.at(3, &get(API_SERVERS), |cluster| cluster.put(api_servers([3, 0, 0], &[])));
    node.api.at(5, &get(API_SERVERS), |cluster| cluster.put(api_servers([3, 4, 0], &[])));
    node.api.at(1, SAY_COMPLETE, |cluster| {
        assert_eq!(cluster.get(VERSION).unwrap()["spec"]["overrides"], Value::Null);
        assert_eq!(cluster.get(API_SERVERS).unwrap()["status"]["nodeStatuses"][1]["currentRevision"], 4);
    });
    let said = node.run(&[]);
    insta::assert_snapshot!(step(&said, "waiting for etcd on", "taking the overrides"), @r#"
    [TIME] waiting for etcd on the masters, for at most 60 s
    [TIME] not yet: Error from server (NotFound): etcds.operator.openshift.io "cluster" not found
    [TIME] not yet: EtcdRunningInCluster=False: EtcdMembersNotReady; EnvVarControllerDegraded=True: no node has an address
    [TIME] not yet: EtcdRunningInCluster=False: EtcdMembersNotReady; ClusterMemberControllerDegraded=True: unhealthy members found
    [TIME] done: EtcdRunningInCluster=True: enough members found
    [TIME] waiting for API servers on the masters, for at most 60 s
    [TIME] not yet: 0 of 2 are there: master-0=0; master-1=0; master-2=0; InstallerControllerDegraded=True: missing secret etcd-client
    [TIME] not yet: 1 of 2 are there: master-0=3; master-1=0; master-2=0
    [TIME] done: 2 of 2 are there: master-0=3; master-1=4; master-2=0
    "#);
    node.assert_complete(&said);
}

/// A limit that is reached names every file that is not in, and why; nothing after it happens.
#[test]
fn the_limit_of_the_manifests_is_reached() {
    let Some(node) = Node::new(&SOME) else { return };
    node.write(
        "assets/manifests/00-spark.yaml",
        "apiVersion: example.com/v1\nkind: Spark\nmetadata: {name: mine}\n",
    );
    let wrong = "apiVersion: config.openshift.io/v1\nkind: Infrastructure\nmetadata: {name: other}\nspec: {cloudConfigs: {}}\n";
    node.write("assets/manifests/hand-over-wrong.yaml", wrong);
    node.write(
        "assets/manifests/homeless.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: nowhere}\n",
    );
    let said = node.run(&[("APPLY_LIMIT", "1")]);
    let end = last(&said, 5);
    let ends: Vec<&str> = end.lines().map(|line| line.split("; last seen: ").next().unwrap()).collect();
    insta::assert_snapshot!(ends.join("\n"), @r"
    [TIME] error: manifests/00-spark.yaml is not in
    [TIME] error: manifests/hand-over-wrong.yaml is not in
    [TIME] error: manifests/homeless.yaml is not in
    [TIME] error: applying manifests: gave up after 1 s
    [exit 1]
    ");
    for (line, why) in end.lines().zip([
        "no matches for kind \"Spark\" in version \"example.com/v1\"",
        "strict decoding error: unknown field \"spec.cloudConfigs\"",
        "(NotFound): namespaces \"nowhere\" not found",
    ]) {
        assert!(line.contains(why), "{line}");
    }
    node.assert_not_complete(&said);
    assert_eq!(node.count("GET /api/v1/nodes"), 0);
    // All else is in, with its status.
    assert!(node.object(INFRASTRUCTURE).unwrap()["status"]["apiServerURL"].is_string());
    assert!(node.object(VERSION).unwrap()["spec"]["overrides"].is_array());
}

/// So does one of the waits for operators; the version operator still leaves alone what it was to leave alone. Run again
/// when they are content, it goes to the end: what an operator has changed since is its operator's.
#[test]
fn a_limit_is_reached_and_it_is_run_again() {
    let Some(node) = Node::new(&SOME) else { return };
    let waiting = etcd(&[
        ("EtcdRunningInCluster", "False", "EtcdMembersNotReady"),
        ("EnvVarControllerDegraded", "True", "no node has an address"),
    ]);
    node.api.look(|cluster| cluster.put(waiting));
    let said = node.run(&[("MASTERS_ETCD_LIMIT", "1")]);
    insta::assert_snapshot!(last(&said, 2), @r"
    [TIME] error: waiting for etcd on the masters: gave up after 1 s; last seen: EtcdRunningInCluster=False: EtcdMembersNotReady; EnvVarControllerDegraded=True: no node has an address
    [exit 1]
    ");
    node.assert_not_complete(&said);
    assert!(node.object(VERSION).unwrap()["spec"]["overrides"].is_array());
    assert_eq!(node.count(&get(API_SERVERS)), 0);

    let signer = "/api/v1/namespaces/openshift-etcd/secrets/etcd-signer";
    node.api.look(|cluster| {
        cluster.put(etcd(&[("EtcdRunningInCluster", "True", "enough members found")]));
        let mut rotated = cluster.get(signer).unwrap().clone();
        rotated["data"] = json!({"tls.crt": "bmV3", "tls.key": "bmV3"});
        cluster.put(rotated);
        let mut observed = cluster.get(INFRASTRUCTURE).unwrap().clone();
        observed["status"]["infrastructureTopology"] = json!("SingleReplica");
        cluster.put(observed);
    });
    let said = node.run(&[]);
    node.assert_complete(&said);
    insta::assert_snapshot!(step(&said, "applying manifests", "waiting for 3 masters"), @r"
    [TIME] applying manifests, for at most 60 s
    [TIME] in: manifests/cluster-infrastructure-02-config.yml: infrastructure.config.openshift.io/cluster serverside-applied; it has one already
    [TIME] in: manifests/cvo-overrides.yaml: clusterversion.config.openshift.io/version serverside-applied
    [TIME] in: manifests/hand-over-etcd-signer.yaml: it is there already, and its operator's
    [TIME] done: all of manifests are in
    ");
    assert_eq!(node.object(signer).unwrap()["data"]["tls.crt"], "bmV3");
    assert_eq!(node.object(INFRASTRUCTURE).unwrap()["status"]["infrastructureTopology"], "SingleReplica");
    assert_eq!(node.count(&format!("PUT {INFRASTRUCTURE}/status")), 1);
}

/// Overrides of the user's own stay.
#[test]
fn overrides_of_the_user_stay() {
    let Some(node) = Node::new(&SOME) else { return };
    let mine = json!({"kind": "Deployment", "group": "apps", "namespace": "openshift-monitoring", "name": "prometheus", "unmanaged": true});
    let added = mine.clone();
    node.api.at(1, "GET /api/v1/nodes", move |cluster| {
        let mut version = cluster.get(VERSION).unwrap().clone();
        version["spec"]["overrides"].as_array_mut().unwrap().push(added.clone());
        cluster.put(version);
    });
    let said = node.run(&[]);
    assert!(said.ends_with("[exit 0]\n"), "{said}");
    assert_eq!(node.object(VERSION).unwrap()["spec"]["overrides"], json!([mine]));
}

/// Killed after the word that ends bootstrap and before its mark; the API server here died of that word. The masters know.
#[test]
fn killed_before_it_is_marked_done() {
    let Some(node) = Node::new(&SOME) else { return };
    let masters = node.api.another(&Tls::api_server(&node.secrets));
    node.api.dies_after(SAY_COMPLETE, true);
    node.oc("case \"$*\" in *' create configmap bootstrap '*) kubectl \"$@\" && kill -9 0 ;; *) exec kubectl \"$@\" ;; esac");
    let said = node.run(&[]);
    assert!(said.ends_with("saying that bootstrap is complete, for at most 60 s\n[killed]\n"), "{said}");
    assert!(node.object(BOOTSTRAP).is_some() && !node.at("assets/.bootkube.done").exists());

    // As long as the masters do not answer, nothing is known.
    node.oc("exec kubectl \"$@\"");
    let said = node.run(&[("PIVOT_LIMIT", "1")]);
    assert!(said.starts_with("[TIME] ended before: [TEMP]/assets/.bootkube.ending exists\n"), "{said}");
    let end = last(&said, 2);
    assert!(
        end.starts_with(
            "[TIME] error: saying that bootstrap is complete: gave up after 1 s; last seen: [API]: "
        ),
        "{end}"
    );
    assert!(
        end.contains("; https://localhost:1: ") && end.ends_with("connection refused\n[exit 1]\n"),
        "{end}"
    );
    assert!(!node.at("assets/.bootkube.done").exists());

    let before = node.api.seen().len();
    let said = node.run(&[("MASTERS_API", &masters.url())]);
    insta::assert_snapshot!(said, @r"
    [TIME] ended before: [TEMP]/assets/.bootkube.ending exists
    [TIME] saying that bootstrap is complete, for at most 60 s
    [TIME] done: it is there already
    [TIME] done
    [exit 0]
    ");
    node.assert_complete(&said);
    let asked: Vec<String> = node.api.seen().split_off(before).into_iter().map(|seen| seen.request).collect();
    assert_eq!(asked, [SAY_COMPLETE], "nothing else is asked of a cluster that is the masters'");
}

/// The API server here dies so fast that its last answer is lost.
#[test]
fn the_last_answer_is_lost() {
    let Some(node) = Node::new(&SOME) else { return };
    let masters = node.api.another(&Tls::api_server(&node.secrets));
    node.api.dies_after(SAY_COMPLETE, false);
    let said = node.run(&[("MASTERS_API", &masters.url())]);
    assert!(said.ends_with("done: it is there already\n[TIME] done\n[exit 0]\n"), "{said}");
    node.assert_complete(&said);
    assert_eq!(node.count(SAY_COMPLETE), 2);
}

/// Killed before the word, and after the mark that it is about to come: it is said all the same.
#[test]
fn killed_before_the_word() {
    let Some(node) = Node::new(&SOME) else { return };
    node.oc("case \"$*\" in *' create configmap bootstrap '*) kill -9 0 ;; *) exec kubectl \"$@\" ;; esac");
    let said = node.run(&[]);
    assert!(said.ends_with("[killed]\n") && node.object(BOOTSTRAP).is_none(), "{said}");
    node.oc("exec kubectl \"$@\"");
    let said = node.run(&[]);
    assert!(said.ends_with("done: configmap/bootstrap created\n[TIME] done\n[exit 0]\n"), "{said}");
    node.assert_complete(&said);
}

/// Somebody else at the port of etcd or of the API server is not believed.
#[test]
fn another_server_is_not_ours() {
    let Some(node) = Node::new(&SOME) else { return };
    let foreign = Tls {
        certificate: node.secrets.join("etcd-server.crt"),
        key: node.secrets.join("etcd-server.key"),
        ..Tls::api_server(&node.secrets)
    };
    let other = Api::start(&foreign);
    let said = node.run(&[("API", &other.url()), ("API_LIMIT", "1")]);
    assert!(last(&said, 2).contains("curl: (60) SSL certificate problem"), "{said}");
    node.assert_not_complete(&said);
    let other = Https::start(&Tls { required: false, ..Tls::api_server(&node.secrets) }, |_| Some(healthy()));
    let said = node.run(&[("ETCD", &other.url()), ("ETCD_LIMIT", "1")]);
    assert!(last(&said, 2).contains("curl: (60) SSL certificate problem"), "{said}");
}
