//! A site as a cluster directory in memory: two texts, folders, a lock and a seed.

use std::collections::BTreeMap;
use std::path::Path;

use zeroize::Zeroizing;

use super::layer::{FOLDERS, PARTS, find, locate, merge, substitute};
use super::{FLEET, Fleet, LOCK, Layered, RESULTS, SEALED, SEED, Site, SiteKind};
use crate::base::digest::KeyId;
use crate::base::fs;
use crate::base::hint::{Place, Problems};
use crate::base::secret::Seed;
use crate::base::yaml::{self, YamlData, YamlNode};
use crate::openshift::workspace::{
    CLUSTER, ClusterDir, Env, INSTALL_CONFIG, InMemory, Result, WorkspaceError, seed as seeds,
};

/// The names of the files that the parts of a layer are of.
const FILES: [&str; 2] = [INSTALL_CONFIG, CLUSTER];

/// What git must not see of a fleet's directory.
const IGNORED: [&str; 5] = ["/fleet.seed", "/.fleet.seed.*", "/pull-secret*", "*.key", "/results"];

/// What the layers make of a site.
pub(crate) struct Rendered {
    pub name: String,
    pub directory: ClusterDir,
    /// The texts of install-config.yaml and cluster.yaml.
    pub texts: [String; 2],
    /// The cluster's domain, as far as the layers say it.
    pub domain: String,
    /// Folders by kind.
    pub folders: BTreeMap<&'static str, Vec<String>>,
}

/// Puts a site's layers together.
pub(crate) fn rendered(fleet: &Fleet, site: &Site, layered: &Layered) -> Rendered {
    let trees = [0, 1].map(|part| {
        let mut tree = YamlNode { line: 1, span: 0..0, data: YamlData::Map(Vec::new()) };
        for layer in fleet.layers(layered) {
            if let Some(over) = &layer.parts[part] {
                merge(&mut tree, over);
            }
        }
        substitute(&mut tree, &layered.values);
        tree
    });
    let text = |path: &[&str]| {
        let found = path.iter().try_fold(&trees[0], |node, key| node.get(key));
        found.and_then(YamlNode::text).unwrap_or_default().to_owned()
    };
    let base = text(&["baseDomain"]);
    let domain = format!("{}.{}", text(&["metadata", "name"]), base.strip_suffix('.').unwrap_or(&base));
    let texts = [0, 1].map(|part| {
        format!("# {} of the site {} of a fleet.\n{}\n", FILES[part], site.name, yaml::block(&trees[part], 0))
    });
    let folders: BTreeMap<&'static str, Vec<String>> = FOLDERS
        .into_iter()
        .map(|kind| {
            (kind, fleet.layers(layered).filter_map(|layer| layer.folders.get(kind).cloned()).collect())
        })
        .collect();
    let memory = InMemory {
        result: fleet.path.join(RESULTS).join(&site.name),
        files: FILES.into_iter().zip(texts.clone()).collect(),
        folders: folders.clone(),
        manifests: layered.manifests.clone(),
    };
    let directory = ClusterDir::in_memory(fleet.path.clone(), memory);
    Rendered { name: site.name.clone(), directory, texts, domain, folders }
}

impl Fleet {
    /// Moves the problems of a site's files to where the user wrote the fields.
    pub(crate) fn locate(&self, layered: &Layered, Problems(problems): Problems) -> Problems {
        let moved = problems.into_iter().map(|mut problem| {
            problem.place = self.locate_place(layered, problem.place);
            problem
        });
        let mut moved: Vec<_> = moved.collect();
        moved.sort();
        moved.dedup();
        Problems(moved)
    }

    /// Where the user wrote a field of one of a site's files; what is not of these two files stays.
    pub(crate) fn locate_place(&self, layered: &Layered, place: Place) -> Place {
        let Some(part) = FILES.iter().position(|file| *file == place.file) else { return place };
        locate(self.layers(layered), &layered.values, part, &place.field).unwrap_or_else(|| Place {
            file: FLEET.to_owned(),
            line: Some(self.common.line),
            field: format!("common.{}.{}", PARTS[part], place.field),
        })
    }

    /// A site's domain, if its layers say all of it.
    pub(super) fn domain(&self, layered: &Layered) -> Option<String> {
        let text = |path: &str| {
            let given = |layer: &super::Layer| {
                let part = layer.parts[0].as_ref()?;
                Some(find(part, part.line, path)?.1.clone())
            };
            let mut node = self.layers(layered).rev().find_map(given)?;
            substitute(&mut node, &layered.values);
            node.text().map(str::to_owned)
        };
        let base = text("baseDomain")?;
        Some(format!("{}.{}", text("metadata.name")?, base.strip_suffix('.').unwrap_or(&base)))
    }

    /// Whether some site's seed is derived from the fleet's.
    pub(crate) fn needs_seed(&self) -> bool {
        self.sites.iter().any(|site| matches!(&site.kind, SiteKind::Layered(site) if site.seed.is_none()))
    }
}

impl Layered {
    /// The site's seed: a file of its own, or derived from the fleet's and the cluster's domain.
    pub(crate) fn seed(&self, fleet: &Path, of_fleet: Option<&Seed>, domain: &str) -> Result<Seed> {
        match (&self.seed, of_fleet) {
            (Some(file), _) => seeds::read_file(&fleet.join(file)),
            (None, Some(seed)) => Ok(of_site(seed, domain)),
            (None, None) => Err(lost(fleet)),
        }
    }
}

/// The seed of a site: nobody who has it learns anything about another's.
pub(super) fn of_site(fleet: &Seed, domain: &str) -> Seed {
    let bytes: Zeroizing<_> =
        fleet.stream("tinderbox 2026-11-19 seed of a site of a fleet v1", &[domain]).take();
    Seed::new(bytes)
}

/// The fleet's seed: the one that the user gave, or that of the directory in either form; none if there is none. Rejects a seed
/// other than the one that the lock names.
pub(crate) fn fleet_seed(env: Env<'_>, fleet: &Path, lock: Option<KeyId>) -> Result<Option<Seed>> {
    let (plain, sealed) = (fleet.join(SEED), fleet.join(SEALED));
    let (seed, path) = match (env.seed, fs::exists(&plain)?, fs::exists(&sealed)?) {
        (Some(given), ..) => (given.open(env)?, given.name().into()),
        (None, true, true) => {
            return Err(WorkspaceError::Seed {
                path: plain,
                problem: "has an encrypted one beside it, fleet.seed.age",
                advice: "keep one of the two, and move the other away".into(),
            });
        }
        (None, true, false) => (seeds::read_file(&plain)?, plain),
        (None, false, true) => (seeds::sealed::open(env, &sealed)?, sealed),
        (None, false, false) if lock.is_some() => return Err(lost(fleet)),
        (None, false, false) => return Ok(None),
    };
    let found = seed.fingerprint();
    match lock {
        Some(wanted) if wanted != found => Err(WorkspaceError::Seed {
            path,
            problem: "is not the one that fleet.lock was written with",
            advice: format!(
                "its fingerprint is {}…, and the lock has {}…: restore that seed",
                &found.to_string()[..12],
                &wanted.to_string()[..12]
            ),
        }),
        _ => Ok(Some(seed)),
    }
}

fn lost(fleet: &Path) -> WorkspaceError {
    WorkspaceError::Seed {
        path: fleet.join(SEED),
        problem: "is missing",
        advice: format!(
            "restore it from your backup, or name it with `--seed FILE`; if no site was ever installed, remove {LOCK} and \
             build again"
        ),
    }
}

/// Creates the seed of a fleet that has none.
pub(crate) fn make_seed(fleet: &Path) -> Result<Seed> {
    seeds::make_file(&fleet.join(SEED), &IGNORED)
}
