//! Errors of cluster directories.

use std::path::PathBuf;
use std::sync::Arc;

use super::BootImage;
use crate::base::fs;
use crate::base::hint::{Hint, Problems};
use crate::engine::cache::CacheError;
use crate::engine::download::DownloadError;
use crate::engine::exec::ExecError;
use crate::engine::fields::FieldError;
use crate::engine::registry::RegistryError;
use crate::engine::store::StoreError;
use crate::openshift::config::ReleaseError;

pub(crate) type Result<T> = std::result::Result<T, WorkspaceError>;

#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkspaceError {
    /// The user's files have problems.
    #[error("{} {}:\n{problems}", problems.0.len(), if problems.0.len() == 1 { "problem" } else { "problems" })]
    Problems {
        #[from]
        problems: Problems,
    },
    #[error(transparent)]
    Fs(#[from] fs::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// A derivation that something else needs failed.
    #[error(transparent)]
    Failed(#[from] Arc<ExecError>),
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Download(#[from] DownloadError),
    #[error(transparent)]
    Release(#[from] ReleaseError),
    #[error("`{}` is not a cluster directory: it has no {missing}", path.display())]
    NotACluster { path: PathBuf, missing: &'static str },
    #[error("there is no directory `{}`", path.display())]
    NoDirectory { path: PathBuf },
    #[error("`{}` is a fleet, not a cluster directory", path.display())]
    IsAFleet { path: PathBuf },
    #[error("`{}` is not a fleet: it has no fleet.yaml", path.display())]
    NotAFleet { path: PathBuf },
    /// Neither the user nor the environment names a store.
    #[error("there is no directory for a store: HOME is not set")]
    NoStore,
    #[error("there is no place for your own configuration: HOME is not set")]
    NoHome,
    #[error("the signing key `{}` {problem}", path.display())]
    SigningKey { path: PathBuf, problem: &'static str, advice: String },
    /// The lock pins another release than cluster.yaml.
    #[error("cluster.yaml asks for release `{asked}`, and cluster.lock pins `{pinned}`")]
    Moved {
        /// The release in cluster.yaml now.
        asked: String,
        pinned: String,
    },
    /// The lock is about the same release in another repository.
    #[error("cluster.yaml says that nodes pull the release from `{asked}`, and cluster.lock pins `{pinned}`")]
    Repository { asked: String, pinned: String },
    /// The lock is about images of another architecture.
    #[error("the cluster's architecture is `{asked}`, and cluster.lock pins images for `{pinned}`")]
    Architecture { asked: &'static str, pinned: String },
    /// The lock pins another image of the node OS than cluster.yaml.
    #[error("`{field}` of cluster.yaml names {named}, but cluster.lock pins {pinned}")]
    NodeOs { field: &'static str, named: String, pinned: String },
    /// The lock pins images of another OS stream.
    #[error(
        "the OS stream of install-config.yaml is {wanted}, and cluster.lock pins boot images of {pinned}"
    )]
    NodeOsStream { wanted: String, pinned: String },
    #[error("`release` in cluster.yaml cannot be edited in place")]
    Uneditable { wanted: String },
    #[error("cluster.lock pins no release, and cluster.yaml asks for `{asked}`")]
    Unpinned { asked: String },
    #[error("the release's {file} cannot be read: {problem}")]
    BootImages { file: String, problem: String },
    /// There are signatures, and none of them counts.
    #[error("{image}: its signature at {place} is wrong: {reason}")]
    WrongSignature { image: String, place: String, reason: String },
    /// The user pins keys, and nobody signed.
    #[error(
        "{image} is not signed ({place} has no signature of it), and `releaseKeys` of cluster.yaml asks for one"
    )]
    NotSigned { image: String, place: String },
    /// The user pins keys, and the demo release has no signatures.
    #[error(
        "`{reference}` is part of tinderbox and not signed, and `releaseKeys` of cluster.yaml asks for a signature"
    )]
    DemoKeys { reference: String },
    /// Keys that were pinned after the release.
    #[error(
        "cluster.lock pins a release that was not verified with the keys in `releaseKeys` of cluster.yaml"
    )]
    NotVerified,
    /// Nothing to download.
    #[error("cluster.lock pins no `rhcos.{}`", image.as_str())]
    NoBootImage { image: BootImage },
    #[error("`{text}` in cluster.lock is not a sha256")]
    Digest { text: String },
    /// A seed that others can read, or that is invalid.
    #[error("the seed `{}` {problem}", path.display())]
    Seed { path: PathBuf, problem: &'static str, advice: String },
    #[error("the identity file `{}` {problem}", path.display())]
    Identity { path: PathBuf, problem: String },
    /// An encrypted seed for other recipients.
    #[error("no identity in `{}` can open `{}`", identity.display(), path.display())]
    Closed { path: PathBuf, identity: PathBuf },
    #[error("there is no derivation `{target}`")]
    NoTarget {
        target: String,
        /// A suggestion.
        near: Option<String>,
    },
    #[error("the release has no component `{component}`")]
    NoComponent {
        component: String,
        /// A suggestion.
        near: Option<String>,
    },
    #[error("component `{component}` is replaced twice")]
    ComponentTwice { component: String },
    #[error("`{reference}` does not name an image for a component")]
    ComponentReference { reference: String },
    #[error("`{program}` is a program for {found}, and the release is for {wanted}")]
    ComponentArchitecture { program: String, wanted: String, found: &'static str },
    /// No program of it runs in what is compared.
    #[error("nothing that is compared reads the image of `{component}`")]
    ComponentUnused {
        component: String,
        /// The derivations that do.
        readers: Vec<String>,
    },
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A target that does not apply to this cluster.
    #[error("there is no `{target}` here: {why}")]
    Absent { target: String, why: String, advice: Option<String> },
}

impl WorkspaceError {
    /// Whether the command line is wrong: it names something that does not exist.
    pub(crate) fn is_usage(&self) -> bool {
        match self {
            Self::Release(_)
            | Self::NoStore
            | Self::NoTarget { .. }
            | Self::NoComponent { .. }
            | Self::ComponentTwice { .. }
            | Self::ComponentReference { .. }
            | Self::ComponentUnused { .. } => true,
            Self::Store(error) => error.is_unknown_name(),
            _ => false,
        }
    }
}

impl Hint for WorkspaceError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Problems { problems } => return problems.hint(),
            Self::Fs(error) => return error.hint(),
            Self::Store(error) => return error.hint(),
            Self::Exec(error) => return error.hint(),
            Self::Failed(error) => return error.hint(),
            // No name below `.invalid` exists (RFC 2606); those are the demo's.
            Self::Download(DownloadError::Registry(RegistryError::Unreachable { place, .. }))
                if place.ends_with(".invalid") =>
            {
                "the demo release has no node OS to download: take a real release, or name files of your own as `rhcos` in cluster.yaml"
                    .into()
            }
            Self::Registry(RegistryError::Architecture { wanted, .. }) => format!(
                "ask for a release for {wanted}: tags of real ones end in its name (`-x86_64`, `-aarch64`) or in `-multi`; or \
                 set `architecture` in cluster.yaml to one that there is"
            ),
            Self::Registry(error) => return error.hint(),
            Self::Download(error) if error.is_about_its_place() => {
                let hint = error.hint().map(|hint| hint + "; ").unwrap_or_default();
                format!(
                    "{hint}`rhcos: {{mirror: URL}}` in cluster.yaml names a mirror, `rhcos: {{iso: FILE, qcow2: FILE}}` your own copies"
                )
            }
            Self::Download(error) => return error.hint(),
            Self::NoBootImage { image } => {
                let image = image.as_str();
                format!(
                    "`tinderbox lock --update rhcos` pins what the release lists; if it lists none, set `rhcos.{image}` in cluster.yaml to a file of yours first"
                )
            }
            Self::Digest { .. } => "`tinderbox lock --update rhcos` pins it again".into(),
            Self::Release(_) => {
                "write demo:4.18, registry/repository:tag, registry/repository@sha256:…, or oci:DIR:TAG".into()
            }
            Self::NotACluster { .. } => {
                "`tinderbox init` writes one here; `tinderbox -C DIR …` works on another directory".into()
            }
            Self::NoDirectory { path } => {
                format!("`tinderbox init {}` writes a new cluster directory", path.display())
            }
            Self::IsAFleet { .. } => {
                "`--site NAME` works on one of its sites, `tinderbox fleet build` builds all of them".into()
            }
            Self::NotAFleet { .. } => {
                "`tinderbox fleet init` writes one here; `tinderbox -C DIR …` works on another directory".into()
            }
            Self::NoStore => "name one with `--store DIR` or TINDERBOX_STORE".into(),
            Self::NoHome => "name the file with `--key FILE`".into(),
            Self::SigningKey { advice, .. } => advice.clone(),
            Self::Cache(error) => return error.hint(),
            Self::Architecture { .. } => {
                "`tinderbox lock --update release` pins the images for it, if the release has some; the architecture is that \
                 of `controlPlane` in install-config.yaml, or `architecture` in cluster.yaml"
                    .into()
            }
            Self::Moved { pinned, .. } => format!(
                "`tinderbox lock --update release` pins what cluster.yaml asks for; `tinderbox lock --update \
                 release={pinned}` writes the other into cluster.yaml"
            ),
            Self::Repository { .. } => "`tinderbox lock --update release` pins what cluster.yaml asks for".into(),
            Self::Uneditable { wanted } => {
                format!("write `release: {wanted}` on a line of its own, then run `tinderbox lock --update release`")
            }
            Self::NodeOs { .. } => "`tinderbox lock --update rhcos` pins what cluster.yaml names".into(),
            Self::NodeOsStream { .. } => "`tinderbox lock --update rhcos` pins those of the stream".into(),
            Self::Unpinned { .. } => "`tinderbox lock` fills in what is missing".into(),
            Self::BootImages { .. } => "name your own files with `rhcos` in cluster.yaml".into(),
            Self::WrongSignature { .. } => {
                "nothing was locked; if somebody else signs your releases and you trust them, name their public key with \
                 `releaseKeys` in cluster.yaml"
                    .into()
            }
            Self::NotSigned { .. } => {
                "nothing was locked; sign it (`cosign sign --key …`), copy its signatures with it (`tinderbox release mirror` \
                 does), or remove `releaseKeys`"
                    .into()
            }
            Self::DemoKeys { .. } => {
                "nothing was locked; remove `releaseKeys` while you use a demo release, or choose a signed release".into()
            }
            Self::NotVerified => "`tinderbox lock` verifies it".into(),
            Self::Seed { advice, .. } => advice.clone(),
            Self::Identity { .. } => {
                "it has one AGE-SECRET-KEY-1… a line, as `age-keygen` writes it; one that is itself encrypted must be \
                 decrypted first"
                    .into()
            }
            Self::Closed { .. } => {
                "use an identity whose recipient it was encrypted for, or ask one who has: `tinderbox seed \
                 rotate-recipients` adds yours"
                    .into()
            }
            Self::NoTarget { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::NoTarget { near: None, .. } => "`tinderbox targets` lists all derivations".into(),
            Self::NoComponent { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::NoComponent { near: None, .. } => "`tinderbox release info` lists the components".into(),
            Self::ComponentTwice { .. } => "name a component once".into(),
            Self::ComponentReference { .. } => {
                "write a directory that is an image's root (/DIR or ./DIR), oci:DIR:TAG, or registry/repository:tag"
                    .into()
            }
            Self::ComponentArchitecture { wanted, .. } => format!("build the component for linux/{wanted}"),
            Self::ComponentUnused { readers, .. } => match readers.as_slice() {
                [] => "a build runs no program of it; name an image of a registry to see where its pull spec goes"
                    .into(),
                readers => format!("compare what does: `--only {}`", readers.join(" --only ")),
            },
            Self::Field(error) => return error.hint(),
            Self::Absent { advice, .. } => return advice.clone(),
        })
    }
}
