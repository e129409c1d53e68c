//! Who meets whom. `check/hand-over` reads the same table: what it can see are hand-over objects and certificates, not nodes.

use super::Role;
use super::meeting::{Called, Checked, Encounter, Kubeconfigs, Meeting, Object, Shown, Trusted};

const fn signer(name: &'static str) -> Object {
    Object { kind: "Secret", name, key: "tls.crt" }
}

const fn bundle(name: &'static str) -> Object {
    Object { kind: "ConfigMap", name, key: "ca-bundle.crt" }
}

const ETCD_SIGNER: Object = signer("openshift-etcd/etcd-signer");
const ETCD_BUNDLE: Object = bundle("openshift-etcd/etcd-ca-bundle");
const LOAD_BALANCER: Object = signer("openshift-kube-apiserver-operator/loadbalancer-serving-signer");
const LOCALHOST: Object = signer("openshift-kube-apiserver-operator/localhost-serving-signer");
const SERVICE_NETWORK: Object = signer("openshift-kube-apiserver-operator/service-network-serving-signer");
const TO_KUBELET: Object = signer("openshift-kube-apiserver-operator/kube-apiserver-to-kubelet-signer");
const CONTROL_PLANE: Object = signer("openshift-kube-apiserver-operator/kube-control-plane-signer");
const AGGREGATOR: Object = signer("openshift-kube-apiserver-operator/aggregator-client-signer");
const ADMIN: Object = bundle("openshift-config/admin-kubeconfig-client-ca");
const KUBELET_BOOTSTRAP: Object = bundle("openshift-config-managed/kubelet-bootstrap-kubeconfig");
const KUBELET_CLIENTS: Object = bundle("openshift-config/initial-kube-apiserver-server-ca");
const CSR_SIGNER: Object = signer("openshift-kube-controller-manager-operator/csr-signer-signer");
const CSR_CONTROLLER: Object = bundle("openshift-config-managed/csr-controller-ca");
const ROOT: Object = Object { kind: "ConfigMap", name: "kube-system/root-ca", key: "ca.crt" };
const MACHINE_CONFIG_SERVER: Object = signer("openshift-machine-config-operator/machine-config-server-tls");
const LEGACY_PUBLIC: Object = Object {
    kind: "ConfigMap",
    name: "openshift-config-managed/sa-token-signing-certs",
    key: "service-account-001.pub",
};
const BOUND: &str = "openshift-kube-apiserver-operator/next-bound-service-account-signing-key";
const BOUND_PUBLIC: Object = Object { kind: "Secret", name: BOUND, key: "service-account.pub" };
const ENDPOINT: Object = Object {
    kind: "ConfigMap",
    name: "openshift-etcd/etcd-endpoints",
    key: "alpha.installer.openshift.io/etcd-bootstrap",
};

const API: &str = "kube-apiserver";
const CONTROLLERS: &str = "kube-controller-manager";

const ADMINS: Kubeconfigs = Kubeconfigs::Named(&["admin", "lb-ext", "lb-int"]);
const ON_NODE: Kubeconfigs = Kubeconfigs::Named(&["localhost", "localhost-recovery"]);
const ALL_ADMINS: Kubeconfigs =
    Kubeconfigs::Named(&["admin", "lb-ext", "lb-int", "localhost", "localhost-recovery"]);
const COMPONENTS: Kubeconfigs = Kubeconfigs::Flagged(&[CONTROLLERS, "kube-scheduler"]);

const ETCD_SERVER: Shown = Shown::Flag("etcd", ["cert-file", "key-file"]);
const ETCD_PEER: Shown = Shown::Flag("etcd", ["peer-cert-file", "peer-key-file"]);
const ETCD_CLIENT: Shown = Shown::Flag(API, ["etcd-certfile", "etcd-keyfile"]);
const API_SERVER: Shown = Shown::Flag(API, ["tls-cert-file", "tls-private-key-file"]);
const KUBELET_CLIENT: Shown = Shown::Flag(API, ["kubelet-client-certificate", "kubelet-client-key"]);
const FRONT_PROXY: Shown = Shown::Flag(API, ["proxy-client-cert-file", "proxy-client-key-file"]);
const KUBELET: Shown = Shown::SignedByFlag(CONTROLLERS, "cluster-signing-cert-file");

const CLIENT_CA: Trusted = Trusted::Flag(API, "client-ca-file");
const PROXY_CA: Trusted = Trusted::Flag(API, "requestheader-client-ca-file");
const TOKEN_KEYS: Trusted = Trusted::Keys(API, "service-account-key-file");

/// Here nobody looks at a name.
const fn meet(shown: Shown, trusted: Trusted) -> Option<Encounter> {
    Some(Encounter { shown, trusted, called: Called::Unasked })
}

const fn call(shown: Shown, trusted: Trusted, called: Called) -> Option<Encounter> {
    Some(Encounter { shown, trusted, called })
}

const SERVING: &str = "clients that trust the bootstrap API server refuse the masters'";
const KUBELETS: &str = "kubelet certificates issued during bootstrap are refused";
const TOKENS: &str = "tokens of bootstrap are refused";

/// All meetings, in the order in which everything is told.
pub const MEETINGS: &[Meeting] = &[
    // etcd dials its own port too, with what it shows as a server.
    Meeting {
        id: "etcd-members-to-bootstrap-etcd",
        presenter: "etcd members",
        credential: "etcd-server",
        role: Role::Client,
        verifier: "bootstrap etcd",
        before: meet(ETCD_SERVER, Trusted::Flag("etcd", "trusted-ca-file")),
        after: meet(Shown::SignedBy(ETCD_SIGNER), Trusted::Flag("etcd", "trusted-ca-file")),
        breaks: "the bootstrap member refuses members on masters",
        checked: Checked::Issued("etcd-server"),
    },
    Meeting {
        id: "bootstrap-etcd-to-its-clients",
        presenter: "bootstrap etcd",
        credential: "etcd-server",
        role: Role::Server,
        verifier: "etcd clients",
        before: call(ETCD_SERVER, Trusted::Flag(API, "etcd-cafile"), Called::Urls(API, "etcd-servers")),
        after: call(ETCD_SERVER, Trusted::Object(ETCD_BUNDLE), Called::Annotated(ENDPOINT)),
        breaks: "members on masters refuse the bootstrap member",
        checked: Checked::Issued("etcd-server"),
    },
    Meeting {
        id: "api-servers-to-etcd",
        presenter: "API servers",
        credential: "etcd-client",
        role: Role::Client,
        verifier: "etcd members",
        before: meet(ETCD_CLIENT, Trusted::Flag("etcd", "trusted-ca-file")),
        after: meet(ETCD_CLIENT, Trusted::Object(ETCD_BUNDLE)),
        breaks: "etcd on masters refuses the API server",
        checked: Checked::Issued("etcd-client"),
    },
    Meeting {
        id: "bootstrap-etcd-to-peers",
        presenter: "bootstrap etcd",
        credential: "etcd-peer-bootstrap",
        role: Role::Peer,
        verifier: "etcd members",
        before: None,
        after: call(ETCD_PEER, Trusted::Object(ETCD_BUNDLE), Called::Annotated(ENDPOINT)),
        breaks: "members on masters refuse the bootstrap member as a peer, and never catch up",
        checked: Checked::No,
    },
    Meeting {
        id: "peers-to-bootstrap-etcd",
        presenter: "etcd members",
        credential: "etcd-signer",
        role: Role::Peer,
        verifier: "bootstrap etcd",
        before: None,
        after: meet(Shown::SignedBy(ETCD_SIGNER), Trusted::Flag("etcd", "peer-trusted-ca-file")),
        breaks: "the bootstrap member refuses members on masters as peers: etcd never gets a second one",
        checked: Checked::No,
    },
    Meeting {
        id: "bootstrap-etcd-to-bootkube",
        presenter: "bootstrap etcd",
        credential: "etcd-server",
        role: Role::Server,
        verifier: "bootkube.sh",
        before: call(
            ETCD_SERVER,
            Trusted::File("/etc/kubernetes/bootstrap-secrets/etcd-ca-bundle.crt"),
            Called::Names(&["localhost"]),
        ),
        after: None,
        breaks: "bootkube.sh waits for etcd until its limit, and applies nothing",
        checked: Checked::No,
    },
    Meeting {
        id: "api-servers-to-administrators",
        presenter: "API servers",
        credential: "kube-apiserver",
        role: Role::Server,
        verifier: "administrators",
        before: call(API_SERVER, Trusted::Kubeconfig(ADMINS), Called::Kubeconfig),
        after: meet(Shown::SignedBy(LOAD_BALANCER), Trusted::Kubeconfig(ADMINS)),
        breaks: SERVING,
        checked: Checked::Issued("kube-apiserver"),
    },
    Meeting {
        id: "api-servers-to-localhost",
        presenter: "API servers",
        credential: "kube-apiserver",
        role: Role::Server,
        verifier: "programs on the node",
        before: call(API_SERVER, Trusted::Kubeconfig(ON_NODE), Called::Kubeconfig),
        after: meet(Shown::SignedBy(LOCALHOST), Trusted::Kubeconfig(ON_NODE)),
        breaks: SERVING,
        checked: Checked::Issued("kube-apiserver"),
    },
    Meeting {
        id: "api-servers-to-pods",
        presenter: "API servers",
        credential: "kube-apiserver",
        role: Role::Server,
        verifier: "pods",
        before: call(
            API_SERVER,
            Trusted::FlagToRoot(CONTROLLERS, "root-ca-file"),
            Called::Names(&["kubernetes.default.svc"]),
        ),
        after: meet(Shown::SignedBy(SERVICE_NETWORK), Trusted::FlagToRoot(CONTROLLERS, "root-ca-file")),
        breaks: SERVING,
        checked: Checked::Issued("kube-apiserver"),
    },
    Meeting {
        id: "api-servers-to-components",
        presenter: "API servers",
        credential: "kube-apiserver",
        role: Role::Server,
        verifier: "controller manager and scheduler",
        before: call(API_SERVER, Trusted::Kubeconfig(COMPONENTS), Called::Kubeconfig),
        after: meet(Shown::SignedBy(LOAD_BALANCER), Trusted::Kubeconfig(COMPONENTS)),
        breaks: "the bootstrap controller manager and scheduler refuse the API",
        checked: Checked::No,
    },
    Meeting {
        id: "api-servers-to-kubelets",
        presenter: "API servers",
        credential: "kube-apiserver",
        role: Role::Server,
        verifier: "kubelets",
        before: call(API_SERVER, Trusted::Kubeconfig(Kubeconfigs::Joining), Called::Kubeconfig),
        after: meet(Shown::SignedBy(LOAD_BALANCER), Trusted::Kubeconfig(Kubeconfigs::Joining)),
        breaks: "kubelets refuse the API, and no node joins",
        checked: Checked::No,
    },
    Meeting {
        id: "api-server-to-bootkube",
        presenter: "API servers",
        credential: "kube-apiserver",
        role: Role::Server,
        verifier: "bootkube.sh",
        before: call(
            API_SERVER,
            Trusted::File("/etc/kubernetes/bootstrap-secrets/kubernetes-ca-bundle.crt"),
            Called::Names(&["localhost"]),
        ),
        after: None,
        breaks: "bootkube.sh waits for the API until its limit, and applies nothing",
        checked: Checked::No,
    },
    Meeting {
        id: "masters-to-kubelets",
        presenter: "API servers on masters",
        credential: "kube-apiserver-to-kubelet-signer",
        role: Role::Client,
        verifier: "kubelets",
        before: None,
        after: meet(Shown::SignedBy(TO_KUBELET), Trusted::Kubelets),
        breaks: "kubelets refuse logs and exec",
        checked: Checked::Issued("kube-apiserver-kubelet-client"),
    },
    Meeting {
        id: "components-to-api-servers",
        presenter: "controller manager and scheduler",
        credential: "kube-controller-manager, kube-scheduler",
        role: Role::Client,
        verifier: "API servers",
        before: meet(Shown::Kubeconfig(COMPONENTS), CLIENT_CA),
        after: meet(Shown::Kubeconfig(COMPONENTS), Trusted::Object(CONTROL_PLANE)),
        breaks: "the API refuses the controller manager and the scheduler",
        checked: Checked::Issued("kube-controller-manager"),
    },
    Meeting {
        id: "masters-to-bootstrap-api-server",
        presenter: "controller managers on masters",
        credential: "kube-control-plane-signer",
        role: Role::Client,
        verifier: "bootstrap API server",
        before: None,
        after: meet(Shown::SignedBy(CONTROL_PLANE), CLIENT_CA),
        breaks: "the masters' components are refused wherever the load balancer leads them to the bootstrap node",
        checked: Checked::No,
    },
    Meeting {
        id: "api-servers-to-aggregated-apis",
        presenter: "API servers",
        credential: "front-proxy-client",
        role: Role::Client,
        verifier: "aggregated APIs",
        before: call(FRONT_PROXY, PROXY_CA, Called::Allowed(API, "requestheader-allowed-names")),
        after: meet(FRONT_PROXY, Trusted::Object(AGGREGATOR)),
        breaks: "aggregated APIs refuse the API server",
        checked: Checked::Issued("front-proxy-client"),
    },
    Meeting {
        id: "masters-to-aggregated-apis",
        presenter: "API servers on masters",
        credential: "aggregator-client-signer",
        role: Role::Client,
        verifier: "aggregated APIs",
        before: None,
        after: meet(Shown::SignedBy(AGGREGATOR), PROXY_CA),
        breaks: "aggregated APIs refuse the masters' API servers until they have read the new authority",
        checked: Checked::No,
    },
    Meeting {
        id: "administrators-to-api-servers",
        presenter: "administrators",
        credential: "admin",
        role: Role::Client,
        verifier: "API servers",
        before: meet(Shown::Kubeconfig(ALL_ADMINS), CLIENT_CA),
        after: meet(Shown::Kubeconfig(ALL_ADMINS), Trusted::Object(ADMIN)),
        breaks: "the admin kubeconfig dies with the bootstrap node",
        checked: Checked::Issued("admin"),
    },
    Meeting {
        id: "joining-kubelets-to-api-servers",
        presenter: "kubelets that join",
        credential: "kubelet-bootstrap",
        role: Role::Client,
        verifier: "API servers",
        before: meet(Shown::Kubeconfig(Kubeconfigs::Joining), CLIENT_CA),
        after: meet(Shown::Kubeconfig(Kubeconfigs::Joining), Trusted::Object(KUBELET_BOOTSTRAP)),
        breaks: "kubelets that want to join are refused by the masters",
        checked: Checked::Issued("kubelet-bootstrap"),
    },
    Meeting {
        id: "api-server-to-kubelets",
        presenter: "API servers",
        credential: "kube-apiserver-kubelet-client",
        role: Role::Client,
        verifier: "kubelets",
        before: meet(KUBELET_CLIENT, Trusted::Kubelets),
        after: meet(KUBELET_CLIENT, Trusted::Object(KUBELET_CLIENTS)),
        breaks: "kubelets refuse the API server once the machine-config operator has written it to nodes",
        checked: Checked::Issued("kube-apiserver-kubelet-client"),
    },
    // Before the pivot nobody asks one: nodes have their whole configuration.
    Meeting {
        id: "machine-config-server-to-nodes",
        presenter: "machine-config server",
        credential: "machine-config-server",
        role: Role::Server,
        verifier: "nodes that join later",
        before: None,
        after: call(Shown::Object(MACHINE_CONFIG_SERVER), Trusted::Object(ROOT), Called::Joining),
        breaks: "nodes that join later refuse the machine-config server",
        checked: Checked::Issued("machine-config-server"),
    },
    // Once the controller-manager operator has written csr-controller-ca anew, out of this Secret.
    Meeting {
        id: "kubelets-to-api-servers-later",
        presenter: "kubelets",
        credential: "kubernetes-ca",
        role: Role::Client,
        verifier: "API servers on masters",
        before: None,
        after: meet(KUBELET, Trusted::Object(CSR_SIGNER)),
        breaks: KUBELETS,
        checked: Checked::Holds("kubernetes-ca"),
    },
    Meeting {
        id: "kubelets-to-api-servers",
        presenter: "kubelets",
        credential: "kubernetes-ca",
        role: Role::Client,
        verifier: "API servers",
        before: meet(KUBELET, CLIENT_CA),
        after: meet(KUBELET, Trusted::Object(CSR_CONTROLLER)),
        breaks: KUBELETS,
        checked: Checked::Holds("kubernetes-ca"),
    },
    Meeting {
        id: "kubelets-serve-api-servers",
        presenter: "kubelets",
        credential: "kubernetes-ca",
        role: Role::Server,
        verifier: "API servers",
        before: meet(KUBELET, Trusted::Flag(API, "kubelet-certificate-authority")),
        after: meet(KUBELET, Trusted::Object(CSR_CONTROLLER)),
        breaks: "the API servers refuse kubelets: no logs, no exec",
        checked: Checked::No,
    },
    Meeting {
        id: "legacy-tokens",
        presenter: "token Secrets",
        credential: "service-account",
        role: Role::Token,
        verifier: "API servers",
        before: meet(Shown::Key(CONTROLLERS, "service-account-private-key-file"), TOKEN_KEYS),
        after: meet(
            Shown::Key(CONTROLLERS, "service-account-private-key-file"),
            Trusted::Object(LEGACY_PUBLIC),
        ),
        breaks: TOKENS,
        checked: Checked::Half("openshift-config/initial-service-account-private-key"),
    },
    Meeting {
        id: "bound-tokens",
        presenter: "service accounts of pods",
        credential: "bound-service-account-signing-key",
        role: Role::Token,
        verifier: "API servers",
        before: meet(Shown::Key(API, "service-account-signing-key-file"), TOKEN_KEYS),
        after: meet(Shown::Key(API, "service-account-signing-key-file"), Trusted::Object(BOUND_PUBLIC)),
        breaks: TOKENS,
        checked: Checked::Half(BOUND),
    },
];
