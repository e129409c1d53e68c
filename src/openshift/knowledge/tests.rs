//! The built-in tables, and invalid tables.

use super::*;
use crate::base::version::Version;
use crate::openshift::builders::validate;
use crate::openshift::config;

/// Existing releases, mentioned in a row or not.
const RELEASED: [&str; 7] = ["4.18", "4.19", "4.20", "4.21", "4.22", "4.23", "5.0"];

fn problems(rows: &str) -> String {
    let head = "[signers]\ntype = 't'\nnot_before = 'b'\nnot_after = 'a'\nissuer = 'i'\n";
    let text = format!("{head}{rows}");
    HandOver::parse(Source { file: "knowledge/hand-over.toml", text: &text }).unwrap_err().to_string()
}

const ROW: &str =
    "[[object]]\nkind = 'Secret'\nname = 'a/b'\npurpose = 'p'\nkeys = []\noperator = 'o'\nwithout = 'w'\n";

#[test]
fn mistakes_name_file_row_and_field() {
    insta::assert_snapshot!(problems(&format!("{ROW}releases = '4.19'\n")), @"knowledge/hand-over.toml:6: object[a/b].releases: `4.19` is not a bound such as `>=4.19` or `<4.22`");
    insta::assert_snapshot!(problems(&format!("{ROW}flavor = 'rhel'\n")), @"knowledge/hand-over.toml:6: object[a/b].flavor: `rhel` is not a flavor: write `ocp` or `okd`");
    insta::assert_snapshot!(problems(&format!("{ROW}flavor = 4\n")), @"knowledge/hand-over.toml:6: object[a/b].flavor: it must be a text");
    insta::assert_snapshot!(problems(&format!("{ROW}keyz = []\n")), @"knowledge/hand-over.toml:6: object[0]: unknown field `keyz`, expected one of `kind`, `name`, `purpose`, `keys`, `operator`, `without`, `signer`, `server_name`, `holds`");
    insta::assert_snapshot!(problems("[[object]]\nkind = 'Secret'\n"), @"knowledge/hand-over.toml:6: object[0]: missing field `name`");
    insta::assert_snapshot!(problems(&format!("{ROW}{ROW}releases = '>=4.20'\n")), @r"
    knowledge/hand-over.toml: object[a/b]: two rows are for ocp 4.20
      hint: narrow `releases` or `flavor` of one
    ");
    insta::assert_snapshot!(problems("[[objects]]\n"), @"knowledge/hand-over.toml:6: unknown field `objects`, expected `signers` or `object`");
}

#[test]
fn an_edge_is_read_with_its_objects() {
    let row = "[[edge]]\nid = 'x'\npresenter = 'p'\ncredential = 'c'\nrole = 'client'\nverifier = 'v'\nbreaks = 'b'\n";
    let parse = |rest: &str| {
        let text = format!("{row}{rest}");
        Table::<TrustEdge>::parse(Source { file: "knowledge/trust.toml", text: &text })
    };
    let read = parse("after.shows.signed_by = 'Secret a/b [tls.crt]'\nafter.trusts = 'kubelets'\n").unwrap();
    let object = read.select(None).next().unwrap().handed_over().unwrap().clone();
    assert_eq!(object.to_string(), "Secret a/b [tls.crt]");
    let problem = |rest: &str| parse(rest).unwrap_err().to_string();
    insta::assert_snapshot!(problem("after.shows.signed_by = 'a/b'\nafter.trusts = 'kubelets'\n"), @"knowledge/trust.toml:1: edge[0]: `a/b` is not written as `KIND NAMESPACE/NAME [KEY]` in `after.shows`");
    insta::assert_snapshot!(problem("after.shows.secret = 'a/b'\nafter.trusts = 'kubelets'\n"), @"knowledge/trust.toml:1: edge[0]: unknown variant `secret`, expected one of `flags`, `kubeconfigs`, `object`, `signed_by`, `signed_by_flag`, `key` in `after.shows`");
}

/// For every mentioned version, its neighbours and both flavors: tables load, and references between them resolve.
#[test]
fn tables_agree_in_every_version() {
    let knowledge = Knowledge::built_in().unwrap();
    let Knowledge {
        admission,
        annotations,
        artifacts,
        boot_facts,
        boot_images,
        components,
        described,
        disruption,
        drift,
        fields,
        guide,
        hand_over,
        installer,
        mco_formats,
        mco_kinds,
        node_files,
        objects: applied,
        on_prem,
        operands,
        render_differences,
        signing_keys,
        trust,
    } = &knowledge;
    let admission = admission.get().unwrap();
    let boot_images = boot_images.get().unwrap();
    let components = components.get().unwrap();
    let disruption = disruption.get().unwrap();
    let hand_over = hand_over.get().unwrap();
    let trust = trust.get().unwrap();
    let mentioned = boot_facts.get().unwrap().mentioned();
    let mentioned = mentioned.chain(boot_images.images.mentioned()).chain(components.mentioned());
    let mentioned = mentioned.chain(disruption.mentioned()).chain(hand_over.objects.mentioned());
    let mentioned = mentioned.chain(mco_formats.get().unwrap().mentioned());
    let mentioned = mentioned.chain(admission.mentioned());
    let mentioned = mentioned.chain(annotations.get().unwrap().mentioned());
    let mentioned = mentioned.chain(mco_kinds.get().unwrap().mentioned());
    let mentioned = mentioned.chain(on_prem.get().unwrap().mentioned());
    let mentioned = mentioned.chain(operands.get().unwrap().mentioned());
    let mentioned = mentioned.chain(render_differences.get().unwrap().mentioned()).chain(trust.mentioned());
    let mentioned = mentioned.chain(installer.get().unwrap().mentioned());
    let mentioned = mentioned.chain(signing_keys.get().unwrap().mentioned());
    let (artifacts, node_files, applied) =
        (artifacts.get().unwrap(), node_files.get().unwrap(), applied.get().unwrap());
    let mentioned = mentioned.chain(artifacts.mentioned()).chain(node_files.mentioned());
    let mentioned = mentioned.chain(applied.mentioned()).chain(guide.get().unwrap().mentioned());
    let mentioned = mentioned.chain(fields.get().unwrap().mentioned());
    let mentioned = mentioned.chain(drift.get().unwrap().mentioned());
    let mentioned: Vec<Version> = mentioned.collect();
    let mentioned: Vec<Version> = mentioned.into_iter().chain(described.get().unwrap().mentioned()).collect();
    assert!(mentioned.len() > 1, "{mentioned:?}");
    for release in table::releases(mentioned.into_iter().chain(RELEASED.map(|text| text.parse().unwrap()))) {
        every_recipe_names_rows(&knowledge, release);
        let objects: Vec<&HandedOver> = hand_over.objects.select(Some(release)).collect();
        assert!(objects.len() > 20, "{release:?}");
        for edge in trust.select(Some(release)) {
            let Some(object) = edge.handed_over() else { continue };
            let found = objects.iter().find(|row| row.name == object.name && row.kind == object.kind);
            assert!(found.is_some_and(|row| row.keys.contains(&object.key)), "{release:?}: {object}");
        }
        assert!(
            disruption.select(Some(release)).any(|row| row.covers("/etc/containers/registries.d/a.yaml"))
        );
        let signers = signing_keys.get().unwrap().select(Some(release)).count();
        assert_eq!(signers, usize::from(release.flavor == Flavor::Ocp), "{release:?}");
        for (row, _) in hand_over.signers(Some(release)) {
            assert_eq!((row.kind.as_str(), row.keys.join(" ")), ("Secret", "tls.crt tls.key".to_owned()));
        }
    }
}

/// The graph of this release resolves: every name in a recipe has a row, and MCO's tags have one name each.
fn every_recipe_names_rows(knowledge: &Knowledge, release: Release) {
    let tables = knowledge.names(Some(release), None).unwrap();
    let text = |table: &str, key: &str| {
        tables[table].values.get(key).and_then(|value| value.as_text()).map(str::to_owned)
    };
    let later = release.version >= "5.0".parse().unwrap();
    let system = match release.flavor {
        Flavor::Okd => "stream-coreos",
        Flavor::Ocp if later => "rhel-coreos-10",
        Flavor::Ocp => "rhel-coreos",
    };
    assert_eq!(text("component", "node-os").as_deref(), Some(system));
    for (path, file) in Sources::built_in().iter().filter(|(path, _)| path.ends_with(".toml")) {
        if path.starts_with(recipe::TABLES) {
            continue;
        }
        let code = file.text.lines().filter(|line| !line.starts_with('#'));
        for name in code.flat_map(|line| line.split('{').skip(1)).filter_map(|rest| rest.split_once('}')) {
            let Some((table, key)) = name.0.split_once('.') else { continue };
            let Some(table) = tables.get(table) else { continue };
            assert!(table.values.contains_key(key), "{release}: {path}: {}", name.0);
        }
    }
    let required: Vec<&str> =
        knowledge.components.get().unwrap().required(Some(release)).map(|(name, _)| name).collect();
    let since: Version = "4.21".parse().unwrap();
    assert_eq!(required.contains(&"docker-registry"), release.version >= since, "{release}");
    let tuning = if release.version >= since { "" } else { "EXPERIMENTAL_" };
    assert_eq!(text("operand", "etcd-tuning").as_deref(), Some(tuning), "{release}");
    let spec = if release.version >= "4.19".parse().unwrap() { "3.5.0" } else { "3.4.0" };
    assert_eq!(text("mco-format", "ignition-spec").as_deref(), Some(spec), "{release}");
    let kinds = format!("{:?}", tables["mco"].values["kinds"]);
    let since: Version = "4.22".parse().unwrap();
    assert_eq!(kinds.contains("OSImageStream"), release.version >= since, "{release}");
}

/// A release between two series, or after the last one, is one that the tables do not describe.
#[test]
fn the_tables_say_where_they_end() {
    let knowledge = Knowledge::built_in().unwrap();
    let beyond = |version: &str| knowledge.beyond(Release::parse(version).unwrap()).unwrap();
    for version in RELEASED.into_iter().chain(["4.23.7", "5.2.0-rc.1", "4.22.0-okd-scos.1"]) {
        assert_eq!(beyond(version), None, "{version}");
    }
    for version in ["4.17.3", "4.24.0-ec.1", "4.30.0", "5.3.0", "6.0.0", "4.24.0-okd-scos.0"] {
        assert!(beyond(version).is_some(), "{version}");
    }
    insta::assert_snapshot!(beyond("4.30.1").unwrap(), @"the tables of this tinderbox describe 4.18 to 4.23 and 5.0 to 5.2, not OpenShift 4.30: checks and renders do not know what is different there");
}

/// The OS of nodes follows the stream; OKD has one from 4.23 on.
#[test]
fn the_node_os_is_that_of_the_chosen_stream() {
    let knowledge = Knowledge::built_in().unwrap();
    let components = knowledge.components.get().unwrap();
    let streams = |version: &str| components.os_streams(Release::parse(version)).join(" ");
    for (version, wanted) in [
        ("4.21.0", ""),
        ("4.22.0", "rhel-9 rhel-10"),
        ("5.0.0", "rhel-9 rhel-10"),
        ("4.22.0-okd-scos.1", ""),
        ("4.23.0-okd-scos.1", "centos-10"),
    ] {
        assert_eq!(streams(version), wanted, "{version}");
    }
    let system = |version: &str, stream: Option<&str>| {
        let names = knowledge.names(Release::parse(version), stream).unwrap();
        names["component"].values.get("node-os").and_then(|value| value.as_text()).map(str::to_owned)
    };
    assert_eq!(system("4.22.0", Some("rhel-10")).as_deref(), Some("rhel-coreos-10"));
    assert_eq!(system("5.0.0", Some("rhel-9")).as_deref(), Some("rhel-coreos"));
    assert_eq!(system("5.0.0", None).as_deref(), Some("rhel-coreos-10"));
    assert_eq!(system("4.23.0-okd-scos.1", Some("centos-10")).as_deref(), Some("stream-coreos"));
    assert_eq!(system("4.21.0", Some("rhel-10")), None);
}

/// A purpose names only checks that exist.
#[test]
fn purposes_name_checks_that_exist() {
    let knowledge = Knowledge::built_in().unwrap();
    let facts = knowledge.boot_facts.get().unwrap().facts(None);
    let named = knowledge.artifacts.get().unwrap().checks();
    let named = named.chain(knowledge.node_files.get().unwrap().checks());
    let unknown: Vec<&str> = named
        .chain(knowledge.objects.get().unwrap().checks())
        .filter(|name| !facts.contains_key(name))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// Every check has a function and a row.
#[test]
fn every_check_has_a_row_and_every_row_a_check() {
    let knowledge = Knowledge::built_in().unwrap();
    let facts = knowledge.boot_facts.get().unwrap().facts(None);
    let on = |on_config: bool| {
        let facts = facts.values().filter(move |(fact, _)| fact.is_on_config() == on_config);
        facts.map(|(fact, _)| fact.name.as_str()).collect::<Vec<_>>()
    };
    let sorted = |mut names: Vec<&'static str>| {
        names.sort_unstable();
        names
    };
    assert_eq!(on(true), sorted(config::CHECKS.iter().map(|check| check.name).collect()));
    assert_eq!(on(false), sorted(validate::CHECKS.iter().map(|check| check.name).collect()));
    // Every list of checks belongs to a recipe, or nothing would run them.
    for derivation in
        knowledge.names(None, None).unwrap()["checks"].values.keys().filter(|on| *on != "config")
    {
        let path = format!("80-check/{derivation}.toml");
        let recipe = Sources::built_in().get(&path).map(|file| file.text.clone()).unwrap_or_default();
        assert!(recipe.contains(&format!("checks = \"{{checks.{derivation}}}\"")), "{path}");
    }
}

/// The contents of a boot image, by the shape of its version.
#[test]
fn boot_images() {
    let knowledge = Knowledge::built_in().unwrap();
    let images = knowledge.boot_images.get().unwrap();
    assert!(images.missing("418.94.202602022246-0", None).is_none());
    for version in ["9.6.20260616-0", "10.0.20251103-0"] {
        let (programs, _) = images.missing(version, None).unwrap();
        assert_eq!(programs, ["kubelet", "crio", "oc"], "{version}");
    }
    assert!(images.missing("fedora", None).is_none());
}

/// Built-in tables are parsed on first use; those of a cluster directory at once.
#[test]
fn a_broken_table_is_an_error_even_if_nobody_asks() {
    let mut sources = Sources::built_in();
    sources.add(
        "knowledge/node-disruption.toml".into(),
        "recipes/knowledge/node-disruption.toml".into(),
        "[[files]]\npath = '/a'\n".into(),
    );
    insta::assert_snapshot!(Knowledge::read(&sources).unwrap_err(), @r"
    recipes/knowledge/node-disruption.toml:1: files: unknown field
      hint: rows of this table are `[[file]]`
    ");
    assert!(Knowledge::built_in().unwrap().trust.table.get().is_none());
}
