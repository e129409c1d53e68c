//! Somebody else's fleet is data: it reaches nothing outside of its directory, and reading it ends.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::harness::{Workspace, set_mode};

use super::fleet;

/// Folders, tables and cluster directories that are elsewhere: what is built of them is public.
#[test]
fn nothing_outside_is_read() {
    let workspace = fleet();
    let outside = workspace.temp();
    let write = |name: &str, text: &str, mode: u32| -> PathBuf {
        let path = outside.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        set_mode(&path, mode);
        path
    };
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: default}\n";
    write("objects/mine.yaml", object, 0o600);
    let private = write("private.csv", "name,groups\nberlin,single-node\n", 0o600);
    // Everybody may read the file, but nobody gets to it.
    let hidden = write("hidden/sites.csv", "name,groups\nberlin,single-node\n", 0o644);
    set_mode(hidden.parent().unwrap(), 0o700);
    write("clusters/mine/cluster.yaml", "", 0o644);
    symlink(&outside, workspace.dir.join("away")).unwrap();
    symlink(private, workspace.dir.join("private.csv")).unwrap();
    symlink(hidden, workspace.dir.join("hidden.csv")).unwrap();
    fs::create_dir(workspace.dir.join("some")).unwrap();
    symlink(outside.join("clusters/mine"), workspace.dir.join("some/mine")).unwrap();
    let original = fs::read_to_string(workspace.dir.join("fleet.yaml")).unwrap();
    let absolute = outside.join("objects");
    for folder in [absolute.to_str().unwrap(), "../objects", "away/objects"] {
        workspace.write(
            "fleet.yaml",
            &original.replace("common:\n", &format!("common:\n  manifests: {folder}\n")),
        );
        let said = workspace.run(&["fleet", "build", "--only", "berlin"]);
        assert!(said.contains("is not below the fleet's directory") && said.contains("[exit 1]"), "{said}");
    }
    for (source, why) in [
        ("../private.csv", "is not below the fleet's directory"),
        ("away/private.csv", "is not below the fleet's directory"),
        ("private.csv", "not everybody may read"),
        ("hidden.csv", "not everybody may read"),
        ("away/clusters/*", "is not below the fleet's directory"),
        ("some/*", "is not below the fleet's directory"),
    ] {
        workspace.write("fleet.yaml", &original.replace("sites.csv\n", &format!("'{source}'\n")));
        let said = workspace.run(&["fleet", "build"]);
        assert!(said.contains(why) && said.contains("[exit 1]"), "{source}: {said}");
    }
    assert!(!workspace.store.exists() && !outside.join("clusters/mine/cluster.lock").exists());
    set_mode(&outside.join("hidden"), 0o755);
    workspace.write("fleet.yaml", &original.replace("sites.csv\n", "hidden.csv\n"));
    let said = workspace.run(&["fleet", "status"]);
    assert!(!said.contains("may read"), "a link to a public file is read: {said}");
}

/// Links of sites that are gone are removed from `results`: it is the fleet's own.
#[test]
fn results_that_lead_elsewhere_are_refused() {
    let workspace = fleet();
    let outside = workspace.temp().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink("/etc/hostname", outside.join("mine")).unwrap();
    symlink(&outside, workspace.dir.join("results")).unwrap();
    let said = workspace.run(&["fleet", "build", "--only", "berlin"]);
    assert!(said.contains("results: it is a link") && said.contains("[exit 1]"), "{said}");
    assert_eq!(crate::harness::list(&outside).into_iter().collect::<Vec<_>>(), ["mine"]);
}

/// Folders that contain themselves are looked through once.
#[test]
fn links_in_circles_end() {
    let workspace = fleet();
    let folder = workspace.dir.join("more");
    fs::create_dir(&folder).unwrap();
    for name in ('a'..='p').map(String::from) {
        symlink(".", folder.join(name)).unwrap();
    }
    workspace.edit("fleet.yaml", "common:\n", "common:\n  recipes: more\n");
    let said = workspace.run(&["fleet", "build", "--only", "berlin", "-q"]);
    assert!(said.contains("more/a") && said.contains("[exit 1]"), "{said}");
}

/// What would multiply in memory, and problems without end.
#[test]
fn tables_have_an_end() {
    let long = "x".repeat(1 << 20);
    let columns: Vec<String> = (0..50_000).map(|at| format!("c{at}")).collect();
    let rows = |count: usize, row: &dyn Fn(usize) -> String| (0..count).map(row).collect::<String>();
    let refused = |table: &str| -> String {
        let workspace = fleet();
        workspace.write("sites.csv", table);
        let said = workspace.run(&["fleet", "status"]);
        assert!(said.contains("[exit 1]"), "{said:.500}");
        said
    };
    let wide = "a table has at most 1000 columns, with names of 100 bytes";
    // The name of a column for every site.
    let said = refused(&format!("name,{long}\n{}", rows(2000, &|at| format!("s{at},a\n"))));
    assert!(said.contains(wide), "{said:.500}");
    assert!(refused(&format!("name,{}\n", columns.join(","))).contains(wide));
    let said = refused(&format!("name,ip\n{}", "x\n".repeat(5000)));
    assert!(said.contains("and more rows that do not match the header"), "{said:.500}");
    assert!(said.lines().count() < 300, "{}", said.lines().count());
    let groups = "edge ".repeat(101);
    assert!(
        refused(&format!("name,groups\nberlin,{groups}\n"))
            .contains("there are more than 100 groups of a site")
    );
}

/// ClusterInstance documents far down in a file: each is read where it is.
#[test]
fn documents_after_many_lines_are_read_once() {
    let workspace = fleet();
    let mut text = "\n".repeat(1_000_000);
    for at in 0..300 {
        text += &format!(
            "---\napiVersion: siteconfig.open-cluster-management.io/v1alpha1\nkind: ClusterInstance\nspec: {{clusterNam: s{at}}}\n"
        );
    }
    workspace.write("instances.yaml", &text);
    workspace.edit("fleet.yaml", "sites: sites.csv", "sites: instances.yaml");
    let said = workspace.run(&["fleet", "status"]);
    assert!(said.contains("instances.yaml:1000004: spec.clusterNam: unknown field"), "{said:.500}");
}

/// A file with private bytes in place of `.gitignore` would be copied for everybody to read.
#[test]
fn an_ignore_file_that_leads_to_a_private_one_is_refused() {
    let workspace = Workspace::example();
    let private = workspace.temp().join("private");
    fs::write(&private, "secret words\n").unwrap();
    set_mode(&private, 0o600);
    for name in ["cluster.seed", "cluster.lock", ".gitignore"] {
        let _ = fs::remove_file(workspace.dir.join(name));
    }
    symlink(&private, workspace.dir.join(".gitignore")).unwrap();
    let said = workspace.run(&["lock"]);
    assert!(said.contains(".gitignore") && said.contains("[exit 1]"), "{said}");
    assert!(fs::symlink_metadata(workspace.dir.join(".gitignore")).unwrap().is_symlink());
}
