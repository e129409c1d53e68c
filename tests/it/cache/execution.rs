//! Farms that build, as a farm of the tests' own does it. Real ones are in `host`.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use super::executor::Manners;
use super::farm::{Farm, Traits};
use super::suite::{COUNT, TARGET, build, objects, workspace};
use super::{generate, write_own};
use crate::harness::{Workspace, names};

const EXECUTES: Traits = Traits {
    blake3: false,
    zstd: false,
    batch: 0,
    drops_metadata: false,
    read_only: false,
    executes: true,
    links: false,
};

/// Names a farm in the user's own configuration.
fn configure(workspace: &Workspace, url: &str, options: &str) {
    write_own(workspace, "config.yaml", &format!("builders:\n- url: '{url}'\n{options}"));
}

/// What a farm executed of a build.
fn executed(report: &Value) -> Vec<&str> {
    report["executed"].as_object().map_or_else(Vec::new, |all| all.keys().map(String::as_str).collect())
}

fn requests(farm: &Farm, name: &str) -> usize {
    farm.content().requests.get(name).copied().unwrap_or_default()
}

/// The same ids, and everybody knows who did it: the store, a push, and a cluster that does not trust the farm.
#[test]
fn what_a_farm_builds_is_the_same_and_never_ours() {
    let expected = build(&workspace(), &[TARGET]).0;
    let farm = Farm::start(EXECUTES);
    let here = workspace();
    configure(&here, &farm.url, "  scope: [demo]\n");
    let (report, said) = build(&here, &[TARGET]);
    assert!(!said.contains("warning"), "{said}");
    assert_eq!(objects(&report), objects(&expected));
    assert_eq!((executed(&report).len(), names(&report["built"]).len()), (COUNT, COUNT), "{report}");
    assert!(report["executed"].as_object().unwrap().values().all(|who| who == farm.url.as_str()));
    here.assert_sound();
    // The program and everything that several need are sent once.
    assert_eq!(farm.content().executed.len(), COUNT);
    assert!(farm.content().executed.iter().all(|action| action.platform.is_none()));

    // Our signature does not launder it.
    generate(&here);
    let cache = Farm::start(Traits::default());
    let config =
        format!("builders: [{{url: '{}', scope: [demo]}}]\ncaches: [{{url: '{}'}}]\n", farm.url, cache.url);
    write_own(&here, "config.yaml", &config);
    let pushed = &here.json(&["push", TARGET])[0];
    assert_eq!(
        (&pushed["entries"], &pushed["kept_back"]["executed"]),
        (&0.into(), &COUNT.into()),
        "{pushed}"
    );
    // Known, and trusted: nothing is built.
    assert_eq!(names(&build(&here, &[TARGET]).0["cached"]).len(), COUNT);
    // Asked or not makes no difference.
    assert_eq!(names(&build(&here, &["--offline", TARGET]).0["cached"]).len(), COUNT);
    // Trusted with something else only, and not at all: it is built here, and then it is ours.
    for options in ["  scope: [other]\n", ""] {
        match options {
            "" => write_own(&here, "config.yaml", &format!("caches: [{{url: '{}'}}]\n", cache.url)),
            options => configure(&here, &farm.url, options),
        }
        let report = here.json(&["build", "--dry-run", TARGET]);
        assert!(!report["would_build"].as_array().unwrap().is_empty(), "{options}: {report}");
    }
    let (report, _) = build(&here, &[TARGET]);
    assert_eq!((objects(&report), names(&report["built"]).len()), (objects(&expected), COUNT), "{report}");
    assert_eq!(here.json(&["push", TARGET])[0]["entries"], COUNT);
}

/// What was built twice, there and here, is ours as well.
#[test]
fn a_check_compares_a_farm_with_this_machine() {
    let farm = Farm::start(EXECUTES);
    let here = workspace();
    configure(&here, &farm.url, "  scope: [demo]\n");
    let (report, said) = build(&here, &["--check", "demo/small"]);
    assert_eq!((executed(&report), &report["check"]["checked"]), (vec!["demo/small"], &1.into()), "{said}");
    assert_eq!(report["check"]["differences"], Value::Array(Vec::new()), "{report}");
    write_own(&here, "config.yaml", "caches: []\n");
    assert_eq!(names(&build(&here, &["demo/small"]).0["cached"]).len(), 1);
}

/// BLAKE3, compressed streams, and links as the server has them.
#[test]
fn whatever_a_farm_speaks() {
    let expected = build(&workspace(), &[TARGET]).0;
    let farm = Farm::start(Traits { blake3: true, zstd: true, links: true, read_only: true, ..EXECUTES });
    let here = workspace();
    configure(&here, &farm.url, "  scope: [demo]\n  platform: {OSFamily: linux, pool: 7}\n");
    let (report, said) = build(&here, &[TARGET]);
    assert_eq!((objects(&report), executed(&report).len()), (objects(&expected), COUNT), "{said}");
    let content = farm.content();
    let properties = &content.executed[0].platform.as_ref().unwrap().properties;
    let properties: Vec<_> = properties.iter().map(|one| (&*one.name, &*one.value)).collect();
    assert_eq!(properties, [("OSFamily", "linux"), ("pool", "7")]);
}

/// A program of an image, with links and a secret: in the sandbox of the worker, as it would be here.
#[test]
fn programs_run_in_the_sandbox_of_a_worker() {
    // The render that clusters share runs programs; filling in a cluster's values runs none, and is secret.
    const TARGETS: [&str; 2] = ["mco/rendered", "mco/shared"];
    let known = Workspace::example().prebuilt();
    let expected = build(&known, &TARGETS).0;
    let secret = std::fs::read_to_string(known.dir.join("install-config.yaml")).unwrap();
    let secret = secret.split("\"auth\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    for (links, secrets) in [(false, false), (false, true), (true, true)] {
        let farm = Farm::start(Traits { links, ..EXECUTES });
        let here = Workspace::example();
        configure(&here, &farm.url, &format!("  secrets: {secrets}\n"));
        let (report, said) = build(&here, &TARGETS);
        assert!(!said.contains("warning: farm"), "{said}");
        assert_eq!(objects(&report), objects(&expected), "{said}");
        // Without a scope, only what may run programs; and what is secret only where that may be seen.
        let there = if secrets { &TARGETS[..] } else { &TARGETS[1..] };
        assert_eq!(executed(&report), there, "{report}");
        let knows = farm.content().blobs.values().any(|blob| {
            blob.len() < 1 << 20 && blob.windows(secret.len()).any(|part| part == secret.as_bytes())
        });
        assert_eq!(knows, secrets);
        for (target, isolated) in TARGETS.into_iter().zip([false, true]) {
            let all = report["targets"].as_array().unwrap();
            let found = all.iter().find(|one| one["name"] == target).unwrap();
            let trace = here.store.join(".tinderbox/realisations").join(found["drv"].as_str().unwrap());
            let trace = std::fs::read_to_string(trace).unwrap();
            let executor = format!("\"executor\":\"{}\"", farm.url);
            assert_eq!(trace.contains(&executor), there.contains(&target), "{trace}");
            assert_eq!(trace.contains("\"isolation\":\""), isolated, "{trace}");
        }
        here.assert_sound();
    }
}

/// Whatever a farm does wrong: the right output, built here, and one warning.
#[test]
fn a_bad_farm_is_no_hindrance() {
    let expected = build(&workspace(), &[TARGET]).0;
    let farm = Farm::start(EXECUTES);
    let cases = [
        (Manners::Refuses, "farm grpc://", 0),
        (Manners::Breaks, "", COUNT),
        (Manners::Forgets, "not found", 0),
        (Manners::Kills, "its worker ended with 137", 0),
        (Manners::Lies, "is not the object that it reports", 0),
        (Manners::Confuses, "it is about another derivation", 1),
        (Manners::Truncates, "is not what its digest says", 0),
        (Manners::LosesAll, "its worker left no report", 0),
    ];
    for (manners, reason, built) in cases {
        farm.content().manners = manners;
        let here = workspace();
        configure(&here, &farm.url, "  scope: [demo]\n");
        let (report, said) = build(&here, &[TARGET]);
        assert_eq!(objects(&report), objects(&expected), "{manners:?}: {said}");
        assert_eq!(executed(&report).len(), built, "{manners:?}: {said}");
        assert_eq!(names(&report["built"]).len(), COUNT, "{manners:?}: {said}");
        let warnings = usize::from(!reason.is_empty());
        assert_eq!(said.matches("warning: farm").count(), warnings, "{manners:?}: {said}");
        assert!(said.contains(reason), "{manners:?}: {said}");
        here.assert_sound();
    }
    assert!(requests(&farm, "WaitExecution") > COUNT, "each broken stream is taken up again");
}

/// Silent, closed, without execution, and of another architecture: said once, and built here.
#[test]
fn a_farm_that_does_not_build_is_no_hindrance() {
    let expected = build(&workspace(), &[TARGET]).0;
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let cache = Farm::start(Traits::default());
    let farm = Farm::start(EXECUTES);
    let other = if cfg!(target_arch = "aarch64") { "amd64" } else { "arm64" };
    let cases = [
        (format!("grpc://{}", silent.local_addr().unwrap()), String::new(), "no answer within 2 s"),
        (format!("grpc://{closed}"), String::new(), "refused"),
        (cache.url.clone(), String::new(), "it executes nothing"),
        (farm.url.clone(), format!("  platform: {{Arch: {other}}}\n"), "its workers are "),
    ];
    for (url, options, reason) in cases {
        let here = workspace();
        configure(&here, &url, &format!("  scope: [demo]\n{options}"));
        let (report, said) = build(&here, &[TARGET]);
        assert_eq!((objects(&report), executed(&report).len()), (objects(&expected), 0), "{said}");
        assert_eq!(said.matches("warning: farm").count(), 1, "{said}");
        assert!(said.contains(reason) && said.contains("not asked again in this run"), "{reason}: {said}");
        // Nobody is asked where the user wants that, or where nothing is worth it.
        for args in [&["--no-cache", TARGET][..], &["--offline", TARGET]] {
            let here = workspace();
            configure(&here, &url, &format!("  scope: [demo]\n{options}"));
            assert!(!build(&here, args).1.contains("warning: farm"));
        }
        let here = workspace();
        configure(&here, &url, &options);
        assert!(!build(&here, &[TARGET]).1.contains("warning: farm"));
    }
    assert_eq!(farm.content().executed.len(), 0);
}

/// Ctrl-C ends what runs there as well.
#[test]
fn a_cancelled_build_cancels_what_a_farm_does() {
    let farm = Farm::start(EXECUTES);
    farm.content().manners = Manners::Hangs;
    let here = workspace();
    configure(&here, &farm.url, "  scope: [demo]\n");
    let mut running = here.command(&["build", "demo/small"]).stderr(Stdio::piped()).spawn().unwrap();
    while requests(&farm, "Execute") == 0 {
        assert!(running.try_wait().unwrap().is_none(), "it ended without a farm");
        std::thread::sleep(Duration::from_millis(5));
    }
    let process = rustix::process::Pid::from_child(&running);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(requests(&farm, "CancelOperation"), 1);
}

#[test]
fn what_is_wrong_with_builders_is_said() {
    let here = workspace();
    configure(&here, "oci://registry.example.com/x", "");
    let said = here.run(&["build", TARGET]);
    assert!(
        said.contains("builders.0.url") && said.contains("is not a farm") && said.contains("[exit 1]"),
        "{said}"
    );
    configure(&here, "grpc://farm.example.com/x", "  secrets: true\n");
    let said = here.run(&["build", TARGET]);
    assert!(
        said.contains("in clear text") && said.contains("grpcs://") && said.contains("[exit 1]"),
        "{said}"
    );
}
