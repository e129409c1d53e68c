//! `build --check`: programs whose output depends on more than their inputs, each caught, and by what it depends on.

use crate::harness::Workspace;

/// A program of busybox that writes `/out/made/found`.
fn plant(ws: &Workspace, name: &str, script: &str) {
    let recipe = format!(
        "# Planted.\nbuilder = \"run\"\n[inputs]\nimage = \"operator-image/cluster-ingress-operator\"\ngiven = \"planted/given\"\n\
         [params.mounts]\ngiven = \"/in\"\n[[params.steps]]\nrun = [\"/bin/busybox\", \"sh\", \"-c\", '''{script}''']\n\
         [params.outputs]\nfound = \"/out/found\"\n"
    );
    ws.write(&format!("recipes/63-planted/{name}.toml"), &recipe);
}

#[test]
fn what_a_program_should_not_depend_on_is_found() {
    let Some(ws) = super::render::workspace(&[("cluster-ingress-operator", "ingress-operator")], None) else {
        return;
    };
    let files: String = ('a'..='h').map(|name| format!("\"{name}.txt\" = \"some.txt\"\n")).collect();
    ws.write("recipes/63-planted/given.toml", &format!("# Planted.\nbuilder = \"tree\"\n[files]\n{files}"));
    ws.write("recipes/63-planted/some.txt", "some\n");
    plant(&ws, "cpus", "b=/bin/busybox; $b nproc > /out/found");
    plant(&ws, "user", "b=/bin/busybox; $b id -u > /out/found");
    plant(&ws, "order", "b=/bin/busybox; $b find /in -type f > /out/found");
    plant(&ws, "image", "b=/bin/busybox; $b find /usr /bin > /out/found");
    plant(&ws, "random", "b=/bin/busybox; $b head -c 8 /dev/urandom > /out/found");
    let pure = "b=/bin/busybox; { $b find /in /usr | $b sort; $b stat -c '%n %a %Y' /in /in/*; $b stat -c %s /in/*; $b uname -n; } > /out/found";
    plant(&ws, "pure", pure);
    let output = ws.output(&["build", "--check", "--json", "planted"]);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let differences = report["check"]["differences"].as_array().unwrap();
    let found: Vec<(&str, String)> = differences
        .iter()
        .map(|one| {
            assert_eq!(one["paths"], serde_json::json!([["found", "changed"]]), "{one}");
            let causes = one["depends_on"].as_array().unwrap().iter();
            let causes = causes.map(|cause| cause.as_str().unwrap().split(" (").next().unwrap());
            (one["name"].as_str().unwrap(), causes.collect::<Vec<_>>().join(", "))
        })
        .collect();
    let cpus = std::thread::available_parallelism().unwrap().get();
    let mut wanted = vec![
        ("planted/image", "the order of directory entries"),
        ("planted/order", "the order of directory entries"),
        ("planted/random", "something that differs from run to run, such as the time or random numbers"),
        ("planted/user", "the user id"),
    ];
    if cpus > 1 {
        wanted.insert(0, ("planted/cpus", "the number of CPUs"));
    }
    let found: Vec<(&str, &str)> = found.iter().map(|(name, cause)| (*name, cause.as_str())).collect();
    assert_eq!(found, wanted);
    // For people.
    let text = ws.run(&["build", "--check", "-q", "planted/user"]);
    assert!(
        text.contains("differs planted/user\n") && text.contains("\n  its program depends on the user id\n"),
        "{text}"
    );
    ws.assert_sound();
}
