//! Whether nodes will accept the images that they pull: what `lock` saw of signatures, against the release's image policies.

use std::collections::BTreeMap;

use super::artifacts::{Artifacts, File};
use super::{Check, Report, Warning};
use crate::base::value::Value;
use crate::engine::registry::{ImageName, MirrorRule, mirrors_of};
use crate::openshift::image_policy::ImagePolicy;
use crate::openshift::lock::{RELEASE, first_few};

const LOCK: &str = "cluster.lock";
const LOOK: &str = "`tinderbox lock --update signatures` looks at them";

/// Images that policies cover are signed where nodes pull them.
pub(super) const IMAGES: Check = Check {
    name: "image-signatures",
    config: &["mirrors", "reference", "release", "signatures"],
    run: |artifacts, report| {
        let documents = artifacts.of("policies").flat_map(File::documents);
        let policies: Vec<ImagePolicy> =
            documents.filter_map(|document| ImagePolicy::read(&document.root)).collect();
        let images = images(artifacts);
        let Some(Value::Map(seen)) = artifacts.config.get("signatures") else {
            let covered =
                policies.iter().any(|policy| images.values().any(|image| is_covered(policy, image)));
            // The demo release is nowhere to be pulled from.
            if covered && !artifacts.config_text("reference").starts_with("demo:") {
                report.warnings.insert(Warning {
                    file: LOCK.to_owned(),
                    line: 0,
                    field: "signatures".to_owned(),
                    message: format!(
                        "nodes pull only signed images, and signatures were not looked for; {LOOK}"
                    ),
                    derivation: String::new(),
                });
            }
            return;
        };
        let seen = Seen(seen);
        for policy in &policies {
            let covered: BTreeMap<&str, &ImageName> = images
                .iter()
                .filter(|(_, image)| is_covered(policy, image))
                .map(|(name, image)| (*name, image))
                .collect();
            signed(policy, &covered, &seen, report);
            for image in covered.values() {
                asked(artifacts, image, &seen, report);
            }
        }
        // One finding for each mirror, however many images come from it.
        report.findings.dedup_by(|one, other| one.message == other.message);
    },
};

/// What `lock` recorded.
struct Seen<'a>(&'a BTreeMap<String, Value>);

impl Seen<'_> {
    fn texts(&self, field: &str) -> Vec<&str> {
        match self.0.get(field) {
            Some(Value::List(items)) => items.iter().filter_map(Value::as_text).collect(),
            _ => Vec::new(),
        }
    }

    fn number(&self, field: &str) -> usize {
        match self.0.get(field) {
            Some(Value::Int(number)) => usize::try_from(*number).unwrap_or_default(),
            _ => 0,
        }
    }

    /// How many components one of these keys signed.
    fn components_by(&self, keys: &[String]) -> usize {
        let Some(Value::Map(counts)) = self.0.get("components") else { return 0 };
        let counts = keys.iter().filter_map(|key| counts.get(key));
        counts
            .filter_map(
                |count| if let Value::Int(count) = count { usize::try_from(*count).ok() } else { None },
            )
            .sum()
    }
}

/// The release image and its components, by name.
fn images<'a>(artifacts: &'a Artifacts<'_>) -> BTreeMap<&'a str, ImageName> {
    let components = artifacts.of("images").next().map(|file| file.text.as_str()).unwrap_or_default();
    let components: BTreeMap<&str, &str> = serde_json::from_str(components).unwrap_or_default();
    let all = components.into_iter().chain([(RELEASE, artifacts.config_text("release"))]);
    // `pull-specs` reports a name that is none.
    all.filter_map(|(name, spec)| Some((name, spec.parse().ok()?))).collect()
}

fn is_covered(policy: &ImagePolicy, image: &ImageName) -> bool {
    policy.covers(&format!("{}/{}", image.registry, image.repository))
}

/// Every covered image has a signature by the policy's key.
fn signed(
    policy: &ImagePolicy,
    covered: &BTreeMap<&str, &ImageName>,
    seen: &Seen<'_>,
    report: &mut Report<'_>,
) {
    let places = seen.texts("places").join(", ");
    let asks = format!("and nodes pull only what policy `{}` lets through", policy.name);
    let mut add = |field: &str, message: String, hint: &str| {
        report.add(LOCK, None, &format!("signatures.{field}"), message);
        report.hint(hint);
    };
    const COPY: &str = "`tinderbox release mirror` copies signatures with images, then `tinderbox lock --update signatures` \
                        sees them; of a multi-architecture image nodes judge the image for their own, not the list (`cosign sign \
                        --recursive` signs both); `releaseImagePolicy: false` in cluster.yaml is for test releases that nobody signed";
    let unsigned: Vec<&str> =
        seen.texts("unsigned").into_iter().filter(|name| covered.contains_key(name)).collect();
    if !unsigned.is_empty() {
        let names = first_few(&unsigned);
        add("unsigned", format!("{places} has no signature of {names}, {asks}"), COPY);
    }
    let keys: Vec<String> = policy.keys.iter().map(|key| key.fingerprint()).collect();
    let release = covered.contains_key(RELEASE) && !unsigned.contains(&RELEASE);
    let by = seen.texts("release");
    if release && !keys.is_empty() && !keys.iter().any(|key| by.contains(&key.as_str())) {
        add(
            "release",
            format!("{places} has no signature of the release image by the policy's key, {asks}"),
            COPY,
        );
    }
    let components = covered.keys().filter(|name| **name != RELEASE).count();
    let unsigned = unsigned.iter().filter(|name| **name != RELEASE).count();
    let wanted = components.saturating_sub(unsigned + seen.number("missing"));
    let looked = seen.number("images").saturating_sub(1 + unsigned);
    if looked < wanted {
        add("images", format!("only {looked} of {wanted} components were looked at, {asks}"), LOOK);
    } else if !keys.is_empty() && seen.components_by(&keys) < wanted {
        let count = seen.components_by(&keys);
        add(
            "components",
            format!("only {count} of {wanted} components are signed by the policy's key, {asks}"),
            COPY,
        );
    }
}

/// Mirrors that came later are not known to have signatures.
fn asked(artifacts: &Artifacts<'_>, image: &ImageName, seen: &Seen<'_>, report: &mut Report<'_>) {
    let places = seen.texts("places");
    // Nobody pulls from a layout; what is mirrored is a copy of it.
    if places.iter().any(|place| place.starts_with("oci:")) {
        return;
    }
    let known = [places.clone(), seen.texts("without"), seen.texts("passed-over")].concat();
    for place in mirrors_of(&rules(artifacts), image) {
        if !known.contains(&place.as_str()) {
            let message =
                format!("nodes pull from {place} first, and whether it has signatures is not known");
            report.add(LOCK, None, "signatures.places", message);
            report.hint(LOOK);
        }
        if places.contains(&place.as_str()) {
            return;
        }
    }
}

/// The cluster's mirrors.
fn rules(artifacts: &Artifacts<'_>) -> Vec<MirrorRule> {
    let Some(Value::List(rules)) = artifacts.config.get("mirrors") else { return Vec::new() };
    let rules = rules.iter().filter_map(|rule| if let Value::Map(rule) = rule { Some(rule) } else { None });
    rules
        .map(|rule| MirrorRule {
            source: rule.get("source").and_then(Value::as_text).unwrap_or_default().to_owned(),
            mirrors: match rule.get("mirrors") {
                Some(Value::List(mirrors)) => {
                    mirrors.iter().filter_map(Value::as_text).map(str::to_owned).collect()
                }
                _ => Vec::new(),
            },
            never_contact_source: false,
        })
        .collect()
}
