//! What both programs render for platform `baremetal`: keepalived, HAProxy and CoreDNS, which hold the VIPs and answer for
//! the cluster's names. The real pods are long scripts; these have their names, paths, images and arguments.
//!
//! ```text
//! bootstrap node   keepalived, coredns: nobody else holds the API's VIP before there are masters
//! masters          keepalived, coredns, haproxy
//! workers          keepalived, coredns
//! ```
//!
//! With a load balancer of the user's, keepalived and HAProxy are put where the kubelet does not look.

use serde_json::{Value, json};

use super::manifests::{items, metadata, scalar};
use super::{Build, Done, go_yaml, merge};
use crate::openshift::ignition;

const RESOURCES: &str = "/etc/kubernetes/static-pod-resources";

pub(super) struct OnPrem<'a> {
    /// Comma-separated.
    api: String,
    ingress: String,
    /// Whether the nodes hold the VIPs.
    managed: bool,
    domain: String,
    images: &'a Value,
}

impl<'a> OnPrem<'a> {
    /// From the spec of a ControllerConfig; none on any other platform.
    pub(super) fn of(spec: &'a Value) -> Option<Self> {
        let status = spec["infra"]["status"]["platformStatus"].get("baremetal")?;
        let list = |field: &str| items(&status[field]).iter().map(scalar).collect::<Vec<_>>().join(",");
        let balancer = scalar(&status["loadBalancer"]["type"]);
        Some(Self {
            api: list("apiServerInternalIPs"),
            ingress: list("ingressIPs"),
            managed: matches!(balancer.as_str(), "" | "OpenShiftManagedDefault"),
            domain: scalar(&spec["dns"]["spec"]["baseDomain"]),
            images: &spec["images"],
        })
    }

    /// The files of a role's nodes, for an Ignition config.
    pub(super) fn files(&self, role: &str) -> Vec<Value> {
        let manifests = |on: bool| format!("/etc/kubernetes/{}manifests", if on { "" } else { "disabled-" });
        let mut files = vec![
            (format!("{}/keepalived.yaml", manifests(self.managed)), self.keepalived(false)),
            (format!("{}/coredns.yaml", manifests(!self.api.is_empty())), self.coredns(false)),
            (format!("{RESOURCES}/keepalived/keepalived.conf.tmpl"), template("keepalived")),
            (format!("{RESOURCES}/coredns/Corefile.tmpl"), self.corefile()),
        ];
        if role == "master" {
            files.push((format!("{}/haproxy.yaml", manifests(self.managed)), self.haproxy()));
            files.push((format!("{RESOURCES}/haproxy/haproxy.cfg.tmpl"), template("haproxy")));
        }
        let file =
            |(path, text): (String, String)| merge::file(&path, 0o644, ignition::encode(text.as_bytes()));
        files.into_iter().map(file).collect()
    }

    /// Writes what the bootstrap node gets.
    pub(super) fn bootstrap(&self, build: &Build<'_>, directory: &str) -> Done<()> {
        let put = |file: &str, text: &str| build.put(directory, &format!("baremetal/{file}"), text);
        put("manifests/coredns.yaml", &self.coredns(true))?;
        put("static-pod-resources/coredns/Corefile.tmpl", &self.corefile())?;
        if self.managed {
            put("manifests/keepalived.yaml", &self.keepalived(true))?;
            put("static-pod-resources/keepalived/keepalived.conf.tmpl", &template("keepalived"))?;
        }
        Ok(())
    }

    fn keepalived(&self, bootstrap: bool) -> String {
        let mut monitor = vec![json!("dynkeepalived"), json!(kubeconfig(bootstrap))];
        monitor.extend(["/config/keepalived.conf.tmpl", "/etc/keepalived/keepalived.conf"].map(Value::from));
        monitor.extend(self.vips(bootstrap));
        let containers = json!([
            {"image": self.images["keepalivedImage"], "name": "keepalived"},
            {"command": monitor, "image": self.images["baremetalRuntimeCfgImage"], "name": "keepalived-monitor"},
        ]);
        pod("keepalived", "vrrp", &json!([]), &containers, bootstrap)
    }

    fn coredns(&self, bootstrap: bool) -> String {
        let mut render = ["runtimecfg", "render", kubeconfig(bootstrap)].map(Value::from).to_vec();
        render.extend(self.vips(bootstrap));
        render.extend(["/config", "--out-dir", "/etc/coredns"].map(Value::from));
        let first = json!([
            {"command": render, "image": self.images["baremetalRuntimeCfgImage"], "name": "render-config"},
        ]);
        let containers = json!([
            {"args": ["--conf", "/etc/coredns/Corefile"], "image": self.images["corednsImage"], "name": "coredns"},
        ]);
        pod("coredns", "coredns", &first, &containers, bootstrap)
    }

    fn haproxy(&self) -> String {
        let mut monitor = vec![json!("monitor"), json!(kubeconfig(false))];
        monitor.extend(["/config/haproxy.cfg.tmpl", "/etc/haproxy/haproxy.cfg"].map(Value::from));
        monitor.extend([json!("--api-vips"), json!(self.api)]);
        let containers = json!([
            {"image": self.images["haproxyImage"], "name": "haproxy"},
            {"command": monitor, "image": self.images["baremetalRuntimeCfgImage"], "name": "haproxy-monitor"},
        ]);
        pod("haproxy", "api-lb", &json!([]), &containers, false)
    }

    fn vips(&self, bootstrap: bool) -> Vec<Value> {
        let mut words = vec!["--api-vips", &self.api, "--ingress-vips", &self.ingress];
        if bootstrap {
            words.extend(["--cluster-config", "/opt/openshift/manifests/cluster-config.yaml"]);
        }
        words.into_iter().map(Value::from).collect()
    }

    fn corefile(&self) -> String {
        let (domain, api) = (&self.domain, self.api.split(',').next().unwrap_or_default());
        let ingress = self.ingress.split(',').next().unwrap_or_default();
        format!(
            "# Rendered by the demo release.\n. {{\n    template IN A {domain} {{\n        match ^api-int.{domain}\n        \
             answer \"{{{{ .Name }}}} 60 in {{{{ .Type }}}} {api}\"\n    }}\n    template IN A {domain} {{\n        \
             match .*.apps.{domain}\n        answer \"{{{{ .Name }}}} 60 in {{{{ .Type }}}} {ingress}\"\n    }}\n}}\n"
        )
    }
}

fn kubeconfig(bootstrap: bool) -> &'static str {
    if bootstrap { "/etc/kubernetes/kubeconfig" } else { "/var/lib/kubelet/kubeconfig" }
}

/// The template of a program's configuration, which its companion fills in.
fn template(program: &str) -> String {
    format!("# The template of {program}'s configuration, rendered by the demo release.\n")
}

fn pod(name: &str, app: &str, first: &Value, containers: &Value, bootstrap: bool) -> String {
    let mut metadata = metadata(name, &[], &[("app", &format!("kni-infra-{app}"))]);
    metadata["namespace"] = "openshift-kni-infra".into();
    let volume = |name: &str, path: &str| json!({"hostPath": {"path": path}, "name": name});
    let mut volumes = vec![volume("resource-dir", &format!("{RESOURCES}/{name}"))];
    match bootstrap {
        true => {
            volumes.push(volume("kubeconfig", "/etc/kubernetes/kubeconfig"));
            volumes.push(volume("manifests", "/opt/openshift/manifests"));
        }
        false => volumes.push(volume("kubeconfigvarlib", "/var/lib/kubelet")),
    }
    let mounts: Vec<Value> = volumes
        .iter()
        .map(|volume| {
            let host = scalar(&volume["hostPath"]["path"]);
            let path = if host.starts_with(RESOURCES) { "/config" } else { host.as_str() };
            json!({"mountPath": path, "name": volume["name"]})
        })
        .collect();
    let with_mounts = |containers: &Value| -> Value {
        let mut all = containers.clone();
        for container in all.as_array_mut().into_iter().flatten() {
            container["volumeMounts"] = mounts.clone().into();
        }
        all
    };
    let mut spec = json!({
        "containers": with_mounts(containers),
        "hostNetwork": true,
        "priorityClassName": "system-node-critical",
        "tolerations": [{"operator": "Exists"}],
        "volumes": volumes,
    });
    if !items(first).is_empty() {
        spec["initContainers"] = with_mounts(first);
    }
    go_yaml::write(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))
}
