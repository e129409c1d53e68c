//! The node OS, and what nodes boot with.

use super::Change::{All, Edit, Files, Manifests, Patch, Recipe};
use super::{Mutation, each_is_found, first_of_each};

/// Workers' configs of the user's own, with nothing in them but a mistake.
macro_rules! workers {
    ($config:literal) => {
        [
            (
                "recipes/65-ignition/workers.toml",
                "# Mine.\nbuilder = \"template\"\nfor_each = \"workers\"\nname = \"{node}\"\n[files]\n\"{node}.ign\" = \"mine.ign.j2\"\n\"tree.json\" = \"mine.json.j2\"\n",
            ),
            ("recipes/65-ignition/mine.ign.j2", concat!(r#"{"ignition": {"version": "3.4.0"}, "storage": "#, $config, "}")),
            (
                "recipes/65-ignition/mine.json.j2",
                r#"{"version": "3.4.0", "directories": [], "files": [], "links": [], "units": [], "users": []}"#,
            ),
        ]
    };
}
type Three = [(&'static str, &'static str); 3];
const WORKER_TWICE: Three = workers!(
    r#"{"files": [{"path": "/etc/a", "mode": 420}], "directories": [{"path": "/etc/a", "mode": 493}]}"#
);
const WORKER_BELOW: Three =
    workers!(r#"{"files": [{"path": "/etc/a", "mode": 420}, {"path": "/etc/a/b", "mode": 420}]}"#);
const WORKER_DECIMAL: Three = workers!(r#"{"files": [{"path": "/etc/a", "mode": 644}]}"#);
const WORKER_RELATIVE: Three = workers!(r#"{"files": [{"path": "etc/a", "mode": 420}]}"#);
const WORKER_FETCHES: Three = workers!(
    r#"{"files": [{"path": "/etc/a", "mode": 420, "contents": {"source": "https://example.com/a"}}]}"#
);
const WORKER_MISSPELT: Three = workers!(r#"{"fils": []}"#);

const BAREMETAL: &str = "baremetal: {apiVIPs: [192.168.126.10], ingressVIPs: [192.168.126.11]}";

pub(super) const MUTATIONS: &[Mutation] = &[
    // The node OS.
    (
        "render-drift",
        &[],
        All(&[
            Recipe(
                "knowledge/mco-kinds.toml",
                &[("[[kind]]\nkind = \"MachineConfig.machineconfiguration.openshift.io\"\n", "")],
            ),
            Manifests(&[(
                "mine.yaml",
                "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 99-mine\n  labels: {machineconfiguration.openshift.io/role: worker}\nspec: {config: {ignition: {version: 3.2.0}}}\n",
            )]),
        ]),
        "MachineConfig `99-mine` is among the manifests and did not go into the render",
    ),
    (
        "render-drift",
        &[],
        All(&[
            Recipe(
                "80-check/render.toml",
                &[("manifests = \"patched:manifests\"", "manifests = \"mco/inputs:crs\"")],
            ),
            Manifests(&[(
                "mine.yaml",
                "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 99-mine\n  labels: {machineconfiguration.openshift.io/role: master}\nspec: {config: {ignition: {version: 3.2.0}}}\n",
            )]),
        ]),
        "`99-mine` went into the render and is not among the manifests",
    ),
    // Platform baremetal: nobody holds the API's VIP before the pivot.
    (
        "vip-holders",
        &[],
        All(&[
            Edit("install-config.yaml", "none: {}", BAREMETAL),
            Recipe(
                "65-ignition/bootstrap.toml",
                &[(
                    "from = [\"on-prem-pods\"]\n",
                    "from = [\"on-prem-pods\"]\nexcept = [\"keepalived.yaml\"]\n",
                )],
            ),
        ]),
        "ignition/bootstrap: /etc/kubernetes/manifests/keepalived.yaml: nothing writes it: this node does not serve the api VIPs",
    ),
    // The same with a keepalived that asks nobody where the masters are.
    (
        "vip-holders",
        &[],
        All(&[
            Edit("install-config.yaml", "none: {}", BAREMETAL),
            Recipe(
                "65-ignition/bootstrap.toml",
                &[("path = \"/etc/kubernetes\"\n", "path = \"/etc/kubernetes/elsewhere\"\n")],
            ),
        ]),
        "ignition/bootstrap: /etc/kubernetes/kubeconfig: nothing writes it, but a pod that holds VIPs reads it",
    ),
    // After the pivot: MCO renders from the status, and a patch took a VIP from it.
    (
        "vip-holders",
        &[],
        All(&[
            Edit("install-config.yaml", "none: {}", BAREMETAL),
            Patch(
                "target: {kind: Infrastructure, name: cluster}\npatch: {status: {platformStatus: {baremetal: {apiServerInternalIPs: [192.168.126.20]}}}}\n",
            ),
        ]),
        "/etc/kubernetes/manifests/haproxy.yaml: it does not name the api VIPs, `192.168.126.10`",
    ),
    // What nodes boot with.
    (
        "apiserver-url-env",
        &[],
        Recipe(
            "65-ignition/masters.toml",
            &[(
                "[[params.users]]",
                "[[params.write]]\npath = \"/etc/kubernetes/apiserver-url.env\"\nmode = \"0644\"\nfrom = \"hostname\"\nreplace = \"x\"\nwhy = \"x\"\n\n[[params.users]]",
            )],
        ),
        "ignition/master-0: /etc/kubernetes/apiserver-url.env: it does not set KUBERNETES_SERVICE_HOST",
    ),
    (
        "bootkube-path",
        &[],
        Recipe(
            "65-ignition/bootstrap.toml",
            &[("path = \"/usr/local/bin/bootkube.sh\"", "path = \"/opt/openshift/bootkube.sh\"")],
        ),
        "ignition/bootstrap: /usr/local/bin/bootkube.sh: nothing writes it",
    ),
    (
        "bootkube-path",
        &[],
        Recipe(
            "65-ignition/bootkube.service.j2",
            &[("ExecStart=/usr/local/bin/bootkube.sh", "ExecStart=/opt/openshift/bootkube.sh")],
        ),
        "bootkube.service: it does not start /usr/local/bin/bootkube.sh",
    ),
    (
        "bootstrap-kubelet-standalone",
        &[],
        Recipe(
            "65-ignition/kubelet.service.j2",
            &[("  --v=2\n", "  --v=2 \\\n  --kubeconfig=/etc/kubernetes/kubeconfigs/localhost.kubeconfig\n")],
        ),
        "ignition/bootstrap: kubelet.service: it has `--kubeconfig`",
    ),
    ("duplicate-path", &[], Files(&WORKER_TWICE), "ignition/worker-0: /etc/a: it is written twice"),
    (
        "duplicate-path",
        &["kubelet-ca", "node-credentials", "pause-image"],
        Files(&WORKER_BELOW),
        "ignition/worker-1: /etc/a/b: `/etc/a`, its parent, is not a directory",
    ),
    (
        "flag-files-exist",
        &[],
        Recipe(
            "65-ignition/bootstrap.toml",
            &[("[\"front-proxy-ca-bundle.crt\"]", "[\"front-proxy-ca-bundle.crt\", \"etcd-server.crt\"]")],
        ),
        "nothing writes `/etc/kubernetes/bootstrap-secrets/etcd-server.crt` of `--cert-file`",
    ),
    (
        "flag-files-exist",
        &[],
        Recipe(
            "65-ignition/masters.toml",
            &[(
                "path = \"/etc/kubernetes/kubeconfigs/kube-proxy.kubeconfig\"",
                "path = \"/etc/kubernetes/kubeconfigs/other.kubeconfig\"",
            )],
        ),
        "`/etc/kubernetes/kubeconfigs/kube-proxy.kubeconfig` is mounted as a File, but nothing writes it",
    ),
    (
        "ignition-modes",
        &[],
        Recipe(
            "65-ignition/workers.toml",
            &[("path = \"/etc/hostname\"\nmode = \"0644\"", "path = \"/etc/hostname\"\nmode = \"0666\"")],
        ),
        "ignition/worker-0: /etc/hostname: its mode 0666 lets others write",
    ),
    (
        "ignition-modes",
        &["kubelet-ca", "node-credentials", "pause-image"],
        Files(&WORKER_DECIMAL),
        "ignition/worker-0: /etc/a: its mode 1204 keeps its owner out",
    ),
    (
        "ignition-paths",
        &["kubelet-ca", "node-credentials", "pause-image"],
        Files(&WORKER_RELATIVE),
        "ignition/worker-0: etc/a: it is not absolute",
    ),
    (
        "ignition-pinned",
        &["kubelet-ca", "node-credentials", "pause-image"],
        Files(&WORKER_FETCHES),
        "ignition/worker-0: /etc/a: it is fetched, but has no `verification.hash`",
    ),
    (
        "ignition-size",
        &[],
        Recipe(
            "65-ignition/images.env.j2",
            &[(
                "{% for component",
                "{% set text = \"0123456789012345678901234567890123456789012345678901234567890123\" * 64 %}\n{% for at in range(4100) %}\n{{ text }}\n{% endfor %}\n{% for component",
            )],
        ),
        "ignition/bootstrap: it has 16 MiB",
    ),
    ("ignition-spec", &[], Files(&WORKER_MISSPELT), "ignition/worker-0: spec 3.4.0 has no `storage.fils`"),
    (
        "kube-proxy",
        &[],
        Recipe(
            "65-ignition/masters.toml",
            &[(
                "path = \"/etc/kubernetes/manifests/kube-proxy.yaml\"",
                "path = \"/etc/kubernetes/kube-proxy.yaml\"",
            )],
        ),
        "ignition/master-0: /etc/kubernetes/manifests/: no static pod runs kube-proxy",
    ),
    (
        "kube-proxy",
        &[],
        Recipe(
            "65-ignition/masters.toml",
            &[(
                "kube-proxy-kubeconfig = \"kubeconfig/kube-proxy:kube-proxy.kubeconfig\"",
                "kube-proxy-kubeconfig = \"kubeconfig/kube-scheduler:kube-scheduler.kubeconfig\"",
            )],
        ),
        "kube-proxy is `CN=system:kube-scheduler`, not `CN=system:kube-proxy`",
    ),
    (
        "kube-proxy",
        &[],
        Recipe(
            "24-pki/kube-proxy.toml",
            &[("[params.subject]\n", "[params.subject]\norganizations = [\"system:masters\"]\n")],
        ),
        "kube-proxy is `O=system:masters, CN=system:kube-proxy`, not `CN=system:kube-proxy`",
    ),
    (
        "kube-proxy-cleanup",
        &[],
        Recipe(
            "65-ignition/masters.toml",
            &[(
                "name = \"kube-proxy-cleanup.service\"\nenabled = true",
                "name = \"kube-proxy-cleanup.service\"\nenabled = false",
            )],
        ),
        "ignition/master-0: /etc/kubernetes/manifests/kube-proxy.yaml: no enabled unit runs a script of this node with",
    ),
    (
        "kube-proxy-cleanup",
        &[],
        Recipe(
            "65-ignition/kube-proxy-cleanup.sh.j2",
            &[("{{ services | join(\" \") }}", "{{ services | length }}")],
        ),
        "no enabled unit runs a script of this node with `/etc/kubernetes/manifests/kube-proxy.yaml`, `/etc/kubernetes/kubeconfigs/kube-proxy.kubeconfig`, `172.30.0.0/16` in it",
    ),
    (
        "kube-proxy-cleanup",
        &["flag-files-exist"],
        Recipe(
            "65-ignition/masters.toml",
            &[
                (
                    "path = \"/etc/kubernetes/kubeconfigs/kube-proxy.kubeconfig\"",
                    "path = \"/etc/kubernetes/kubeconfigs/proxy.kubeconfig\"",
                ),
                (
                    "path = \"/usr/local/bin/kube-proxy-cleanup.sh\"",
                    "path = \"/usr/local/bin/kube-proxy-clean.sh\"",
                ),
            ],
        ),
        "ignition/master-0: /etc/kubernetes/manifests/kube-proxy.yaml: no enabled unit",
    ),
    (
        "node-credentials",
        &[],
        Recipe(
            "65-ignition/workers.toml",
            &[(
                "kubeconfig/kubelet-bootstrap-{node}:kubelet-bootstrap-{node}.kubeconfig",
                "kubeconfig/kubelet-bootstrap-worker-0:kubelet-bootstrap-worker-0.kubeconfig",
            )],
        ),
        "ignition/worker-1: /etc/kubernetes/kubeconfig: it is for `O=system:bootstrappers, CN=system:bootstrapper:worker-0.ocp4.example.com`, not for `O=system:bootstrappers, CN=system:bootstrapper:worker-1.ocp4.example.com`",
    ),
    (
        "node-credentials",
        &[],
        All(&[
            Recipe(
                "24-pki/kubelet-bootstrap.toml",
                &[(
                    "key/kubelet-bootstrap-{node}:kubelet-bootstrap-{node}.key",
                    "key/kubelet-bootstrap-master-0:kubelet-bootstrap-master-0.key",
                )],
            ),
            Recipe(
                "26-kubeconfig/kubelet-bootstrap.toml",
                &[(
                    "key/kubelet-bootstrap-{node}:kubelet-bootstrap-{node}.key",
                    "key/kubelet-bootstrap-master-0:kubelet-bootstrap-master-0.key",
                )],
            ),
        ]),
        "ignition/master-1: /etc/kubernetes/kubeconfig: `master-0` has the same key",
    ),
    (
        "node-credentials",
        &[],
        Recipe("24-pki/kubelet-bootstrap.toml", &[("most_hours = 336", "most_hours = 8760")]),
        "ignition/master-0: /etc/kubernetes/kubeconfig: it is valid for 365 days, not for 14",
    ),
    (
        "node-credentials",
        &[],
        Recipe(
            "24-pki/kubelet-bootstrap.toml",
            &[("organizations = [\"system:bootstrappers\"]", "organizations = [\"system:masters\"]")],
        ),
        "it is for `O=system:masters, CN=system:bootstrapper:master-0.ocp4.example.com`, not for",
    ),
    (
        "kubelet-ca",
        &[],
        Recipe(
            "65-ignition/workers.toml",
            &[("path = \"/etc/kubernetes/kubelet-ca.crt\"", "path = \"/etc/kubernetes/kubelet-cas.crt\"")],
        ),
        "ignition/worker-0: /etc/kubernetes/kubelet-ca.crt: nothing writes it",
    ),
    (
        "pause-image",
        &[],
        Recipe("65-ignition/crio.conf.j2", &[("pause_image = ", "pause_images = ")]),
        "ignition/bootstrap: /etc/crio/crio.conf.d/: no file sets `pause_image`",
    ),
    (
        "pause-image",
        &[],
        Recipe(
            "65-ignition/crio.conf.j2",
            &[(
                "pause_image_auth_file = \"/var/lib/kubelet/config.json\"",
                "pause_image_auth_file = \"/root/.docker/config.json\"",
            )],
        ),
        "`pause_image_auth_file` is `/root/.docker/config.json`, which nothing writes",
    ),
    (
        "secrets-readable",
        &[],
        Recipe(
            "65-ignition/bootstrap.toml",
            &[(
                "path = \"/var/lib/kubelet/config.json\"\nmode = \"0600\"",
                "path = \"/var/lib/kubelet/config.json\"\nmode = \"0644\"",
            )],
        ),
        "ignition/bootstrap: /var/lib/kubelet/config.json: it is secret, but has mode 0644",
    ),
    (
        "systemd-units",
        &[],
        Recipe("65-ignition/bootkube.service.j2", &[("[Install]\nWantedBy=multi-user.target\n", "")]),
        "ignition/bootstrap: bootkube.service: it is enabled, but has no [Install] section",
    ),
    (
        "systemd-units",
        &["bootkube-path"],
        Recipe("65-ignition/bootkube.service.j2", &[("[Service]", "[Servise]")]),
        "ignition/bootstrap: bootkube.service: [Servise] is not a section of such a unit",
    ),
    (
        "master-label",
        &[],
        Manifests(&[(
            "mine.yaml",
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: 99-mine, labels: {machineconfiguration.openshift.io/role: master}}\nspec:\n  config:\n    ignition: {version: 3.4.0}\n    systemd:\n      units:\n      - name: kubelet.service\n        dropins:\n        - name: 99-mine.conf\n          contents: |\n            [Service]\n            ExecStart=\n            ExecStart=/usr/bin/kubelet --node-labels=node-role.kubernetes.io/control-plane\n",
        )]),
        "ignition/master-0: kubelet.service: it does not register with `node-role.kubernetes.io/master`",
    ),
];

#[test]
fn each_check_finds_its_first_mutation() {
    each_is_found(&first_of_each(MUTATIONS).0);
}

mod host {
    #[test]
    fn each_check_finds_its_other_mutations() {
        super::each_is_found(&super::first_of_each(super::MUTATIONS).1);
    }
}
