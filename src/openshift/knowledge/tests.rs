//! The built-in tables, and mistakes in tables.

use super::*;

fn problems(rows: &str) -> String {
    let head = "[signers]\ntype = 't'\nnot_before = 'b'\nnot_after = 'a'\nissuer = 'i'\n";
    let text = format!("{head}{rows}");
    HandOver::parse(Source { file: "knowledge/hand-over.toml", text: &text }).unwrap_err().to_string()
}

const ROW: &str = "[[object]]\nkind = 'Secret'\nname = 'a/b'\nkeys = []\noperator = 'o'\nwithout = 'w'\n";

#[test]
fn mistakes_name_file_row_and_field() {
    insta::assert_snapshot!(problems(&format!("{ROW}releases = '4.19'\n")), @"knowledge/hand-over.toml:6: object[a/b].releases: `4.19` is not a bound such as `>=4.19` or `<4.22`");
    insta::assert_snapshot!(problems(&format!("{ROW}flavor = 'rhel'\n")), @"knowledge/hand-over.toml:6: object[a/b].flavor: `rhel` is not a flavor: write `ocp` or `okd`");
    insta::assert_snapshot!(problems(&format!("{ROW}flavor = 4\n")), @"knowledge/hand-over.toml:6: object[a/b].flavor: it must be a text");
    insta::assert_snapshot!(problems(&format!("{ROW}keyz = []\n")), @"knowledge/hand-over.toml:6: object[0]: unknown field `keyz`, expected one of `kind`, `name`, `keys`, `operator`, `without`, `signer`, `server_name`, `holds`");
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
        TrustEdge::parse(Source { file: "knowledge/trust.toml", text: &text })
    };
    let read = parse("after.shows.signed_by = 'Secret a/b [tls.crt]'\nafter.trusts = 'kubelets'\n").unwrap();
    let object = read.select(None).next().unwrap().handed_over().unwrap().clone();
    assert_eq!(object.to_string(), "Secret a/b [tls.crt]");
    let problem = |rest: &str| parse(rest).unwrap_err().to_string();
    insta::assert_snapshot!(problem("after.shows.signed_by = 'a/b'\nafter.trusts = 'kubelets'\n"), @"knowledge/trust.toml:1: edge[0]: `a/b` is not written as `KIND NAMESPACE/NAME [KEY]` in `after.shows`");
    insta::assert_snapshot!(problem("after.shows.secret = 'a/b'\nafter.trusts = 'kubelets'\n"), @"knowledge/trust.toml:1: edge[0]: unknown variant `secret`, expected one of `flags`, `kubeconfigs`, `object`, `signed_by`, `signed_by_flag`, `key` in `after.shows`");
}

/// Every version that a table mentions, the ones around it, both flavors: tables are read whole, and what one names the
/// other has.
#[test]
fn tables_agree_in_every_version() {
    let Knowledge { hand_over, trust, disruption } = Knowledge::built_in().unwrap();
    let mentioned = hand_over.objects.mentioned().chain(trust.mentioned()).chain(disruption.mentioned());
    for release in table::releases(mentioned) {
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
        for (row, _) in hand_over.signers(Some(release)) {
            assert_eq!((row.kind.as_str(), row.keys.join(" ")), ("Secret", "tls.crt tls.key".to_owned()));
        }
    }
}
