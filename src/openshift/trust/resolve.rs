//! Resolves locations of credentials: the file that a flag names, a kubeconfig, a hand-over object.
//!
//! An error is a sentence that says what is missing. It never contains a value, because some are secret.

use super::Machine;
use super::documents::{Kubeconfig, belongs, certificates, documents, held, host, is_object};
use crate::base::pki::{Certificate, PrivateKey};
use crate::base::yaml::{self, YamlData, YamlNode};
use crate::openshift::knowledge::{
    Anchor, Credential, DialedName, FlagOf, Kubeconfigs, ObjectKey, PairFlags,
};
use crate::openshift::pod::{Container, containers};

const STATIC_PODS: &str = "/etc/kubernetes/manifests/";
const MANIFESTS: &str = "/opt/openshift/manifests/";
const KUBECONFIGS: &str = "/etc/kubernetes/kubeconfigs/";
/// The kubeconfig that nodes join with.
const JOINING: &str = "/etc/kubernetes/kubeconfig";
const KUBELET_CONFIG: &str = "/etc/kubernetes/kubelet.conf";
/// The kubelet's default client CA file.
const KUBELET_CLIENTS: &str = "/etc/kubernetes/kubelet-ca.crt";

pub(super) type Found<T> = Result<T, String>;

/// A presented credential.
pub(super) struct Case {
    pub(super) from: String,
    pub(super) what: What,
}

pub(super) enum What {
    /// A certificate, and the rest of the chain that is sent.
    Leaf(Vec<Certificate>),
    /// An authority that signs a certificate later, with its issuers; whether it is sent too.
    Signer { chain: Vec<Certificate>, sent: bool },
    /// The key that signs tokens.
    Key(Box<PrivateKey>),
}

/// What a verifier trusts.
pub(super) struct Basis {
    pub(super) from: String,
    pub(super) what: Accepts,
    /// The name that it dials, if the same file contains it.
    pub(super) host: Option<String>,
}

pub(super) enum Accepts {
    /// Certificates that these vouch for; whether a chain must end in a root.
    Authorities { all: Vec<Certificate>, to_root: bool },
    /// Tokens whose public key is among these.
    Keys(Vec<String>),
}

/// All machines, with the bootstrap node's static pods parsed.
pub(super) struct Site<'a> {
    machines: &'a [Machine],
    programs: Vec<Container>,
}

impl<'a> Site<'a> {
    pub(super) fn new(machines: &'a [Machine]) -> Self {
        let bootstrap = machines.iter().filter(|machine| machine.pool.bootstraps());
        let pods = bootstrap.flat_map(|machine| &machine.files);
        let pods = pods.filter(|(path, _)| path.starts_with(STATIC_PODS) && yaml::is_manifest(path));
        let programs = pods.flat_map(|(path, text)| {
            documents(path, text).iter().flat_map(|root| containers(root, text)).collect::<Vec<_>>()
        });
        Self { machines, programs: programs.collect() }
    }

    pub(super) fn shown(&self, shows: &Credential) -> Found<Vec<Case>> {
        match shows {
            Credential::Flags(PairFlags { pod, certificate, key }) => {
                let (path, text) = self.flag_file(pod, certificate)?;
                let chain = certificates(&path, &text)?;
                let (key_path, key) = self.flag_file(pod, key)?;
                belongs(&chain, &key_path, &key)?;
                Ok(vec![Case { from: path, what: What::Leaf(chain) }])
            }
            Credential::Kubeconfigs(kubeconfigs) => {
                let all = self.kubeconfigs(kubeconfigs)?.into_iter();
                all.map(|one| {
                    let chain = certificates(&one.path, &one.of("client-certificate-data")?)?;
                    belongs(&chain, &one.path, &one.of("client-key-data")?)?;
                    Ok(Case { from: one.path, what: What::Leaf(chain) })
                })
                .collect()
            }
            Credential::Object(object) => {
                Ok(vec![Case { from: object.to_string(), what: What::Leaf(self.pair(object)?) }])
            }
            Credential::SignedBy(object) => {
                let what = What::Signer { chain: self.pair(object)?, sent: true };
                Ok(vec![Case { from: object.to_string(), what }])
            }
            Credential::SignedByFlag(FlagOf { pod, flag }) => {
                let (path, text) = self.flag_file(pod, flag)?;
                let what = What::Signer { chain: certificates(&path, &text)?, sent: false };
                Ok(vec![Case { from: path, what }])
            }
            Credential::Key(FlagOf { pod, flag }) => {
                let (path, text) = self.flag_file(pod, flag)?;
                let key = PrivateKey::from_pem(&text)
                    .map_err(|_| format!("`{path}` has no private key that can be read"))?;
                Ok(vec![Case { from: path, what: What::Key(Box::new(key)) }])
            }
        }
    }

    /// The trust anchors.
    pub(super) fn trusted(&self, trusts: &Anchor) -> Found<Vec<Basis>> {
        let authorities = |from: String, text: &str, to_root| {
            let what = Accepts::Authorities { all: certificates(&from, text)?, to_root };
            Ok(Basis { from, what, host: None })
        };
        match trusts {
            Anchor::Flag(FlagOf { pod, flag }) | Anchor::FlagToRoot(FlagOf { pod, flag }) => {
                let (path, text) = self.flag_file(pod, flag)?;
                Ok(vec![authorities(path, &text, matches!(trusts, Anchor::FlagToRoot(_)))?])
            }
            Anchor::FileToRoot(path) => Ok(vec![authorities(path.clone(), self.file(path)?, true)?]),
            Anchor::Kubeconfigs(kubeconfigs) => {
                let all = self.kubeconfigs(kubeconfigs)?.into_iter();
                all.map(|one| {
                    let text = one.of("certificate-authority-data")?;
                    let host = one.of("server").ok().map(|server| host(&server).to_owned());
                    Ok(Basis { host, ..authorities(one.path, &text, false)? })
                })
                .collect()
            }
            Anchor::Object(object) => {
                let (from, text) = (object.to_string(), self.object(object)?);
                if text.contains("-----BEGIN PUBLIC KEY-----") {
                    return Ok(vec![Basis { from, what: Accepts::Keys(vec![text]), host: None }]);
                }
                Ok(vec![authorities(from, &text, false)?])
            }
            Anchor::Kubelets => self
                .nodes()
                .map(|machine| {
                    let path = client_ca(machine);
                    let from = on(machine, &path);
                    let text = machine.files.get(&path).ok_or_else(|| absent(&path, &machine.name))?;
                    authorities(from, text, false)
                })
                .collect(),
            Anchor::Keys(FlagOf { pod, flag }) => {
                let mut keys = Vec::new();
                let paths = self.flag_paths(pod, flag)?;
                for path in &paths {
                    keys.push(self.file(path)?.to_owned());
                }
                Ok(vec![Basis { from: paths.join(" and "), what: Accepts::Keys(keys), host: None }])
            }
        }
    }

    /// The expected names: all of them for a server, one of them for a client. None if nobody checks.
    pub(super) fn names(&self, dials: &DialedName, basis: &Basis) -> Found<Option<Vec<String>>> {
        Ok(Some(match dials {
            DialedName::Any => return Ok(None),
            DialedName::Names(names) => names.clone(),
            DialedName::Kubeconfig => {
                vec![basis.host.clone().ok_or_else(|| format!("`{}` names no server", basis.from))?]
            }
            DialedName::Joining => {
                let all = self.kubeconfigs(&Kubeconfigs::Joining)?.into_iter();
                all.map(|one| Ok(host(&one.of("server")?).to_owned())).collect::<Found<_>>()?
            }
            DialedName::Urls(FlagOf { pod, flag }) => {
                self.flag(pod, flag)?.split(',').map(|url| host(url).to_owned()).collect()
            }
            DialedName::Allowed(FlagOf { pod, flag }) => {
                self.flag(pod, flag)?.split(',').map(str::to_owned).collect()
            }
            DialedName::Annotation(object) => {
                let document = self.document(object)?;
                let found = document.get("metadata").and_then(|metadata| metadata.get("annotations"));
                let found =
                    found.and_then(|annotations| annotations.get(&object.key)).and_then(YamlNode::text);
                let found = found.map(|address| vec![address.to_owned()]);
                // Where no bootstrap member is announced, the members are listed.
                found.or_else(|| listed(&document)).ok_or_else(|| format!("{object} does not exist"))?
            }
        }))
    }

    fn program(&self, name: &str) -> Found<&Container> {
        let runs = |one: &&Container| one.program.iter().any(|word| word.rsplit('/').next() == Some(name));
        let found = self.programs.iter().find(runs);
        found.ok_or_else(|| format!("no static pod of the bootstrap node runs `{name}`"))
    }

    /// The value of a flag; the last one counts.
    fn flag(&self, pod: &str, flag: &str) -> Found<&str> {
        let all = self.program(pod)?.flags.iter().rev();
        let found = all.filter(|one| one.name == flag).find_map(|one| one.value.as_deref());
        found.ok_or_else(|| format!("`{pod}` has no flag `--{flag}`"))
    }

    /// The node paths of the files that a flag names, from all its occurrences.
    pub(super) fn flag_paths(&self, pod: &str, flag: &str) -> Found<Vec<String>> {
        let program = self.program(pod)?;
        let flags = program.flags.iter().filter(|one| one.name == flag);
        let mut values: Vec<String> = flags.filter_map(|one| one.value.clone()).collect();
        if values.is_empty() {
            values = self.configured(program, flag);
        }
        if values.is_empty() {
            return Err(format!("`{pod}` has no flag `--{flag}`"));
        }
        let on_node = |path: &String| {
            program
                .on_node(path)
                .ok_or_else(|| format!("`--{flag}` of {pod} names `{path}`, which is not mounted"))
        };
        values.iter().map(on_node).collect()
    }

    /// The values of a flag that OpenShift's API server takes from its file: under this name, or as an argument.
    fn configured(&self, program: &Container, flag: &str) -> Vec<String> {
        let file = program.flags.iter().find(|one| one.name == "openshift-config");
        let path = file.and_then(|one| program.on_node(one.value.as_deref()?));
        let text = path.as_deref().and_then(|path| Some((path, self.file(path).ok()?)));
        let config = text.and_then(|(path, text)| documents(path, text).into_iter().next());
        let values = config.as_ref().and_then(|config| match flag {
            "service-account-key-file" => config.get("serviceAccountPublicKeyFiles"),
            _ => config.get("apiServerArguments")?.get(flag),
        });
        values
            .map(YamlNode::items)
            .unwrap_or_default()
            .iter()
            .filter_map(YamlNode::text)
            .map(str::to_owned)
            .collect()
    }

    fn flag_file(&self, pod: &str, flag: &str) -> Found<(String, String)> {
        let path = self.flag_paths(pod, flag)?.pop().unwrap_or_default();
        let text = self.file(&path)?.to_owned();
        Ok((path, text))
    }

    fn file(&self, path: &str) -> Found<&'a str> {
        let mut all = self.machines.iter().filter(|machine| machine.pool.bootstraps());
        let found = all.find_map(|machine| machine.files.get(path));
        found.map(String::as_str).ok_or_else(|| absent(path, "the bootstrap node"))
    }

    fn nodes(&self) -> impl Iterator<Item = &'a Machine> {
        self.machines.iter().filter(|machine| machine.pool.joins())
    }

    fn document(&self, object: &ObjectKey) -> Found<YamlNode> {
        let bootstrap = self.machines.iter().filter(|machine| machine.pool.bootstraps());
        let files = bootstrap.flat_map(|machine| &machine.files);
        let files = files.filter(|(path, _)| path.starts_with(MANIFESTS) && yaml::is_manifest(path));
        let name = object.name.rsplit('/').next().unwrap_or_default();
        let files = files.filter(|(_, text)| text.contains(name));
        let mut documents = files.flat_map(|(path, text)| documents(path, text));
        let found = documents.find(|document| is_object(document, &object.kind, &object.name));
        found.ok_or_else(|| format!("there is no {} {}", object.kind, object.name))
    }

    fn object(&self, object: &ObjectKey) -> Found<String> {
        held(&self.document(object)?, &object.key).ok_or_else(|| format!("{object} is empty"))
    }

    /// The certificates of a Secret that also has their key.
    fn pair(&self, object: &ObjectKey) -> Found<Vec<Certificate>> {
        let chain = certificates(&object.to_string(), &self.object(object)?)?;
        let key = ObjectKey { key: "tls.key".into(), ..object.clone() };
        belongs(&chain, &key.to_string(), &self.object(&key)?)?;
        Ok(chain)
    }

    fn kubeconfigs(&self, which: &Kubeconfigs) -> Found<Vec<Kubeconfig>> {
        match which {
            Kubeconfigs::Named(names) => {
                let paths = names.iter().map(|name| format!("{KUBECONFIGS}{name}.kubeconfig"));
                paths.map(|path| Kubeconfig::read(self.file(&path)?, path)).collect()
            }
            Kubeconfigs::Flagged(pods) => {
                let files = pods.iter().map(|pod| self.flag_file(pod, "kubeconfig"));
                files.map(|file| file.and_then(|(path, text)| Kubeconfig::read(&text, path))).collect()
            }
            Kubeconfigs::Masters(names) => {
                let masters = self.machines.iter().filter(|machine| machine.pool.is_master());
                let all = masters.flat_map(|machine| names.iter().map(move |name| (machine, name)));
                all.map(|(machine, name)| kubeconfig_on(machine, &format!("{KUBECONFIGS}{name}.kubeconfig")))
                    .collect()
            }
            Kubeconfigs::Joining => self.nodes().map(|machine| kubeconfig_on(machine, JOINING)).collect(),
        }
    }
}

/// The values of a ConfigMap; none if it has none.
fn listed(document: &YamlNode) -> Option<Vec<String>> {
    let YamlData::Map(entries) = &document.get("data")?.data else { return None };
    let values: Vec<String> =
        entries.iter().filter_map(|entry| entry.value.text()).map(str::to_owned).collect();
    (!values.is_empty()).then_some(values)
}

fn kubeconfig_on(machine: &Machine, path: &str) -> Found<Kubeconfig> {
    let text = machine.files.get(path).ok_or_else(|| absent(path, &machine.name))?;
    Kubeconfig::read(text, on(machine, path))
}

fn on(machine: &Machine, path: &str) -> String {
    format!("{path} on {}", machine.name)
}

fn absent(path: &str, machine: &str) -> String {
    format!("there is no file `{path}` on {machine}")
}

/// The client CA file of a kubelet.
fn client_ca(machine: &Machine) -> String {
    let config = machine.files.get(KUBELET_CONFIG).map(|text| documents(KUBELET_CONFIG, text));
    let root = config.and_then(|documents| documents.into_iter().next());
    let named =
        root.as_ref().and_then(|root| root.get("authentication")?.get("x509")?.get("clientCAFile")?.text());
    named.unwrap_or(KUBELET_CLIENTS).to_owned()
}
