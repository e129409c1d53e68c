//! Where to get an image: its mirrors in order, then its source if allowed.

use std::fmt;

use super::super::ImageName;
use super::MirrorRule;

/// A repository in a registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) registry: String,
    pub(super) repository: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)
    }
}

impl Place {
    /// The place that the image's own name refers to.
    pub(super) fn of(image: &ImageName) -> Self {
        Self { registry: image.registry.clone(), repository: image.repository.clone() }
    }

    /// The image's name here.
    pub(super) fn name(&self, image: &ImageName) -> ImageName {
        let Self { registry, repository } = self.clone();
        ImageName { registry, repository, reference: image.reference.clone() }
    }

    fn parse(text: &str) -> Option<Self> {
        let (registry, repository) = text.split_once('/')?;
        Some(Self { registry: registry.to_owned(), repository: repository.to_owned() })
    }
}

/// All places of an image by digest, in the order to ask them. The rule with the longest matching source counts.
pub(super) fn places(rules: &[MirrorRule], image: &ImageName) -> Vec<Place> {
    let source = Place::of(image);
    let name = source.to_string();
    let rest = |rule: &MirrorRule| rest_below(&rule.source, &name).map(|rest| (rule.source.len(), rest));
    let longest = rules.iter().filter_map(|rule| rest(rule).map(|(length, _)| length)).max();
    let chosen = || {
        rules.iter().filter_map(|rule| rest(rule).filter(|(n, _)| Some(*n) == longest).map(|r| (rule, r.1)))
    };
    let mut places: Vec<Place> = Vec::new();
    for (rule, rest) in chosen() {
        for mirror in &rule.mirrors {
            // A mirror of a whole registry can be a bare host.
            let place = Place::parse(&format!("{}{rest}", mirror.trim_end_matches('/')));
            places.extend(place.filter(|place| !places.contains(place)));
        }
    }
    if !chosen().any(|(rule, _)| rule.never_contact_source) && !places.contains(&source) {
        places.push(source);
    }
    places
}

/// The mirrors of an image's repository, in the order to ask them.
pub(crate) fn mirrors_of(rules: &[MirrorRule], image: &ImageName) -> Vec<String> {
    let source = Place::of(image);
    places(rules, image).into_iter().filter(|place| *place != source).map(|place| place.to_string()).collect()
}

/// Whether a repository is this source, or below it; `*.domain` is for all hosts of a domain.
pub(crate) fn is_below(source: &str, repository: &str) -> bool {
    rest_below(source, repository).is_some()
}

/// The part of `name` below `source`, with its slash; none if it is not below.
fn rest_below<'a>(source: &str, name: &'a str) -> Option<&'a str> {
    if let Some(domain) = source.strip_prefix("*.") {
        let (host, _) = name.split_once('/')?;
        let below = host.strip_suffix(domain)?.ends_with('.');
        return below.then(|| &name[host.len()..]);
    }
    let rest = name.strip_prefix(source.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(source: &str, mirrors: &[&str], never_contact_source: bool) -> MirrorRule {
        let mirrors = mirrors.iter().map(|&mirror| mirror.to_owned()).collect();
        MirrorRule { source: source.to_owned(), mirrors, never_contact_source }
    }

    fn names(rules: &[MirrorRule], image: &str) -> Vec<String> {
        places(rules, &image.parse().unwrap()).iter().map(Place::to_string).collect()
    }

    #[test]
    fn mirrors_first_in_order_then_the_source() {
        let rules = [
            rule("quay.io/ocp", &["m1:5000/x", "m2.io/y"], false),
            rule("quay.io", &["all.io"], false),
            rule("quay.io/ocp", &["m3.io/z"], false),
            rule("closed.io/a", &["m.io/a"], true),
            rule("*.example.com", &["m.io/examples"], false),
        ];
        assert_eq!(
            names(&rules, "quay.io/ocp/release:1"),
            ["m1:5000/x/release", "m2.io/y/release", "m3.io/z/release", "quay.io/ocp/release"]
        );
        assert_eq!(names(&rules, "quay.io/ocp2:1"), ["all.io/ocp2", "quay.io/ocp2"]);
        assert_eq!(names(&rules, "closed.io/a:1"), ["m.io/a"]);
        assert_eq!(names(&rules, "r.example.com/a:1"), ["m.io/examples/a", "r.example.com/a"]);
        assert_eq!(names(&rules, "other.io/a:1"), ["other.io/a"]);
    }
}
