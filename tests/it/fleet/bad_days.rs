//! Generated sites of two topologies: build, kill, two at once, tweak; two thousand of them if run by name.

use std::fmt::Write as _;
use std::process::Stdio;
use std::time::Duration;

use crate::harness::Workspace;

use super::{fleet, site};

/// A fleet of so many sites, every third one compact.
fn generated(sites: usize) -> Workspace {
    let workspace = fleet();
    let mut table = String::from("name,groups,network,gateway,ip,api,ingress,bootstrap,ip1,ip2\n");
    for n in 0..sites {
        let net = format!("10.{}.{}", n / 250, n % 250);
        let group = if n % 3 == 2 { "compact" } else { "single-node" };
        let _ = writeln!(
            table,
            "site-{n},{group},{net}.0/24,{net}.1,{net}.10,{net}.5,{net}.6,{net}.9,{net}.11,{net}.12"
        );
    }
    workspace.write("sites.csv", &table);
    // The sites are where the example has its pods.
    workspace.edit("fleet.yaml", "      - cidr: 10.128.0.0/14", "      - cidr: 172.20.0.0/14");
    workspace
}

/// Killed anywhere, a build continues where it was; a sample of sites is what it is alone; two builds at once do no harm.
fn through_bad_days(sites: usize) {
    let workspace = generated(sites);
    let spawn = || {
        let mut command = workspace.command(&["fleet", "build", "-q"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    // Killed as soon as some sites are there.
    let mut first = spawn();
    let there = || std::fs::read_dir(workspace.dir.join("results")).map_or(0, Iterator::count);
    while there() < sites / 4 + 1 && first.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(20));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let kept = there();
    assert!(kept > sites / 4, "{kept}");
    // Two at once.
    let both = [spawn(), spawn()].map(|child| child.wait_with_output().unwrap());
    for output in both {
        assert!(output.status.success(), "{}", workspace.text(&output));
    }
    let report = workspace.json(&["fleet", "build"]);
    assert_eq!(report["totals"]["unchanged"], sites, "{}", report["totals"]);
    for n in [0, sites / 2, sites - 1] {
        let name = format!("site-{n}");
        let to = workspace.temp().join(&name);
        assert!(workspace.output(&["fleet", "export", &name, to.to_str().unwrap()]).status.success());
        let alone = Workspace::empty();
        let build = alone.json(&["-C", to.to_str().unwrap(), "build", "--no-link"]);
        assert_eq!(build["targets"][0]["object"], site(&report, &name)["object"], "{name}");
    }
    // One value of one site.
    workspace.edit("sites.csv", "10.0.0.10,", "10.0.0.99,");
    let found = diff(&workspace);
    assert_eq!((&found["counts"]["changed"], &found["counts"]["same"]), (&1.into(), &(sites - 1).into()));
    assert_eq!(found["changes"][0]["sites"], serde_json::json!(["site-0"]));
    let tweaked = workspace.json(&["fleet", "build"]);
    assert_eq!(
        (&tweaked["totals"]["built"], &tweaked["totals"]["unchanged"]),
        (&1.into(), &(sites - 1).into())
    );
    assert_eq!(workspace.json(&["fleet", "expiry"])["sites"].as_array().unwrap().len(), sites);
    // One field that all have in common is one change of each topology.
    workspace.edit("fleet.yaml", "hostPrefix: 23", "hostPrefix: 24");
    let found = diff(&workspace);
    let groups: Vec<usize> = found["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["sites"].as_array().unwrap().len())
        .collect();
    assert_eq!(groups, [sites - sites / 3, sites / 3]);
    workspace.assert_sound();
}

fn diff(workspace: &Workspace) -> serde_json::Value {
    let output = workspace.output(&["fleet", "diff", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", workspace.text(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

mod host {
    use crate::harness::in_mount_namespace;
    use crate::store::script;

    /// No further site is begun on a full disk; what is built stays, and the rest follows once there is room.
    #[test]
    fn a_full_disk() {
        let Some(flags) = in_mount_namespace("a full disk below a fleet") else { return };
        let workspace = super::generated(4);
        std::fs::create_dir_all(&workspace.store).unwrap();
        let text = script(
            &workspace,
            &flags,
            "mount -t tmpfs -o size=96m,mode=755 tinderbox $S
             $T fleet build -q --only site-0; echo one: $?
             mkdir -p $S/lost+found; cat /dev/zero > $S/lost+found/filler 2>/dev/null
             $T fleet build -q; echo full: $?
             $T store verify -q; echo verify: $?
             rm $S/lost+found/filler
             $T fleet build -q --json > again.json; echo room: $?
             $T store verify -q; echo verify: $?",
        );
        let codes: Vec<&str> = text.lines().filter(|line| line.contains(": ") && line.len() < 12).collect();
        assert_eq!(codes, ["one: 0", "full: 1", "verify: 0", "room: 0", "verify: 0"], "{text}");
        // Told once, however many sites it met.
        assert_eq!(text.matches("No space left on device").count(), 1, "{text}");
        let again = std::fs::read(workspace.dir.join("again.json")).unwrap();
        let again: serde_json::Value = serde_json::from_slice(&again).unwrap();
        assert_eq!(super::site(&again, "site-0")["state"], "unchanged");
        assert_eq!((&again["totals"]["failed"], &again["totals"]["built"]), (&0.into(), &3.into()));
    }

    #[test]
    fn a_few_sites_through_bad_days() {
        super::through_bad_days(9);
    }
}

mod long {
    #[test]
    #[ignore = "an hour: of the tier long"]
    fn two_thousand_sites_through_bad_days() {
        super::through_bad_days(2000);
    }
}
