//! SLSA provenance v1: who built a closure, with what, from what. Outputs that somebody else built are dependencies: this key
//! vouches for its own builds only.

use serde_json::{Map, Value, json};

use super::{Index, Part, Subject, statement, times};
use crate::engine::cache::SigningKey;

pub(super) const PREDICATE: &str = "https://slsa.dev/provenance/v1";

/// How a closure is built, and what the parameters below mean: docs/caches.md.
const BUILD_TYPE: &str = "urn:tinderbox:closure:v1";

pub(super) fn document(subject: &Subject, index: &Index, key: &SigningKey) -> Value {
    let (own, others): (Vec<&Part>, Vec<&Part>) =
        subject.parts.iter().partition(|part| part.signer.is_none() && part.executor.is_none());
    let (started, finished) = times(subject);
    let read = subject.materials.iter().filter(|material| material.read).map(|material| {
        json!({"name": material.name, "uri": material.place, "digest": {"sha256": material.sha256}})
    });
    let taken = others.iter().map(|part| {
        let voucher = match &part.executor {
            Some(farm) => json!({"executedBy": farm}),
            None => json!({"signedBy": part.signer}),
        };
        json!({
            "name": part.name,
            "uri": format!("urn:tinderbox:object:{}", part.object),
            "digest": {"tinderboxObject": part.object.to_string()},
            "annotations": voucher,
        })
    });
    let dependencies: Vec<Value> = read.chain(taken).collect();
    let derivations: Map<String, Value> =
        own.iter().map(|part| (part.name.clone(), derivation(part))).collect();
    let tinderbox = env!("CARGO_PKG_VERSION");
    let predicate = json!({
        "buildDefinition": {
            "buildType": BUILD_TYPE,
            "externalParameters": {"targets": subject.targets, "closure": subject.closure.0.to_string()},
            "internalParameters": {"derivations": derivations, "secretOutputs": subject.secrets},
            "resolvedDependencies": dependencies,
        },
        "runDetails": {
            "builder": {
                "id": format!("urn:tinderbox:key:{}", key.public().name()),
                "version": {"tinderbox": tinderbox},
            },
            "metadata": {"startedOn": started, "finishedOn": finished},
        },
    });
    statement(subject, index, PREDICATE, predicate)
}

fn derivation(part: &Part) -> Value {
    json!({
        "drv": part.drv.to_string(),
        "object": part.object.to_string(),
        "builder": part.builder,
        "inputs": part.inputs,
        "isolation": part.isolation,
    })
}
