//! The how-tos: the commands of each page are one session, in the example's cluster directory with a store that has
//! everything the example builds. Those in `console libvirt` blocks run too, on a libvirt of the test's own.

use std::fs;
use std::path::PathBuf;

use super::console::{self, Step};
use super::pages;
use crate::harness::install_dir::InstallDir;
use crate::harness::{Workspace, source};

/// Every page has a test of its name.
macro_rules! how_tos {
    ($($page:ident,)*) => {
        const PAGES: &[&str] = &[$(stringify!($page)),*];
        $(#[test]
        fn $page() {
            let (path, steps) = session(stringify!($page), &["console"]);
            assert!(!steps.is_empty(), "{}", path.display());
            console::run(&path, &prepared(stringify!($page)), &steps, None);
        })*
    };
}

how_tos! {
    add_a_worker,
    ci_with_a_drift_gate,
    develop_an_operator,
    disconnected,
    external_machines,
    first_cluster,
    many_sites,
    migrate_from_openshift_install,
    preview_an_upgrade,
    recover_a_lost_directory,
    renew_certificates,
    replace_or_remove_a_node,
    share_what_ci_built,
    single_node,
    user_provisioned_and_bare_metal,
}

/// The workspace of a page. Beside that of the migration is a directory of openshift-install, with an edit and a manifest of
/// the user's own.
fn prepared(page: &str) -> Workspace {
    let ws = Workspace::example().prebuilt();
    if page == "migrate_from_openshift_install" {
        let theirs = InstallDir::write(&ws.dir.join("../install-dir"), "v4.18.30");
        let scheduler = "manifests/cluster-scheduler-02-config.yml";
        theirs.edit(scheduler, "mastersSchedulable: false", "mastersSchedulable: true");
        let chrony = "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 99-worker-chrony\n  \
                      labels: {machineconfiguration.openshift.io/role: worker}\nspec:\n  kernelArguments: [nosmt]\n";
        theirs.put("openshift/99_worker-chrony.yaml", chrony);
    }
    ws
}

/// A page's path, and its blocks of these kinds as one session.
fn session(page: &str, kinds: &[&str]) -> (PathBuf, Vec<Step>) {
    let path = source("docs/how-to").join(format!("{}.md", page.replace('_', "-")));
    let text = fs::read_to_string(&path).unwrap();
    let steps = console::steps(&text, kinds).into_iter().flatten().collect();
    (path, steps)
}

/// No page without a test, and no command that a reader would type outside of what a test runs.
#[test]
fn every_page_is_a_test() {
    let names = |path: &PathBuf| path.file_stem().unwrap().to_str().unwrap().replace('-', "_");
    let found: Vec<String> = pages("docs/how-to").iter().map(names).filter(|name| name != "README").collect();
    assert_eq!(found, PAGES);
    let index = fs::read_to_string(source("docs/how-to/README.md")).unwrap();
    for page in pages("docs/how-to") {
        let text = fs::read_to_string(&page).unwrap();
        for info in text.lines().filter_map(|line| line.strip_prefix("```")) {
            let known = ["", "console", "console libvirt", "yaml", "text"].contains(&info);
            assert!(known, "{}: a block of kind `{info}`", page.display());
        }
        let name = page.file_name().unwrap().to_str().unwrap();
        assert!(name == "README.md" || index.contains(&format!("]({name})")), "{name} is not in the index");
    }
}

mod host {
    use std::path::Path;

    use super::*;
    use crate::host::realize::{Libvirt, small};

    /// The page's last part: machines on libvirt, up to where they would be started.
    #[test]
    fn first_cluster_on_libvirt() {
        let Some(libvirt) = Libvirt::start("the how-to of the first cluster on libvirt") else { return };
        let (path, steps) = session("first_cluster", &["console libvirt"]);
        assert!(steps.len() >= 2);
        console::run(&path, &small(), &steps, Some(&libvirt.enter(Path::new("env"))));
    }
}
