//! Real CRDs of two releases, compared by field. What is expected was read from the files by hand.

use std::fs;

use tinderbox::internals::delta::{Change, ChangeKind, DeltaContext, Edit, File, ShownValue, Tone, files};

use crate::harness::list;
use crate::release::data;

/// What differs in a CRD between both releases, descriptions left out: place, sign and tone.
fn compared(name: &str) -> Option<Vec<String>> {
    let read =
        |version: &str| Some(fs::read_to_string(data::data(version)?.join("crds").join(name)).unwrap());
    let (old, new) = (read("4.18")?, read("4.19")?);
    let found = changes(name, &old, &new);
    let words = |change: &Change| change.place.last().is_some_and(|step| step.name == "description");
    Some(found.iter().filter(|change| !words(change)).map(line).collect())
}

fn changes(name: &str, old: &str, new: &str) -> Vec<Change> {
    let side = |content| File { path: name, content, secret: false, executable: false };
    files(
        Some(side(old.as_bytes())),
        Some(side(new.as_bytes())),
        &DeltaContext { limit: usize::MAX, ..DeltaContext::default() },
    )
}

fn line(change: &Change) -> String {
    let place: Vec<&str> = change.place.iter().skip(2).map(|step| step.name.as_str()).collect();
    let word = |shown: &ShownValue| match shown {
        ShownValue::Text(text) if !text.contains('\n') => text.clone(),
        _ => "…".into(),
    };
    let edit = match &change.edit {
        Edit::Added { new } => format!("+ {}", word(new)),
        Edit::Removed { old } => format!("- {}", word(old)),
        Edit::Changed { old, new } => format!("{} -> {}", word(old), word(new)),
        other => format!("{other:?}"),
    };
    let tone = match change.tone {
        Some(Tone::Loosened) => " (loosened)",
        Some(Tone::Tightened) => " (tightened)",
        None => "",
    };
    format!("{}: {edit}{tone}", place.join("."))
}

#[test]
fn real_crds_differ_by_field() {
    let Some(nodes) = compared("0000_10_config-operator_01_nodes-Default.crd.yaml") else { return };
    assert_eq!(nodes, ["v1.spec.cgroupMode.enum.v1: - v1 (tightened)"]);
    let infrastructures = compared("0000_10_config-operator_01_infrastructures-Default.crd.yaml").unwrap();
    assert_eq!(
        infrastructures,
        [
            "v1.spec.platformSpec.vsphere.failureDomains.[].regionAffinity: + … (loosened)",
            "v1.spec.platformSpec.vsphere.failureDomains.[].zoneAffinity: + … (loosened)",
            "v1.status.platformStatus.ibmcloud.serviceEndpoints.[].url.maxLength: + 300 (tightened)",
        ]
    );
    let machines = compared("0000_80_machine-config_01_machineconfigurations.crd.yaml").unwrap();
    assert_eq!(
        machines,
        [
            "v1.spec.managedBootImages.machineManagers.[].selection.mode.enum.None: + None (loosened)",
            "v1.spec.managedBootImages.machineManagers.maxItems: + 5 (tightened)",
            "v1.status.managedBootImagesStatus: + … (loosened)",
        ]
    );
    let builds = compared("0000_80_machine-config_01_machineosbuilds.crd.yaml").unwrap();
    let rule = "v1.spec.machineConfig.name.x-kubernetes-validations.!format.dns1123Subdomain().validate(self).hasValue(): + … (tightened)";
    assert!(builds.iter().any(|line| line == rule), "{builds:#?}");
}

/// All of them can be read: what is told is about schemas and objects, never lines of text.
#[test]
fn no_real_crd_is_compared_as_text() {
    let (Some(old), Some(new)) = (data::data("4.18"), data::data("4.19")) else { return };
    let mut both = 0;
    for name in list(&old.join("crds")) {
        let other = new.join("crds").join(&name);
        if !other.is_file() {
            continue;
        }
        let (one, two) =
            (fs::read_to_string(old.join("crds").join(&name)).unwrap(), fs::read_to_string(other).unwrap());
        let found = changes(&name, &one, &two);
        assert_eq!(found.is_empty(), one == two, "{name}");
        assert!(
            found.iter().all(|change| matches!(change.kind, ChangeKind::Schema | ChangeKind::Object)),
            "{name}: {found:#?}"
        );
        assert_eq!(changes(&name, &one, &one), []);
        both += 1;
    }
    assert!(both > 50, "{both}");
}
