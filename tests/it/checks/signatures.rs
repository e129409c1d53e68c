//! What nodes will make of the signatures that `lock` saw, on a release whose policy covers every image.

use super::Change::{All, Edit, Files};
use super::{Change, Mutation, each_is_found_on};

/// What `lock` recorded, in the lock.
macro_rules! seen {
    ($record:literal) => {
        Edit("cluster.lock", "\n\n[rhcos.iso]", concat!("\n\n[signatures]\n", $record, "\n\n[rhcos.iso]"))
    };
}

/// A mirror of everything.
const MIRROR: Change = Edit(
    "install-config.yaml",
    "baseDomain:",
    "imageDigestSources:\n- source: demo.invalid/openshift\n  mirrors: [m.example.com/ocp]\nbaseDomain:",
);

/// A policy for the release image alone, with a key that can be read.
const POLICY: Change = Files(&[
    (
        "recipes/50-manifest/image-policies.toml",
        "# Mine.\nbuilder = \"template\"\n[files]\n\"policy.yaml\" = \"policy.yaml.j2\"\n",
    ),
    (
        "recipes/50-manifest/policy.yaml.j2",
        "apiVersion: config.openshift.io/v1\nkind: ClusterImagePolicy\nmetadata: {name: openshift}\nspec:\n  scopes: [demo.invalid/openshift/release]\n  policy:\n    rootOfTrust:\n      policyType: PublicKey\n      publicKey:\n        keyData: LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KTUZrd0V3WUhLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFcDRxZEUxMUVpR0hvSXJ5QVhtRWVuQUt1VE8zMgpwVFIrLzljeEFLdlVCbW5iaE5kd3pqZ1VzUVlxWlNsd3hWRURXdDQxb0dYelRiVHhiODFuVHZLeUNRPT0KLS0tLS1FTkQgUFVCTElDIEtFWS0tLS0tCg==\n",
    ),
]);

pub(super) const MUTATIONS: &[Mutation] = &[
    (
        "image-signatures",
        &[],
        All(&[
            MIRROR,
            seen!(
                "images = 60\nunsigned = [\"release\"]\nplaces = [\"m.example.com/ocp/release\", \"m.example.com/ocp/components\"]"
            ),
        ]),
        "m.example.com/ocp/release, m.example.com/ocp/components has no signature of release, and nodes pull only what policy `openshift` lets through",
    ),
    (
        "image-signatures",
        &[],
        seen!("images = 60\nunsigned = [\"etcd\"]\nplaces = [\"demo.invalid/openshift/release\"]"),
        "demo.invalid/openshift/release has no signature of etcd, and nodes pull only",
    ),
    (
        "image-signatures",
        &[],
        seen!("images = 1\nplaces = [\"demo.invalid/openshift/release\"]"),
        "only 0 of ",
    ),
    // A mirror that came after the lock.
    (
        "image-signatures",
        &[],
        All(&[MIRROR, seen!("images = 60\nplaces = [\"demo.invalid/openshift/release\"]")]),
        "nodes pull from m.example.com/ocp/release first, and whether it has signatures is not known",
    ),
    (
        "image-signatures",
        &["render-drift"],
        All(&[
            POLICY,
            seen!("images = 1\nrelease = [\"00\"]\nplaces = [\"demo.invalid/openshift/release\"]"),
        ]),
        "has no signature of the release image by the policy's key",
    ),
];

#[test]
fn each_mutation_is_found() {
    each_is_found_on("4.22", &MUTATIONS.iter().collect::<Vec<_>>());
}
