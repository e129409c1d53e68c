use super::{Collector, Found, NodePool, OwnValues, SiteOutcome, rollout};
use crate::base::hint::Place;
use crate::compare::cause::{Cause, CauseKind};
use crate::compare::delta::{Change, ChangeKind, Edit, PlaceStep, ShownValue, StepKind};
use crate::compare::diff::{Artifact, ArtifactState, Diff, Difference, NodeImpact, Severity, Summary};
use crate::openshift::knowledge::Effect;

const TABLE: &str = "sites.csv";

/// A comparison in which a text of one file changed, because of a line.
fn diff(from: &str, to: &str, place: &Place) -> Diff {
    let text = |text: &str| ShownValue::Text(text.to_owned());
    let change = Change {
        place: vec![PlaceStep { into: StepKind::File, name: "a.yaml".to_owned() }],
        kind: ChangeKind::Data,
        edit: Edit::Changed { old: text(from), new: text(to) },
        tone: None,
        note: None,
    };
    let cause = Cause::new(CauseKind::Config, "field");
    let cause = Cause {
        from: Some(from.to_owned()),
        to: Some(to.to_owned()),
        places: vec![place.clone()],
        read_by: vec!["a".to_owned()],
        ..cause
    };
    let artifact = Artifact {
        name: "a".to_owned(),
        state: ArtifactState::Changed,
        before: None,
        old: None,
        new: None,
        causes: vec![0],
        via: Vec::new(),
        download: false,
        differences: vec![Difference { change, severity: Severity::Info }],
        same: Vec::new(),
    };
    let node = NodeImpact {
        node: "master-0".to_owned(),
        effect: Some(Effect::Reboot),
        because: vec!["/etc/a".to_owned()],
        added: Vec::new(),
        removed: Vec::new(),
        changed: vec!["/etc/a".to_owned()],
        units: Vec::new(),
    };
    Diff {
        shape: "",
        old: "gen:1".to_owned(),
        new: "cluster".to_owned(),
        summary: Summary { nodes: vec![node], ..Summary::default() },
        causes: vec![cause],
        artifacts: vec![artifact],
    }
}

fn found(from: &str, to: &str, place: &Place, own: &OwnValues) -> Found {
    let diff = diff(from, to, place);
    let pool =
        NodePool { name: "master".to_owned(), nodes: vec!["master-0".to_owned()], max_unavailable: None };
    let rollout = rollout(&diff.summary.nodes, &[pool]);
    Found::of(diff, rollout, own, &|place| place.file == TABLE)
}

fn sites(names: &[(&str, &str)]) -> Vec<(String, Vec<String>)> {
    let groups = |groups: &str| groups.split_whitespace().map(str::to_owned).collect();
    names.iter().map(|(name, of)| ((*name).to_owned(), groups(of))).collect()
}

#[test]
fn the_same_edit_is_one_change_and_another_value_is_another() {
    let layer = Place { file: "fleet.yaml".to_owned(), line: Some(3), field: "common.a".to_owned() };
    let all = sites(&[("berlin", "edge"), ("oslo", ""), ("rome", "edge canary"), ("paris", "edge")]);
    let mut collector = Collector::new(all, vec!["canary".to_owned(), "edge".to_owned()]);
    let own = |name: &str| OwnValues::new([("name", name)]);
    // In any order: the example is the first site of the fleet.
    collector.add(2, found("rome says a", "rome says b", &layer, &own("rome")));
    collector.add(1, found("oslo says a", "oslo says c", &layer, &own("oslo")));
    collector.add(0, found("berlin says a", "berlin says b", &layer, &own("berlin")));
    collector.add(3, Found::Same);
    let done = collector.finish(("old".to_owned(), "new".to_owned()), Vec::new());
    let told: Vec<_> = done.changes.iter().map(|one| (one.example.as_str(), one.sites.join(" "))).collect();
    assert_eq!(told, [("berlin", "berlin rome".to_owned()), ("oslo", "oslo".to_owned())]);
    let waves: Vec<_> = done.waves.iter().map(|wave| (wave.name.as_str(), wave.sites, wave.nodes)).collect();
    assert_eq!(waves, [("canary", 1, 1), ("edge", 1, 1), ("", 1, 1)]);
    let rows: Vec<_> = done.sites.iter().map(|row| (row.state, row.change, row.wave)).collect();
    let changed = SiteOutcome::Changed;
    let expected = [
        (changed, Some(0), Some(1)),
        (changed, Some(1), Some(2)),
        (changed, Some(0), Some(0)),
        (SiteOutcome::Same, None, None),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_column_with_another_value_at_every_site_is_one_change() {
    let mut collector = Collector::new(sites(&[("a", ""), ("b", "")]), Vec::new());
    for (at, (from, to)) in [("10.0.1.10", "10.0.1.99"), ("10.0.2.10", "10.0.2.77")].into_iter().enumerate() {
        let place = Place { file: TABLE.to_owned(), line: Some(at + 2), field: "ip".to_owned() };
        let own = OwnValues::new([("ip", to), ("~ip", from)]);
        collector.add(at, found(from, to, &place, &own));
    }
    let done = collector.finish(("old".to_owned(), "new".to_owned()), Vec::new());
    assert_eq!(done.changes.len(), 1);
    assert_eq!(done.changes[0].own, ["ip"]);
}

/// However many different changes there are, only so many are kept in whole.
#[test]
fn details_are_bounded() {
    let layer = Place { file: "fleet.yaml".to_owned(), line: Some(3), field: "common.a".to_owned() };
    let names: Vec<String> = (0..300).map(|n| format!("site-{n}")).collect();
    let all = names.iter().map(|name| (name.clone(), Vec::new())).collect();
    let mut collector = Collector::new(all, Vec::new());
    for at in 0..names.len() {
        collector.add(at, found("a", &format!("value {at}"), &layer, &OwnValues::default()));
    }
    let done = collector.finish(("old".to_owned(), "new".to_owned()), Vec::new());
    assert_eq!(done.changes.len(), 300);
    let whole = done.changes.iter().filter(|one| one.detailed).count();
    let kept = done.changes.iter().filter(|one| !one.diff.artifacts[0].differences.is_empty()).count();
    assert_eq!((whole, kept), (200, 200));
}
