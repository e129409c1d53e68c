//! A preview: this cluster with other images for some components.
//!
//! A preview is never a generation: the cluster-version operator would deploy the payload's own images, so nobody could
//! boot it.
//!
//! | the other image | what is replaced |
//! |---|---|
//! | a directory or layout: nodes cannot pull it | the files that programs of the component run with; artifacts keep the payload's pull spec |
//! | of a registry | the pull spec too, wherever it appears |

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::release::read_image;
use super::{ClusterDir, Env, Missing, Result, Workspace, WorkspaceError, access};
use crate::base::event::Event;
use crate::base::fs;
use crate::base::hint::{Place, near};
use crate::base::value::Value;
use crate::engine::fields::{Field, Origins, Projected};
use crate::engine::recipe::NodeIndex;
use crate::engine::registry::{
    Cached, Deferred, ImageName, Images, LAYOUT, Layout, Opened, Reference, Remote, Replaced, RootDir, Sha256,
};
use crate::engine::sandbox::machine_of;
use crate::openshift::config::Cluster;

/// The derivation with the pull specs of all components, and where they are in it.
const IMAGES: &str = "release/images";
const COMPONENTS: &str = "components/";

/// The derivation that the pull specs come from.
const PAYLOAD: &str = "release/payload";

/// The root of the fields that a preview adds.
pub(crate) const PREVIEW: &str = "preview";

/// Another image for a component, as written on the command line: `NAME=REF`.
#[derive(Debug, Clone)]
pub(crate) struct Replacement {
    component: String,
    reference: String,
}

impl std::str::FromStr for Replacement {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text.split_once('=') {
            Some((component, reference)) if !component.is_empty() && !reference.is_empty() => {
                Ok(Self { component: component.to_owned(), reference: reference.to_owned() })
            }
            _ => Err("it must be NAME=REF, such as machine-config-operator=./root".into()),
        }
    }
}

impl std::fmt::Display for Replacement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.component, self.reference)
    }
}

/// An image that stands in for a component's own.
struct StandIn {
    source: Opened,
    digest: Sha256,
    /// The pull spec, if nodes can pull it.
    pull_spec: Option<String>,
}

/// A cluster with replaced components.
pub(crate) struct Preview {
    pub workspace: Workspace,
    replaced: Vec<ReplacedComponent>,
}

struct ReplacedComponent {
    name: String,
    /// The derivations that have the files of its image.
    images: Vec<NodeIndex>,
    /// Whether its pull spec is another one too.
    by_pull_spec: bool,
}

impl Preview {
    /// Whether a derivation is an image that was replaced: what differs in it is what the user did.
    pub(crate) fn is_replaced(&self, derivation: &str) -> bool {
        let at = self.workspace.graph.find(derivation);
        at.is_some_and(|at| self.replaced.iter().any(|component| component.images.contains(&at)))
    }

    /// Refuses a preview in which nothing reads a replaced image: "no difference" would mean nothing.
    pub(crate) fn check_used(&self, targets: &[NodeIndex]) -> Result<()> {
        let graph = &self.workspace.graph;
        let closure = graph.closure(targets);
        for ReplacedComponent { name, images, by_pull_spec } in &self.replaced {
            if *by_pull_spec || images.iter().any(|at| closure.contains(at)) {
                continue;
            }
            let readers = graph.nodes().iter().filter(|node| {
                node.inputs.values().any(|edge| images.contains(&edge.node) && edge.from != node.name)
            });
            let readers = readers.map(|node| node.name.clone()).collect();
            return Err(WorkspaceError::ComponentUnused { component: name.clone(), readers });
        }
        Ok(())
    }
}

impl Workspace {
    /// This cluster with other images for some components. Writes nothing to the directory; builds the list of components.
    pub(crate) fn preview(env: Env<'_>, replacements: &[Replacement]) -> Result<Preview> {
        let mut workspace = Self::load(env, Missing::Make)?;
        let names = workspace.component_names(env)?;
        let architecture = workspace.architecture()?;
        let mut stand_ins = BTreeMap::new();
        for replacement in replacements {
            let name = workspace.component_named(&replacement.component, &names)?;
            let stand_in =
                open(env, &workspace.directory, &workspace.cluster, &replacement.reference, &architecture)?;
            if stand_ins.insert(name.clone(), stand_in).is_some() {
                return Err(WorkspaceError::ComponentTwice { component: name });
            }
        }
        let replaced = workspace.replace(&stand_ins, &architecture)?;
        Ok(Preview { workspace, replaced })
    }

    /// The components of the pinned release.
    fn component_names(&self, env: Env<'_>) -> Result<Vec<String>> {
        let targets = self.select(&[IMAGES.to_owned()])?;
        let session = self.session(env)?;
        let outcome = self.build(env, &session, &targets)?;
        let mut names = Vec::new();
        for target in targets {
            let Some(done) = outcome.done.get(&target) else { continue };
            let found = session.store().object(done.output.object)?;
            names.extend(
                found
                    .listing
                    .leaves("")
                    .filter_map(|(path, _)| Some(path.strip_prefix(COMPONENTS)?.to_owned())),
            );
        }
        Ok(names)
    }

    /// A component by the release's name for it, or by the name that OCP has for it.
    fn component_named(&self, asked: &str, names: &[String]) -> Result<String> {
        let known = |name: &str| names.iter().any(|known| known == name);
        let named = [Some(asked), self.component(asked)?].into_iter().flatten().find(|name| known(name));
        named.map(str::to_owned).ok_or_else(|| WorkspaceError::NoComponent {
            component: asked.to_owned(),
            near: near(asked, names.iter().map(String::as_str)).map(str::to_owned),
        })
    }

    fn architecture(&self) -> Result<String> {
        let found = self.fields.project("lock.release.architecture").ok();
        let text = found.and_then(|found| match found.value {
            Projected::Plain(value) => value.as_text().map(str::to_owned),
            Projected::Secret(_) => None,
        });
        text.ok_or_else(|| WorkspaceError::Unpinned { asked: self.cluster.release.to_string() })
    }

    /// Puts the stand-ins into the graph and into the image source; says which derivations have other files now.
    fn replace(
        &mut self,
        stand_ins: &BTreeMap<String, StandIn>,
        architecture: &str,
    ) -> Result<Vec<ReplacedComponent>> {
        let origin: Origins = [Place::file("--component")].into();
        let digests = stand_ins.iter().map(|(name, one)| (name.clone(), Value::from(one.digest.to_string())));
        let pulled = stand_ins
            .iter()
            .filter_map(|(name, one)| Some((name.clone(), Value::from(one.pull_spec.as_deref()?))));
        let pulled: BTreeMap<String, Value> = pulled.collect();
        let preview = BTreeMap::from([
            ("content".to_owned(), Field::data(Value::Map(digests.collect()), &origin)),
            ("images".to_owned(), Field::data(Value::Map(pulled.clone()), &origin)),
        ]);
        self.fields = self.fields.with(PREVIEW, Field::Map(preview));
        if !pulled.is_empty()
            && let Some(at) = self.graph.find(PAYLOAD)
        {
            self.graph.add_config(at, "components", &format!("{PREVIEW}.images"), &self.fields)?;
        }
        let mut replaced = Vec::new();
        for (name, stand_in) in stand_ins {
            let path = format!("{COMPONENTS}{name}");
            let entries = self.graph.nodes().entries().filter(|(_, node)| {
                let of = node.inputs.get("reference");
                node.builder.0 == "image"
                    && of.is_some_and(|edge| edge.from == IMAGES && edge.path.as_ref() == Some(&path))
            });
            let images: Vec<NodeIndex> = entries.map(|(at, _)| at).collect();
            let by_pull_spec = stand_in.pull_spec.is_some();
            if !by_pull_spec {
                for at in &images {
                    self.graph.add_config(
                        *at,
                        "content",
                        &format!("{PREVIEW}.content.{name}"),
                        &self.fields,
                    )?;
                }
            }
            replaced.push(ReplacedComponent { name: name.clone(), images, by_pull_spec });
        }
        let usual = self.opened()?;
        let mut images = Replaced::new(Arc::clone(&usual.images));
        for stand_in in stand_ins.values() {
            images.add(&stand_in.source, stand_in.digest, architecture)?;
        }
        let opened = Opened { images: Arc::new(images), name: usual.name.clone() };
        self.images = Some(Deferred::new(move || Ok(opened.clone())));
        Ok(replaced)
    }
}

/// Opens the image of a reference: a directory, a layout, or an image of a registry.
fn open(
    env: Env<'_>,
    directory: &ClusterDir,
    cluster: &Cluster,
    reference: &str,
    architecture: &str,
) -> Result<StandIn> {
    if reference.starts_with(['/', '.']) {
        return root(env, Path::new(reference), reference, architecture);
    }
    let stand_in = match reference.strip_prefix("oci:") {
        Some(rest) => layout(rest)?,
        None => {
            let invalid = || WorkspaceError::ComponentReference { reference: reference.to_owned() };
            let name: ImageName = reference.parse().map_err(|_| invalid())?;
            let remote: Arc<dyn Images> = Arc::new(Remote::new(access(env, cluster))?);
            let blobs = super::open_store(env.store, directory.path()).ok().map(|store| store.blobs());
            let images = match blobs {
                Some(blobs) => Arc::new(Cached::new(blobs, remote)?),
                None => remote,
            };
            let digest = images.resolve(&name)?;
            let pull_spec = Some(name.at(digest).to_string());
            StandIn { source: Opened { images, name: name.at(digest) }, digest, pull_spec }
        }
    };
    read_image(&stand_in.source, &stand_in.digest, architecture)?;
    Ok(stand_in)
}

/// A layout: with a tag or digest, or with just one image.
fn layout(text: &str) -> Result<StandIn> {
    let named = |path: &str, reference: Reference| ImageName {
        registry: LAYOUT.to_owned(),
        repository: path.to_owned(),
        reference,
    };
    let whole = fs::exists(Path::new(text))?.then_some(text);
    let (path, reference) = match (whole, text.split_once('@'), text.rsplit_once(':')) {
        (Some(path), ..) => (path, None),
        (None, Some((path, digest)), _) => {
            let invalid = |_| WorkspaceError::ComponentReference { reference: format!("oci:{text}") };
            (path, Some(Reference::Digest(digest.parse().map_err(invalid)?)))
        }
        (None, None, Some((path, tag))) => (path, Some(Reference::Tag(tag.to_owned()))),
        (None, None, None) => (text, None),
    };
    let layout = Layout::open(Path::new(path))?;
    let digest = match reference {
        Some(reference) => layout.resolve(&named(path, reference))?,
        None => layout.only_image()?,
    };
    let name = named(path, Reference::Digest(digest));
    Ok(StandIn { source: Opened { images: Arc::new(layout), name }, digest, pull_spec: None })
}

/// A directory that is an image's root.
fn root(env: Env<'_>, path: &Path, shown: &str, architecture: &str) -> Result<StandIn> {
    let images = RootDir::open(path, architecture)?;
    if let Some(first) = images.unreadable.first() {
        let text = format!(
            "{shown}: {} cannot be read, such as {first}: the preview goes without",
            images.unreadable.len()
        );
        env.events.emit(Event::Warning { text });
    }
    let programs =
        ["usr/bin", "bin", "usr/sbin"].into_iter().flat_map(|directory| images.programs(directory));
    for program in programs {
        let head = fs::read_head(&program, 64)?;
        if let Some(found) = machine_of(&head)
            && found != architecture
        {
            let (program, wanted) = (program.display().to_string(), architecture.to_owned());
            return Err(WorkspaceError::ComponentArchitecture { program, wanted, found });
        }
    }
    let digest = images.digest();
    let name = ImageName {
        registry: LAYOUT.to_owned(),
        repository: shown.to_owned(),
        reference: Reference::Digest(digest),
    };
    Ok(StandIn { source: Opened { images: Arc::new(images), name }, digest, pull_spec: None })
}
