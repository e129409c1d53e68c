//! A change never contains a secret, but always says that it changed.

use super::{DeltaContext, File, changes, diff, diff_secret, file, files, render};

#[test]
fn a_secret_file_shows_its_structure_only() {
    insta::assert_snapshot!(diff_secret("a.yaml", "a: {b: one, c: [x]}\n", "a: {b: two, c: [y]}\nd: three\n"), @r"
    data: a / b: (secret) -> (secret)
    data: a / c / 0: (secret) -> (secret)
    data: d: + (secret)
    ");
    insta::assert_snapshot!(diff_secret("password", "one\n", "two\n"), @"text: : (secret) -> (secret)");
    insta::assert_snapshot!(diff_secret("token", "c2VjcmV0VG9r=\n", "c2VjcmV0VG9s=\n"), @"text: : (secret) -> (secret)");
    insta::assert_snapshot!(diff_secret("a.env", "A=one\nB=x\n", "A=two\nC=y\n"), @r"
    environment: A: (secret) -> (secret)
    environment: B: - (secret)
    environment: C: + (secret)
    ");
    insta::assert_snapshot!(diff_secret("a.service", "[Service]\nEnvironment=A=one\n", "[Service]\nEnvironment=A=two\n"), @"environment: Service / Environment / A: (secret) -> (secret)");
    insta::assert_snapshot!(diff_secret("a.bin", "\0one", "\0two"), @"binary: : (secret) -> (secret)");
}

#[test]
fn a_secret_object_shows_what_it_is() {
    let secret = |value: &str, kind: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n  labels: {{a: {kind}}}\n  annotations: {{kubectl.kubernetes.io/last-applied-configuration: '{{\"data\": \"{value}\"}}'}}\ntype: {kind}\ndata: {{a: {value}}}\nstringData: {{b: {value}}}\n"
        )
    };
    let (old, new) = (secret("b25l", "Opaque"), secret("dHdv", "other"));
    insta::assert_snapshot!(diff("a.yaml", &old, &new), @r"
    object: Secret s / data / a: (secret) -> (secret)
    data: Secret s / metadata / annotations / kubectl.kubernetes.io/last-applied-configuration / data: (secret) -> (secret)
    object: Secret s / metadata / labels / a: Opaque -> other
    object: Secret s / stringData / b: (secret) -> (secret)
    object: Secret s / type: Opaque -> other
    ");
    insta::assert_snapshot!(diff_secret("a.yaml", &old, &new), @r"
    object: Secret s / data / a: (secret) -> (secret)
    data: Secret s / metadata / annotations / kubectl.kubernetes.io/last-applied-configuration / data: (secret) -> (secret)
    object: Secret s / metadata / labels / a: Opaque -> other
    object: Secret s / stringData / b: (secret) -> (secret)
    object: Secret s / type: Opaque -> other
    ");
    insta::assert_snapshot!(diff("a.yaml", &old, "apiVersion: v1\nkind: Service\nmetadata: {name: t}\n"), @r"
    object: Secret s: - apiVersion: v1⏎data:⏎  a: (secret)⏎kind: Secret⏎metadata:⏎  annotations:⏎    kubectl.kubernetes.io/last-applied-configuration: (secret)⏎  labels:⏎    a: Opaque⏎  name: s⏎stringData:⏎  b: (secret)⏎type: Opaque
    object: Service t: + apiVersion: v1⏎kind: Service⏎metadata:⏎  name: t
    ");
}

#[test]
fn a_secret_on_one_side_is_not_shown_however_weak_or_broken() {
    for text in [
        "kind: Secret\nstringData: {a: changeme}\n",
        "kind: Secret\n  data: [\n a: H4saA0aaAA0000aA\n",
        "kind : 'Secret'\nstringData: {a: changeme}",
        "{\"kind\":\n\"Secret\",\"stringData\":{\"a\":\"changeme\"}",
        "a: H4saB1cdEF2345gH\n",
    ] {
        let found = render(&files(None, Some(file("a.yaml", text.as_bytes())), &DeltaContext::default()));
        assert!(!found.contains("changeme") && !found.contains("H4sa"), "{found}");
    }
    let public = "kind: SecretClass\nspec: {a: changeme}\n";
    let found = render(&files(None, Some(file("a.yaml", public.as_bytes())), &DeltaContext::default()));
    assert!(found.contains("changeme"), "{found}");
}

#[test]
fn secrets_in_public_files() {
    let hash = "$2y$10$abcdefghijklmnopqrstuv";
    insta::assert_snapshot!(diff("a.yaml", "a: {password: one, passwordFile: /a, token: x, m: 1}\n", "a: {password: two, passwordFile: /b, token: y, m: 2}\n"), @r"
    data: a / m: 1 -> 2
    data: a / password: (secret) -> (secret)
    data: a / passwordFile: /a -> /b
    data: a / token: (secret) -> (secret)
    ");
    insta::assert_snapshot!(diff("a.txt", &format!("# users\nadmin:{hash}\n"), &format!("# users\nadmin:{}\n", hash.replace("abc", "abd"))), @r"
    text: : 
      @@ -1 +1 @@
       # users
      -admin: (secret)
      +admin: (secret)
    ");
    insta::assert_snapshot!(diff("a.sh", "x\nPASSWORD=one\n", "x\nPASSWORD=two\n"), @r"
    text: : 
      @@ -1 +1 @@
       x
      -PASSWORD=(secret)
      +PASSWORD=(secret)
    ");
    insta::assert_snapshot!(diff("install-config.yaml", "pullSecret: '{\"auths\": {\"a\": {\"auth\": \"b25lOm9uZQ==\"}}}'\n", "pullSecret: '{\"auths\": {\"a\": {\"auth\": \"dHdvOnR3bw==\"}, \"b\": {\"auth\": \"eA==\"}}}'\n"), @r"
    data: pullSecret / auths / a / auth: (secret) -> (secret)
    data: pullSecret / auths / b: + auth: (secret)
    ");
    // Invalid, but still a Secret.
    insta::assert_snapshot!(diff("a.yaml", "kind: Secret\ndata: [\n  a: b25l\n", "kind: Secret\ndata: [\n  a: dHdv\n"), @"text: : (secret) -> (secret)");
}

#[test]
fn a_private_key_in_a_script_is_masked() {
    use crate::base::pki::Form;
    let script = |name: &str| {
        format!("#!/bin/sh\ncat > key <<EOF\n{}EOF\n", super::pki::key(name).to_pem(Form::Pkcs8).as_str())
    };
    insta::assert_snapshot!(diff("a.sh", &script("a"), &script("b")), @r"
    text: : 
      @@ -1 +1 @@
       #!/bin/sh
       cat > key <<EOF
       (secret)
      -(secret)
      -(secret)
      -(secret)
      +(secret)
      +(secret)
      +(secret)
       (secret)
       EOF
    ");
}

#[test]
fn secret_on_one_side_is_secret_on_both() {
    let (old, new) = (File { secret: true, ..file("a.yaml", b"a: one\n") }, file("a.yaml", b"a: two\n"));
    insta::assert_snapshot!(render(&changes(old, new, &DeltaContext::default())), @"data: a: (secret) -> (secret)");
}
