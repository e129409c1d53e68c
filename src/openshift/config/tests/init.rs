//! Generated files load; arbitrary text does not panic.

use proptest::prelude::*;

use super::*;

#[test]
fn init_says_when_a_network_is_too_small_or_the_file_is_wrong() {
    let small = generated(3, 9, &["192.168.126.0/28"]).1.unwrap_err().to_string();
    insta::assert_snapshot!(small, @r"
    install-config.yaml:10: networking.machineNetwork.0.cidr: no room for 3 masters, 9 workers, bootstrap, gateway and two VIPs
      hint: use a larger network
    ");
    assert!(generated(3, 5, &["192.168.126.0/28"]).1.is_ok());
    let two = generated(2, 0, &["192.168.126.0/24"]).1.unwrap_err().to_string();
    assert!(two.contains("two etcd members tolerate no failure"), "{two}");
}

/// Every value that nothing determined is listed with its line, and marked in that line; the rest is not.
#[test]
fn guesses_are_marked_where_they_stand() {
    let (install, _) = generated(3, 2, &["192.168.126.0/24", "fd00:1::/64"]);
    let source = Source { name: "install-config.yaml", text: &install };
    let made = cluster_yaml_for(source, Known::default()).unwrap();
    let lines: Vec<&str> = made.text.lines().collect();
    for Guess { line, field, value, from, .. } in &made.guessed {
        let text = lines[line - 1];
        assert!(
            text.contains(&format!("{value}}}  # guessed: {from}"))
                || text.contains(&format!(": {value}  # guessed: {from}")),
            "{field}: {text}"
        );
    }
    let marked = lines.iter().filter(|line| line.contains("# guessed: ")).count();
    assert_eq!(marked, made.guessed.len());
    let fields: Vec<&str> = made.guessed.iter().map(|guess| guess.field.as_str()).collect();
    assert_eq!(fields[..3], ["release", "vips.api", "vips.ingress"]);
    assert_eq!(fields.iter().filter(|field| field.starts_with("nodes.")).count(), 6);
    let named = cluster_yaml_for(source, Known { release: Some("demo:4.19"), ..Known::default() }).unwrap();
    assert!(named.text.contains("\nrelease: demo:4.19\n"), "{}", named.text);
    assert!(named.guessed.iter().all(|guess| guess.field != "release"));
    let wrong = cluster_yaml_for(source, Known { release: Some("demo"), ..Known::default() }).unwrap_err();
    assert!(wrong.to_string().contains("release"), "{wrong}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_survived(text in "\\PC{0,200}", yaml in "[-a-z:{}\\[\\],&*!|>#'\" \n\t?%@0-9.~<]{0,120}") {
        for text in [&text, &yaml] {
            let _ = try_load(text, CLUSTER);
            let _ = try_load(INSTALL, text);
            let _ = cluster_yaml_for(Source { name: "i", text }, Known::default());
        }
    }

    #[test]
    fn a_damaged_example_is_survived(at in 0..CLUSTER.len(), length in 0..40_usize, with in "[-:{}\\[\\] \n\t&*'\"a0]{0,4}") {
        for text in [INSTALL, CLUSTER] {
            let cut = |index: usize| (0..=index.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap();
            let (start, end) = (cut(at), cut(at + length));
            let damaged = format!("{}{with}{}", &text[..start], &text[end..]);
            let _ = try_load(INSTALL, &damaged);
            let _ = try_load(&damaged, CLUSTER);
        }
    }

    #[test]
    fn init_from_an_install_config_always_loads(
        masters in prop::sample::select(vec![1_usize, 3, 4, 5]),
        workers in 0..40_usize,
        machine in prop::sample::select(vec![
            vec!["192.168.126.0/24"], vec!["10.0.0.0/16"], vec!["10.9.8.0/26"], vec!["fd00:1::/64"], vec!["fd00:1::/120"],
            vec!["192.168.126.0/24", "fd00:1::/64"], vec!["fd00:1::/64", "192.168.126.0/25"],
        ]),
    ) {
        let cluster = lab(masters, workers, &machine);
        prop_assert_eq!(cluster.nodes.len(), 1 + masters + workers);
        prop_assert!(cluster.fields().leaves().all(|(_, origins)| !origins.is_empty()));
    }
}
