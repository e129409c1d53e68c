//! Platforms: their fields, where VIPs stand, and what is refused.

use super::*;

const NONE: &str = "  none: {}\n";
const BAREMETAL: &str = "  baremetal:\n    apiVIPs: [192.168.126.10]\n    ingressVIPs: [192.168.126.11]\n    provisioningNetwork: Disabled\n";
const VIPS: &str = "vips:\n  api: 192.168.126.10\n  ingress: 192.168.126.11\n";

fn seen(cluster: &Cluster) -> String {
    let paths = ["platform", "api.{vip,vips}", "ingress.{vip,vips}"];
    paths.map(|path| format!("{path} {}\n", value(cluster, path))).concat()
}

#[test]
fn vips_of_baremetal_stand_in_install_config() {
    let cluster = edited(&[(NONE, BAREMETAL), (VIPS, "")]).unwrap_or_else(|problems| panic!("{problems}"));
    insta::assert_snapshot!(seen(&cluster), @r#"
    platform {"cloudControllerManager":"","loadBalancer":"OpenShiftManagedDefault","name":"baremetal","platformName":"Unknown","type":"BareMetal"}
    api.{vip,vips} {"vip":"192.168.126.10","vips":["192.168.126.10"]}
    ingress.{vip,vips} {"vip":"192.168.126.11","vips":["192.168.126.11"]}
    "#);
    // As the installer of old wrote them; and cluster.yaml may repeat them.
    let old = BAREMETAL.replace("apiVIPs: [192.168.126.10]", "apiVIP: 192.168.126.10");
    let old = old.replace("ingressVIPs: [192.168.126.11]", "ingressVIP: 192.168.126.11");
    assert_eq!(seen(&edited(&[(NONE, &old)]).unwrap()), seen(&cluster));
    let origin = |path: &str| cluster.fields().project(path).unwrap().reads[0].origins[0].to_string();
    assert_eq!(origin("api.vips"), "install-config.yaml:37: platform.baremetal.apiVIPs.0");
    assert_eq!(origin("ingress.vip"), "install-config.yaml:38: platform.baremetal.ingressVIPs.0");
}

#[test]
fn a_load_balancer_of_the_users_own() {
    let more = format!("{BAREMETAL}    loadBalancer: {{type: UserManaged}}\n");
    assert_eq!(value(&edited(&[(NONE, &more)]).unwrap(), "platform.loadBalancer"), "\"UserManaged\"");
    assert_eq!(value(&example(), "platform.loadBalancer"), "\"UserManaged\"");
}

#[test]
fn external_has_a_name_and_perhaps_a_cloud_controller() {
    let cluster = |fields: &str| seen(&edited(&[(NONE, &format!("  external: {fields}\n"))]).unwrap());
    insta::assert_snapshot!(cluster("{}"), @r#"
    platform {"cloudControllerManager":"","loadBalancer":"UserManaged","name":"external","platformName":"Unknown","type":"External"}
    api.{vip,vips} {"vip":"192.168.126.10","vips":["192.168.126.10"]}
    ingress.{vip,vips} {"vip":"192.168.126.11","vips":["192.168.126.11"]}
    "#);
    insta::assert_snapshot!(cluster("{platformName: acme, cloudControllerManager: External}"), @r#"
    platform {"cloudControllerManager":"External","loadBalancer":"UserManaged","name":"external","platformName":"acme","type":"External"}
    api.{vip,vips} {"vip":"192.168.126.10","vips":["192.168.126.10"]}
    ingress.{vip,vips} {"vip":"192.168.126.11","vips":["192.168.126.11"]}
    "#);
}

#[test]
fn vips_are_required_once_and_agree() {
    insta::assert_snapshot!(report(&[(VIPS, "")]), @r"
    cluster.yaml: vips: required, but missing
      hint: add `vips: {api: …, ingress: …}`
    ");
    insta::assert_snapshot!(report(&[(NONE, "  baremetal: {}\n"), (VIPS, "")]), @r"
    install-config.yaml:36: platform.baremetal.apiVIPs: required, but missing
      hint: for example: [192.168.126.10]
    install-config.yaml:36: platform.baremetal.ingressVIPs: required, but missing
      hint: for example: [192.168.126.10]
    ");
    insta::assert_snapshot!(report(&[(NONE, BAREMETAL), ("  api: 192.168.126.10\n", "  api: 192.168.126.12\n")]), @r"
    cluster.yaml:10: vips.api: differs from `platform.baremetal.apiVIPs` of install-config
      hint: remove `vips`: they are taken from install-config
    ");
    let both = format!("{BAREMETAL}    apiVIP: 192.168.126.10\n");
    insta::assert_snapshot!(report(&[(NONE, &both)]), @r"
    install-config.yaml:40: platform.baremetal.apiVIP: cannot be given together with `platform.baremetal.apiVIPs`
      hint: remove it: it is the old name
    ");
    let uneven = BAREMETAL.replace("[192.168.126.10]", "[192.168.126.10, 'fd00::1']");
    insta::assert_snapshot!(report(&[(NONE, &uneven), (VIPS, "")]), @r"
    install-config.yaml:37: platform.baremetal.apiVIPs.1: `fd00::1` is not inside the machine network `192.168.126.0/24` [addresses]
      hint: choose an address inside, or change networking.machineNetwork of install-config
    install-config.yaml:38: platform.baremetal.ingressVIPs: as many as `apiVIPs` are needed: 2, not 1
      hint: give both one address per family
    ");
}

#[test]
fn one_platform_and_its_pools() {
    insta::assert_snapshot!(report(&[(NONE, &format!("{NONE}{BAREMETAL}"))]), @r"
    install-config.yaml:37: platform.baremetal: cannot be given together with `none`
      hint: a cluster has one platform
    ");
    insta::assert_snapshot!(report(&[("  replicas: 3\n", "  replicas: 3\n  platform: {baremetal: {}}\n")]), @r"
    install-config.yaml:16: controlPlane.platform.baremetal: the cluster's platform is `none`
      hint: remove it
    ");
    let pools = ("  replicas: 3\n", "  replicas: 3\n  platform: {baremetal: {}}\n");
    assert_eq!(report(&[(NONE, BAREMETAL), pools]), "no problems");
}

#[test]
fn a_single_master_cannot_hold_vips() {
    let found = report(&[(NONE, BAREMETAL), ("replicas: 3", "replicas: 1")]);
    assert!(found.contains("platform.baremetal: a single node has no VIPs that could move"), "{found}");
}

/// Everything of Ironic's, each field with its reason.
#[test]
fn what_provisions_machines_is_refused() {
    let more = "    provisioningNetworkInterface: eno1\n    hosts:\n    - {name: m0, bmc: {address: x, username: a, password: b}}\n    \
                clusterProvisioningIP: 172.22.0.3\n    externalBridge: br0\n    bootstrapExternalStaticIP: 192.168.126.9\n    \
                clusterOSImage: https://x\n    additionalNTPServers: [ntp]\n    dnsRecordsType: External\n";
    let managed = BAREMETAL.replace("Disabled", "Managed");
    insta::assert_snapshot!(report(&[(NONE, &format!("{managed}{more}")), (VIPS, "")]), @r"
    install-config.yaml:39: platform.baremetal.provisioningNetwork: openshift-install supports `Managed`, but tinderbox does not
      hint: it must be `Disabled`
    install-config.yaml:40: platform.baremetal.provisioningNetworkInterface: openshift-install supports this field, but tinderbox does not
      hint: there is no provisioning network: remove it
    install-config.yaml:41: platform.baremetal.hosts: openshift-install supports this field, but tinderbox does not
      hint: machines are the `nodes` of cluster.yaml; no BMC is contacted, so no credentials are needed
    install-config.yaml:43: platform.baremetal.clusterProvisioningIP: openshift-install supports this field, but tinderbox does not
      hint: tinderbox does not provision machines with Ironic: you boot them, or `realize` does
    install-config.yaml:44: platform.baremetal.externalBridge: openshift-install supports this field, but tinderbox does not
      hint: set `libvirt.bridge` in cluster.yaml
    install-config.yaml:45: platform.baremetal.bootstrapExternalStaticIP: openshift-install supports this field, but tinderbox does not
      hint: the bootstrap node is the one with `role: bootstrap` in cluster.yaml
    install-config.yaml:46: platform.baremetal.clusterOSImage: openshift-install supports this field, but tinderbox does not
      hint: the operating system is the one of the release, or `rhcos` in cluster.yaml
    install-config.yaml:47: platform.baremetal.additionalNTPServers: openshift-install supports this field, but tinderbox does not
      hint: give nodes their time servers with a MachineConfig manifest (chrony.conf)
    install-config.yaml:48: platform.baremetal.dnsRecordsType: openshift-install supports this field, but tinderbox does not
      hint: the nodes always answer for api, api-int and *.apps: remove it
    ");
}
