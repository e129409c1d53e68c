//! Command lines, flag by flag.

use super::diff;

fn pod(words: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n  containers:\n  - name: c\n    command: {words}\n"
    )
}

fn compared(old: &str, new: &str) -> String {
    diff("pod.yaml", &pod(old), &pod(new))
}

#[test]
fn flags_come_go_and_change() {
    insta::assert_snapshot!(compared(
        "[hyperkube, kube-apiserver, --gone, --port=6443, --v=2, --bind-address, 0.0.0.0]",
        "[kube-apiserver, --port=6444, --v=2, --come=x, --bind-address=0.0.0.0]"
    ), @r"
    flag: Pod a / spec / containers / name=c / command / hyperkube: - hyperkube
    flag: Pod a / spec / containers / name=c / command / --come: + x
    flag: Pod a / spec / containers / name=c / command / --gone: - (set)
    flag: Pod a / spec / containers / name=c / command / --port: 6443 -> 6444
    ");
}

#[test]
fn flags_have_no_order_and_two_spellings() {
    assert_eq!(compared("[etcd, --a=1, --b, '2']", "[etcd, --b=2, --a=1]"), "(none)");
    assert_eq!(compared("[run, one, two]", "[run, two, one]").lines().count(), 2);
}

#[test]
fn values_of_several_parts_are_compared_by_part() {
    insta::assert_snapshot!(compared(
        "[x, '--feature-gates=A=true,B=false', '--tls-cipher-suites=ONE,TWO', '--labels=a=1,b=2']",
        "[x, '--feature-gates=B=true,C=true', '--tls-cipher-suites=TWO,THREE', '--labels=a=1,b=3']"
    ), @r"
    gate: Pod a / spec / containers / name=c / command / --feature-gates / A: - true
    gate: Pod a / spec / containers / name=c / command / --feature-gates / B: false -> true
    gate: Pod a / spec / containers / name=c / command / --feature-gates / C: + true
    flag: Pod a / spec / containers / name=c / command / --labels / b: 2 -> 3
    flag: Pod a / spec / containers / name=c / command / --tls-cipher-suites / ONE: - ONE
    flag: Pod a / spec / containers / name=c / command / --tls-cipher-suites / THREE: + THREE
    ");
    assert_eq!(
        compared("[x, '--feature-gates=A=true,B=false']", "[x, '--feature-gates=B=false,A=true']"),
        "(none)"
    );
    insta::assert_snapshot!(compared("[x, '--order=a,b']", "[x, '--order=b,a']"), @"flag: Pod a / spec / containers / name=c / command / --order: a,b -> b,a");
    insta::assert_snapshot!(compared("[x, --s=a, --s=b]", "[x, --s=b, --s=c]"), @r"
    flag: Pod a / spec / containers / name=c / command / --s / a: - a
    flag: Pod a / spec / containers / name=c / command / --s / c: + c
    ");
}

#[test]
fn a_script_is_a_text() {
    insta::assert_snapshot!(compared("[/bin/bash, -ec, \"set -e\\necho one\\nexit\\n\"]", "[/bin/bash, -ec, \"set -e\\necho  one\\nexit\\n\"]"), @r"
    text: Pod a / spec / containers / name=c / command / -c: 
      @@ -1 +1 @@
       set -e
      -echo one
      +echo  one
       exit
    ");
}

#[test]
fn a_password_on_a_command_line_is_secret() {
    insta::assert_snapshot!(compared("[x, --password=hunter2, --token=abc]", "[x, --password=hunter3, --token=abd]"), @r"
    flag: Pod a / spec / containers / name=c / command / --password: (secret) -> (secret)
    flag: Pod a / spec / containers / name=c / command / --token: (secret) -> (secret)
    ");
}
