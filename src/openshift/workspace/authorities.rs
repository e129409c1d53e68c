//! The user's own authorities: `pki.authorities` in cluster.yaml names the files, and recipes see their contents.

use std::collections::BTreeSet;

use super::{CLUSTER, ClusterDir, Env, Result};
use crate::base::event::Event;
use crate::base::fs;
use crate::base::hint::{Place, Problem, Problems, did_you_mean};
use crate::base::secret::Secret;
use crate::engine::fields::{Field, Origins};
use crate::engine::recipe::Graph;
use crate::openshift::config::{AuthorityFiles, Cluster};

/// The field `authorities.NAME.{certificate,key}`: the contents of the files, keys as secrets.
pub(super) fn read(env: Env<'_>, directory: &ClusterDir, cluster: &Cluster) -> Result<Field> {
    let mut fields = Vec::new();
    let mut problems = Problems::default();
    for (name, AuthorityFiles { certificate, key }) in &cluster.authorities {
        let origins = |file: &str| -> Origins { [Place::file(file)].into() };
        let text = fs::read_text(&directory.file(certificate))?;
        // A certificate is public and stored in traces as it is, so it must not contain a key.
        if text.contains("PRIVATE KEY-----") {
            let place = Place { file: certificate.clone(), line: None, field: String::new() };
            let message = format!("the certificate of your authority `{name}` has a private key in it");
            let hint = "keep the two in files of their own, and name each in `pki.authorities`".to_owned();
            problems.push(Problem::new(place, message).hint(hint));
            continue;
        }
        let path = directory.file(key);
        if fs::others_may(&path)? {
            let text = format!("the key of your authority `{name}` can be read by others: `chmod 600 {key}`");
            env.events.emit(Event::Warning { text });
        }
        let secret = Field::Secret { value: Secret::new(fs::read(&path)?), origins: origins(key) };
        fields.push((
            name.as_str(),
            Field::map([("certificate", Field::leaf(text, origins(certificate))), ("key", secret)]),
        ));
    }
    Ok(problems.or(Field::map(fields))?)
}

/// Rejects an authority that no recipe uses: it is probably misspelled, and would be silently ignored.
pub(super) fn check(cluster: &Cluster, graph: &Graph) -> Result<()> {
    let read = graph
        .nodes()
        .iter()
        .flat_map(|node| &node.reads)
        .filter_map(|(_, path, _)| path.strip_prefix("authorities."));
    let known: BTreeSet<&str> = read.filter_map(|rest| rest.split('.').next()).collect();
    let mut problems = Problems::default();
    for name in cluster.authorities.keys().filter(|name| !known.contains(name.as_str())) {
        let place = Place { file: CLUSTER.into(), line: None, field: format!("pki.authorities.{name}") };
        let hint = did_you_mean(name, known.iter().copied())
            .unwrap_or_else(|| format!("known: {}", known.iter().copied().collect::<Vec<_>>().join(", ")));
        problems.push(Problem::new(place, format!("there is no authority `{name}`")).hint(hint));
    }
    Ok(problems.or(())?)
}
