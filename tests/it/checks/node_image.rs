//! What the bootstrap node lays over its boot image, from 4.19 on.

use super::Change::Recipe;
use super::{Mutation, each_is_found_on};

const BOOTSTRAP: &str = "65-ignition/bootstrap.toml";

pub(super) const MUTATIONS: &[Mutation] = &[
    (
        "node-image",
        &[],
        Recipe(BOOTSTRAP, &[("path = \"/etc/systemd/system-generators\"", "path = \"/etc/generators\"")]),
        "no generator looks for /usr/bin/kubelet and starts node-image-overlay.target",
    ),
    (
        "node-image",
        &[],
        Recipe(
            BOOTSTRAP,
            &[(
                "mode = \"0755\"\nfrom = [\"node-image\"]\nonly = [\"*.sh\"]",
                "mode = \"0644\"\nfrom = [\"node-image\"]\nonly = [\"*.sh\"]",
            )],
        ),
        "/usr/local/bin/node-image-overlay.sh: it cannot be executed",
    ),
    (
        "node-image",
        &[],
        Recipe(
            BOOTSTRAP,
            &[("only = [\"*.target\", \"*.service\", \"*.mount\"]", "only = [\"*.target\", \"*.mount\"]")],
        ),
        "/etc/systemd/system/node-image-overlay.service: nothing writes it",
    ),
    (
        "node-image",
        &[],
        Recipe("64-bootstrap-config/node-image.toml", &[("{component.node-os}", "{component.pod}")]),
        "nothing that it starts pulls the release's node image",
    ),
];

#[test]
fn each_mutation_is_found() {
    each_is_found_on("4.19", &MUTATIONS.iter().collect::<Vec<_>>());
}
