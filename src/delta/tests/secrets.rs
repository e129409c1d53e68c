//! What is secret is never in a change, and that it changed always is.

use super::{Context, File, changes, diff, diff_secret, file, render};

#[test]
fn a_secret_file_shows_its_structure_only() {
    insta::assert_snapshot!(diff_secret("a.yaml", "a: {b: one, c: [x]}\n", "a: {b: two, c: [y]}\nd: three\n"), @"");
    insta::assert_snapshot!(diff_secret("password", "one\n", "two\n"), @"");
    insta::assert_snapshot!(diff_secret("a.env", "A=one\nB=x\n", "A=two\nC=y\n"), @"");
    insta::assert_snapshot!(diff_secret("a.service", "[Service]\nEnvironment=A=one\n", "[Service]\nEnvironment=A=two\n"), @"");
    insta::assert_snapshot!(diff_secret("a.bin", "\0one", "\0two"), @"");
}

#[test]
fn a_secret_object_shows_what_it_is() {
    let secret = |value: &str, kind: &str| format!("apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n  labels: {{a: {kind}}}\n  annotations: {{kubectl.kubernetes.io/last-applied-configuration: '{{\"data\": \"{value}\"}}'}}\ntype: {kind}\ndata: {{a: {value}}}\nstringData: {{b: {value}}}\n");
    let (old, new) = (secret("b25l", "Opaque"), secret("dHdv", "other"));
    insta::assert_snapshot!(diff("a.yaml", &old, &new), @"");
    insta::assert_snapshot!(diff_secret("a.yaml", &old, &new), @"");
    insta::assert_snapshot!(diff("a.yaml", &old, "apiVersion: v1\nkind: Service\nmetadata: {name: t}\n"), @"");
}

#[test]
fn secrets_in_public_files() {
    let hash = "$2y$10$abcdefghijklmnopqrstuv";
    insta::assert_snapshot!(diff("a.yaml", "a: {password: one, passwordFile: /a, token: x, n: 1}\n", "a: {password: two, passwordFile: /b, token: y, n: 2}\n"), @"");
    insta::assert_snapshot!(diff("a.txt", &format!("# users\nadmin:{hash}\n"), &format!("# users\nadmin:{}\n", hash.replace("abc", "abd"))), @"");
    insta::assert_snapshot!(diff("a.sh", "x\nPASSWORD=one\n", "x\nPASSWORD=two\n"), @"");
    insta::assert_snapshot!(diff("install-config.yaml", "pullSecret: '{\"auths\": {\"a\": {\"auth\": \"b25lOm9uZQ==\"}}}'\n", "pullSecret: '{\"auths\": {\"a\": {\"auth\": \"dHdvOnR3bw==\"}, \"b\": {\"auth\": \"eA==\"}}}'\n"), @"");
    // Invalid, but a Secret all the same.
    insta::assert_snapshot!(diff("a.yaml", "kind: Secret\ndata: [\n  a: b25l\n", "kind: Secret\ndata: [\n  a: dHdv\n"), @"");
}

#[test]
fn a_private_key_in_a_script_is_masked() {
    use crate::pki::Form;
    let script = |name: &str| format!("#!/bin/sh\ncat > key <<EOF\n{}EOF\n", super::pki::key(name).to_pem(Form::Pkcs8).as_str());
    insta::assert_snapshot!(diff("a.sh", &script("a"), &script("b")), @"");
}

#[test]
fn secret_on_one_side_is_secret_on_both() {
    let (old, new) = (File { secret: true, ..file("a.yaml", b"a: one\n") }, file("a.yaml", b"a: two\n"));
    insta::assert_snapshot!(render(&changes(old, new, &Context::default())), @"");
}
