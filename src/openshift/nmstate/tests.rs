use super::*;
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source, YamlData, YamlNode};

/// A document as the configuration reads it.
pub(super) fn document(text: &str) -> Value {
    fn value(node: &YamlNode) -> Value {
        match &node.data {
            YamlData::Map(entries) => {
                Value::Map(entries.iter().map(|entry| (entry.key.clone(), value(&entry.value))).collect())
            }
            YamlData::List(items) => Value::List(items.iter().map(value).collect()),
            YamlData::Scalar { text, plain } => match yaml::resolve(text) {
                yaml::Scalar::Bool(on) if *plain => Value::Bool(on),
                yaml::Scalar::Int(number) if *plain => Value::Int(i64::try_from(number).unwrap()),
                _ => Value::from(text.as_str()),
            },
        }
    }
    let mut problems = Problems::default();
    let documents = yaml::documents(Source { name: "x", text }, &mut problems);
    assert!(problems.0.is_empty(), "{problems}");
    value(&documents[0])
}

const BOND: &str = "
interfaces:
- name: bond0.126
  type: vlan
  state: up
  vlan: {base-iface: bond0, id: 126}
  ipv4: {enabled: true, address: [{ip: 192.168.126.110, prefix-length: 24}]}
- name: bond0
  type: bond
  state: up
  mtu: 9000
  link-aggregation: {mode: 802.3ad, options: {miimon: '140'}, port: [eno1, eno2]}
- {name: eno1, type: ethernet, state: up}
- name: eno3.7
  type: vlan
  state: up
  vlan: {base-iface: eno3, id: 7}
  ipv4: {enabled: true, dhcp: true}
- {name: eno3, type: ethernet, state: up}
dns-resolver: {config: {server: [192.168.126.1]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.168.126.1, next-hop-interface: bond0.126}]}
";

const PORTS: [Port<'static>; 3] = [
    Port { name: "eno1", mac: "52:54:00:aa:00:01" },
    Port { name: "eno2", mac: "52:54:00:aa:00:02" },
    Port { name: "eno3", mac: "52:54:00:aa:00:03" },
];

fn show(files: &BTreeMap<String, String>) -> String {
    files.iter().map(|(name, text)| format!("== {name}\n{text}")).collect()
}

/// Whole bytes on purpose: a version of the crate that writes others needs a new version of the builder.
#[test]
fn ports_are_recognised_by_their_addresses() {
    insta::assert_snapshot!("bond", show(&keyfiles(&document(BOND), &PORTS).unwrap()));
}

/// The crate keeps much of its state in hash maps, whose order differs from run to run.
#[test]
fn the_order_of_interfaces_does_not_matter() {
    let document = document(BOND);
    let expected = keyfiles(&document, &PORTS).unwrap();
    for turn in 0..5 {
        let mut other = document.clone();
        if let Value::Map(map) = &mut other
            && let Some(Value::List(list)) = map.get_mut("interfaces")
        {
            list.rotate_left(turn);
        }
        let mut ports = PORTS;
        ports.rotate_left(turn % 3);
        assert_eq!(show(&keyfiles(&other, &ports).unwrap()), show(&expected));
    }
}

/// Ports of bonds in an OVS bridge are described by that.
#[test]
fn ports_are_found_wherever_they_are_named() {
    let document = document(
        "interfaces: [{name: br, type: ovs-bridge, bridge: {port: [{name: b, link-aggregation: {mode: balance-slb, port: \
         [{name: eno1}, {name: eno2}]}}]}}]",
    );
    assert_eq!(Vec::from_iter(Survey::of(&document).names()), ["b", "br", "eno1", "eno2"]);
}

#[test]
fn only_what_is_up_and_in_the_main_table_counts() {
    let survey = |ipv4: &str, more: &str, routes: &str| {
        let text = format!(
            "interfaces: [{{name: eno1, type: ethernet, {more}ipv4: {{{ipv4}}}}}]\nroutes: {{config: [{routes}]}}"
        );
        let document = document(&text);
        let Survey { addresses, dynamic, default_route, dns, .. } = Survey::of(&document);
        (addresses.len(), dynamic[0], default_route[0], dns)
    };
    let own = "enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]";
    let route = "{destination: 0.0.0.0/0, next-hop-address: 192.0.2.2, next-hop-interface: eno1}";
    assert_eq!(survey(own, "", route), (1, false, true, false));
    assert_eq!(survey(own, "", &route.replace("eno1", "eno1, table-id: 254")), (1, false, true, false));
    assert_eq!(survey(own, "", &route.replace("eno1", "eno1, table-id: 200")), (1, false, false, false));
    assert_eq!(survey(own, "state: down, ", ""), (0, false, false, false));
    assert_eq!(survey("enabled: true, dhcp: true", "", ""), (0, true, true, true));
    for off in ["auto-routes: false", "auto-gateway: false", "auto-route-table-id: 100"] {
        assert_eq!(
            survey(&format!("enabled: true, dhcp: true, {off}"), "", ""),
            (0, true, false, true),
            "{off}"
        );
    }
    assert_eq!(survey("enabled: true, dhcp: true, auto-dns: false", "", ""), (0, true, true, false));
}

/// What the crate would take without a word, and what it reports without a place.
#[test]
fn what_is_refused_says_where() {
    let eno1 = "name: eno1, type: ethernet";
    let up = "interfaces: [{name: eno1, type: ethernet, ipv4: {enabled: true, dhcp: true}}]";
    let cases = [
        "{}".to_owned(),
        "interfaces: []".to_owned(),
        "interfaces: [{name: eno1, type: ethrnet}]".to_owned(),
        "interfaces: [{name: enterprise-ethernet-0, type: ethernet}]".to_owned(),
        "interfaces: [{name: ../../passwd, type: ethernet}]".to_owned(),
        "interfaces: [{type: ethernet}]".to_owned(),
        format!("interfaces: [{{{eno1}}}, {{{eno1}, mtu: 1500}}]"),
        format!("interfaces: [{{{eno1}, description: \"a\\n[connection]\\nid=b\"}}]"),
        format!("interfaces: [{{{eno1}, state: absent}}]"),
        format!("interfaces: [{{{eno1}, 802.1x: {{identity: a, private-key-password: geheim}}}}]"),
        format!("interfaces: [{{{eno1}, mac-address: '52:54:00:00:00:99'}}]"),
        format!("interfaces: [{{{eno1}, alt-names: [{{name: uplink}}]}}]"),
        format!("interfaces: [{{{eno1}, ipv4: {{enabled: true, adress: []}}}}]"),
        format!(
            "interfaces: [{{{eno1}, ipv4: {{enabled: true, address: [{{ip: 192.0.2.1, prefix-length: 99}}]}}}}]"
        ),
        format!(
            "interfaces: [{{{eno1}, mtu: true}}, {{name: bond0, type: bond, link-aggregation: {{mode: foo, port: [a]}}}}]"
        ),
        format!("interfaces: [{{{eno1}}}, {{name: v, type: vlan, vlan: {{base-iface: en01, id: 5000}}}}]"),
        format!(
            "interfaces: [{{{eno1}}}, {{name: v, type: vlan, vlan: {{base-iface: w, id: 5}}}}, {{name: w, type: vlan, vlan: {{base-iface: v, id: 6}}}}]"
        ),
        format!(
            "interfaces: [{{{eno1}}}, {{name: b, type: bond, link-aggregation: {{mode: 1, port: [../../b]}}}}]"
        ),
        format!("interfaces: [{{{eno1}}}, {{name: ve, type: veth, veth: {{peer: a/b}}}}]"),
        format!(
            "interfaces: [{{{eno1}}}, {{name: o, type: ovs-bridge, bridge: {{port: [{{name: p, link-aggregation: {{mode: active-backup, port: [{{name: ../x}}]}}}}]}}}}]"
        ),
        format!(
            "interfaces: [{{{eno1}}}, {{name: br, type: linux-bridge, bridge: {{port: [{{name: a, vlan: {{mode: trunk, trunk-tags: [{{id: 5}}, {{id-range: {{min: 1, max: 65535}}}}]}}}}]}}}}]"
        ),
        format!(
            "interfaces: [{{{eno1}}}, {{name: a, type: dummy, profile-name: same}}, {{name: b, type: dummy, profile-name: same}}]"
        ),
        "interfaces: [{name: eno1, type: bond, link-aggregation: {mode: 1, port: [a]}}]".to_owned(),
        format!("{up}\nhostname: {{config: x}}"),
        format!("{up}\novs-db: {{external_ids: {{a: b}}}}"),
        format!("{up}\nrouts: {{}}"),
        format!(
            "{up}\nroutes: {{config: [{{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eno9}}]}}"
        ),
        format!(
            "{up}\nroutes: {{config: [{{destination: everywhere, next-hop-address: 192.0.2.1, next-hop-interface: eno1}}]}}"
        ),
        format!("interfaces: [{{{eno1}}}]\ndns-resolver: {{config: {{server: [192.0.2.1]}}}}"),
        format!("{up}\ndns-resolver: {{server: [192.0.2.1]}}"),
        // The field that the crate complains about, wherever it is.
        format!("interfaces: [{{{eno1}, mtuu: 9000}}]"),
        format!(
            "interfaces: [{{{eno1}, ipv4: {{enabled: true, address: [{{ip: 192.0.2.1, prefixlength: 24}}]}}}}]"
        ),
        format!(
            "interfaces: [{{{eno1}, ipv4: {{enabled: true, address: [{{ip: fd00::1, prefix-length: 24}}]}}}}]"
        ),
        format!(
            "interfaces: [{{{eno1}}}, {{name: b, type: bond, link-aggregation: {{mode: 1, port: [eno1], options: {{mimon: 100, updelay: soon}}}}}}]"
        ),
        format!("interfaces: [{{{eno1}, ethtool: {{feature: {{rx-gro: true}}, rign: {{rx: 1}}}}}}]"),
        format!(
            "interfaces: [{{{eno1}}}, {{name: uplink, type: ethernet, identifier: mac-address}}, {{name: b, type: bond, identifier: mac-address, link-aggregation: {{mode: 1, port: [uplink]}}}}]"
        ),
        format!(
            "interfaces: [{{{eno1}}}, {{name: iv, type: ipvlan, ipvlan: {{base-iface: eno1, mode: l2}}}}]"
        ),
        format!("{up}\nroutes: {{config: [{{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1}}]}}"),
        format!(
            "{up}\nroutes: {{config: [{{next-hop-interface: eno1, state: absent}}], running: [{{destination: 0.0.0.0/0}}], confg: []}}"
        ),
        format!(
            "{up}\nroutes: {{config: [{{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eno1, gateway: 192.0.2.1}}]}}"
        ),
        format!(
            "{up}\nroute-rules: {{config: [{{ip-from: 192.0.2.0/24, route-table: 200, state: absent}}, {{ip-form: 192.0.2.0/24}}]}}"
        ),
        format!("{up}\ndns-resolver: {{running: {{server: [192.0.2.1]}}}}"),
    ];
    let mut table = String::new();
    for text in cases {
        let refusals = keyfiles(&document(&text), &PORTS[..1]).expect_err(&text);
        table += &format!("{}\n", text.replace('\n', "; "));
        for Refusal { path, message, hint } in refusals {
            table += &format!("  {path}: {message}\n");
            table += &hint.map(|hint| format!("    hint: {hint}\n")).unwrap_or_default();
        }
    }
    assert_eq!(table.matches("geheim").count(), 1, "only the document itself shows it");
    insta::assert_snapshot!("refused", table);
}
