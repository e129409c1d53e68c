//! Documents that nobody would write: whatever is in them, they are refused or become keyfiles. The crate below is not ours, and has
//! arithmetic that overflows and interfaces on top of each other.

use super::tests::document;
use super::*;

/// How many documents are tried; of 150,000 none was trouble.
const ROUNDS: usize = 3000;

/// One document per kind of interface, with most of what it may have.
const DOCUMENTS: [&str; 6] = [
    "
interfaces:
- name: eno1
  type: ethernet
  state: up
  mtu: 9000
  profile-name: first
  description: text
  identifier: name
  accept-all-mac-addresses: true
  wait-ip: ipv4+ipv6
  min-mtu: 68
  ethernet: {speed: 1000, duplex: full, auto-negotiation: false, sr-iov: {total-vfs: 2, drivers-autoprobe: true, vfs: [
    {id: 0, mac-address: '52:54:00:aa:00:09', spoof-check: true, trust: true, min-tx-rate: 1, max-tx-rate: 2, vlan-id: 5, qos: 1, vlan-proto: 802.1q}]}}
  lldp: {enabled: true}
  mptcp: {address-flags: [signal, subflow]}
  ethtool: {pause: {rx: true, tx: true, autoneg: true}, ring: {rx: 5, tx: 6}, coalesce: {rx-usecs: 3}, feature: {rx-checksum: true}, fec: {auto: true}}
  ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.1, prefix-length: 24}], auto-dns: true, auto-route-metric: 5, auto-route-table-id: 6,
    dhcp-client-id: ll, dhcp-send-hostname: true, dhcp-custom-hostname: a, prefix-route-metric: 3, forwarding: true}
  ipv6: {enabled: true, autoconf: true, dhcp: true, dhcp-duid: ll, addr-gen-mode: eui64, token: '::1', auto-gateway: true, auto-routes: true}
- {name: ve0, type: veth, state: up, veth: {peer: ve1}}
",
    "
interfaces:
- {name: eno1, type: ethernet, state: up}
- {name: eno2, type: ethernet, state: up}
- name: bond0
  type: bond
  state: up
  controller: br1
  link-aggregation:
    mode: 802.3ad
    port: [eno1, eno2]
    ports-config: [{name: eno1, priority: 5, queue-id: 1}, {name: eno2}]
    options: {miimon: 140, lacp_rate: fast, ad_actor_sys_prio: 5, ad_actor_system: '00:00:00:00:00:01', xmit_hash_policy: layer3+4, primary: eno1, updelay: 5}
- name: br1
  type: linux-bridge
  state: up
  bridge:
    options: {group-forward-mask: 0, mac-ageing-time: 300, multicast-router: auto, stp: {enabled: true, forward-delay: 15, hello-time: 2, max-age: 20, priority: 32768}, vlan-protocol: 802.1q, vlan-default-pvid: 1}
    port:
    - {name: bond0, stp-hairpin-mode: false, stp-path-cost: 100, stp-priority: 32, vlan: {mode: trunk, enable-native: true, tag: 5,
        trunk-tags: [{id: 101}, {id-range: {min: 500, max: 599}}]}}
",
    "
interfaces:
- {name: eno1, type: ethernet, state: up}
- {name: v5, type: vlan, state: up, vlan: {base-iface: eno1, id: 5, protocol: 802.1q, registration-protocol: gvrp, reorder-headers: true,
    loose-binding: true, ingress-qos-map: [{from: 1, to: 2}], egress-qos-map: [{from: 3, to: 4}]}}
- {name: vx, type: vxlan, state: up, vxlan: {base-iface: eno1, id: 43, remote: 192.0.2.251, local: 192.0.2.1, destination-port: 1235, learning: true}}
- {name: mv, type: mac-vlan, state: up, mac-vlan: {base-iface: eno1, mode: vepa, promiscuous: true}}
- {name: mt, type: mac-vtap, state: up, mac-vtap: {base-iface: eno1, mode: bridge, promiscuous: true}}
- {name: d0, type: dummy, state: up, mac-address: '52:54:00:aa:00:08'}
",
    "
interfaces:
- {name: eno1, type: ethernet, state: up}
- {name: eno2, type: ethernet, state: up}
- name: ovs0
  type: ovs-bridge
  state: up
  bridge:
    allow-extra-patch-ports: true
    options: {stp: {enabled: false}, rstp: false, fail-mode: secure, mcast-snooping-enable: false, datapath: netdev}
    port:
    - {name: ovs1, vlan: {mode: access, tag: 5}}
    - {name: bond1, link-aggregation: {mode: balance-slb, port: [{name: eno1}, {name: eno2}], bond-updelay: 100}}
    - {name: patch0}
- {name: ovs1, type: ovs-interface, state: up, ovs-db: {external_ids: {a: b}}}
- {name: patch0, type: ovs-interface, state: up, patch: {peer: patch1}}
",
    "
interfaces:
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]}}
- {name: eno2, type: ethernet, state: up, ipv6: {enabled: true, address: [{ip: '2001:db8::1', prefix-length: 64}]}}
- {name: red, type: vrf, state: up, vrf: {port: [eno1], route-table-id: 100}}
- {name: lo, type: loopback, state: up, mtu: 65536}
dns-resolver: {config: {server: [192.0.2.3, '2001:db8::3', 'fe80::1%eno2'], search: [example.com], options: [rotate, 'ndots:9']}}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.2, next-hop-interface: eno1, metric: 150, table-id: 254, weight: 5, cwnd: 20, initcwnd: 5, mtu: 1400, quickack: true, advmss: 5}
  - {destination: '2001:db8:1::/48', next-hop-address: '2001:db8::2', next-hop-interface: eno2, source: '2001:db8::1', vrf-name: red}
  - {destination: 198.51.100.0/24, route-type: blackhole}
route-rules:
  config:
  - {ip-from: 192.0.2.0/24, ip-to: 192.0.3.0/24, route-table: 100, priority: 5, family: ipv4, fwmark: 5, fwmask: 6, action: blackhole, iif: eno1, suppress-prefix-length: 0}
",
    "
interfaces:
- {name: ib0, type: infiniband, state: up, infiniband: {base-iface: ib1, mode: datagram, pkey: '0x8001'}}
- {name: ib1, type: infiniband, state: up, infiniband: {mode: connected, pkey: '0xffff'}}
- {name: eno1, type: ethernet, state: up}
- {name: eno2, type: ethernet, state: up}
",
];

/// What stands in for a value.
fn strange() -> Vec<Value> {
    let numbers =
        [0, 1, -1, 127, 128, 255, 256, 4094, 4095, 65_535, 65_536, 4_294_967_295, i64::MAX, i64::MIN];
    let texts = [
        "",
        ".",
        "..",
        "../x",
        "a;b",
        "[x]",
        "0",
        "65535",
        "4294967296",
        "0x8001",
        "0xffff",
        "eno1",
        "eno2",
        "br1",
        "bond0",
        "lo",
        "ovs0",
        "0.0.0.0/0",
        "::/0",
        "192.0.2.1",
        "192.0.2.1/33",
        "fe80::1",
        "fe80::1%",
        "::ffff:192.0.2.1/120",
        "52:54:00",
        "up",
        "absent",
        "ignore",
        "ethernet",
        "vrf",
        "bond",
        "linux-bridge",
        "access",
        "trunk",
        "é",
        "name",
        "mac-address",
    ];
    let all = numbers.into_iter().map(Value::Int).chain(texts.into_iter().map(Value::from));
    let others = [Value::Null, Value::Bool(true), Value::List(Vec::new()), Value::Map(BTreeMap::new())];
    all.chain(others).collect()
}

/// Random numbers, the same every time (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) as usize % end
    }

    /// A value with about one in `rarity` of its parts replaced, removed or repeated.
    fn change(&mut self, value: &Value, rarity: usize, strange: &[Value]) -> Value {
        match value {
            Value::Map(map) => {
                let mut changed = BTreeMap::new();
                for (key, one) in map {
                    if self.below(2 * rarity) > 0 {
                        changed.insert(key.clone(), self.change(one, rarity, strange));
                    }
                }
                Value::Map(changed)
            }
            Value::List(items) => {
                let mut changed: Vec<_> = items.iter().map(|one| self.change(one, rarity, strange)).collect();
                if !changed.is_empty() && self.below(rarity) == 0 {
                    let again = changed[self.below(changed.len())].clone();
                    changed.push(again);
                }
                Value::List(changed)
            }
            leaf if self.below(rarity) > 0 => leaf.clone(),
            _ => strange[self.below(strange.len())].clone(),
        }
    }
}

#[test]
fn the_documents_themselves_are_fine() {
    let refused: Vec<_> = DOCUMENTS.iter().filter_map(|text| keyfiles(&document(text), &[]).err()).collect();
    assert_eq!(refused, [[]; 0]);
}

#[test]
fn whatever_is_in_a_document_it_has_an_answer() {
    let (mut random, strange) = (Random(1), strange());
    let mut made = 0;
    for round in 0..ROUNDS {
        let original = document(DOCUMENTS[round % DOCUMENTS.len()]);
        let rarity = [4, 12, 40][round % 3];
        let changed = random.change(&original, rarity, &strange);
        let ports: &[Port<'_>] =
            if round % 2 == 0 { &[] } else { &[Port { name: "eno1", mac: "52:54:00:aa:00:01" }] };
        let result = std::panic::catch_unwind(|| keyfiles(&changed, ports));
        let Ok(result) = result else {
            panic!("round {round}: {}", serde_json::to_string(&changed).unwrap());
        };
        let Ok(files) = result else { continue };
        made += 1;
        for (name, text) in files {
            assert!(!name.contains('/') && !name.starts_with('.'), "{name}: {changed:?}");
            assert!(text.lines().all(|line| !line.starts_with("[") || line.ends_with(']')), "{text}");
        }
    }
    assert!(made > ROUNDS / 20, "{made}");
}
