//! Debian's chromium, driven over the DevTools protocol on a pipe: no port, no network.
//!
//! Every wait is on an answer or an event, and has a bound. Whatever a page asks for or complains about is kept.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::left_out;

/// The longest that one answer may take, on a machine that does ten other things.
const PATIENCE: Duration = Duration::from_secs(120);

/// Texts whose ground is too like their colour: less than 4.5 to 1.
const FAINT: &str = "(() => {
  const context = Object.assign(document.createElement('canvas'), {width: 1, height: 1}).getContext('2d', {willReadFrequently: true});
  const rgb = (color) => { context.clearRect(0, 0, 1, 1); context.fillStyle = color; context.fillRect(0, 0, 1, 1); return [...context.getImageData(0, 0, 1, 1).data]; };
  const light = (color) => { const [r, g, b] = rgb(color).map((one) => one / 255).map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (one) => { for (let at = one; at; at = at.parentElement) { const color = getComputedStyle(at).backgroundColor; if (rgb(color)[3] === 255) return color; } return 'white'; };
  const faint = [];
  for (const one of document.querySelectorAll('main *, header *, nav *')) {
    const has = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!has || one.closest('svg') || !one.checkVisibility() || one.matches(':disabled')) continue;
    const [a, b] = [light(getComputedStyle(one).color), light(ground(one))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) faint.push(`${one.className || one.tagName}: ${one.textContent.slice(0, 30)}`);
  }
  return faint.slice(0, 5).join('|');
})()";

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    _profile: tempfile::TempDir,
    pipe: RefCell<Pipe>,
}

struct Pipe {
    input: ChildStdin,
    output: Receiver<Value>,
    session: Option<String>,
    asked: u64,
    events: Vec<Value>,
}

impl Browser {
    /// Starts one. None, and a word about it, if there is none on this machine.
    pub(crate) fn start(part: &str) -> Option<Self> {
        let found = Command::new("chromium").arg("--version").stderr(Stdio::null()).output();
        if !found.is_ok_and(|output| output.status.success()) {
            left_out(part, "chromium, of Debian's chromium");
            return None;
        }
        let profile = tempfile::Builder::new().prefix("tinderbox-browser-").tempdir().unwrap();
        // It reads commands from 3 and answers on 4.
        let script = "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]);
        command.args([
            "--disable-background-networking",
            "--disable-dev-shm-usage",
            "--remote-debugging-pipe",
        ]);
        command.args(["--window-size=1280,900", &format!("--user-data-dir={}", profile.path().display())]);
        command.arg("about:blank").env("HOME", profile.path());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0).map_while(Result::ok) {
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    break;
                }
            }
        });
        let pipe = Pipe { input, output: receiver, session: None, asked: 0, events: Vec::new() };
        let browser = Self { child, _profile: profile, pipe: pipe.into() };
        let targets = browser.ask("Target.getTargets", json!({}));
        let is_page = |target: &&Value| target["type"] == "page";
        let page =
            targets["targetInfos"].as_array().unwrap().iter().find(is_page).unwrap()["targetId"].clone();
        let session = browser.ask("Target.attachToTarget", json!({"targetId": page, "flatten": true}));
        browser.pipe.borrow_mut().session = Some(session["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        // As in a window that someone looks at: otherwise no element hears of the focus.
        browser.ask("Emulation.setFocusEmulationEnabled", json!({"enabled": true}));
        Some(browser)
    }

    /// Sends one command and waits for its answer.
    pub(crate) fn ask(&self, method: &str, params: Value) -> Value {
        let mut pipe = self.pipe.borrow_mut();
        pipe.asked += 1;
        let id = pipe.asked;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = &pipe.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        pipe.input.write_all(&bytes).unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            let said = pipe.receive(until, method);
            if said["id"] == id {
                assert!(said.get("error").is_none(), "{method}: {}", said["error"]);
                return said["result"].clone();
            }
        }
    }

    /// Opens a file, and waits until it is loaded. What was said before is forgotten.
    pub(crate) fn open(&self, path: &Path) {
        self.pipe.borrow_mut().events.clear();
        let answer = self.ask("Page.navigate", json!({"url": format!("file://{}", path.display())}));
        assert!(answer.get("errorText").is_none(), "{answer}");
        let mut pipe = self.pipe.borrow_mut();
        let until = Instant::now() + PATIENCE;
        while !pipe.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            pipe.receive(until, "Page.loadEventFired");
        }
    }

    /// What an expression is worth on the page.
    pub(crate) fn eval(&self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.ask("Runtime.evaluate", params);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// The same as text.
    pub(crate) fn text(&self, expression: &str) -> String {
        let found = self.eval(expression);
        found.as_str().unwrap_or_else(|| panic!("{expression}: {found}")).to_owned()
    }

    /// Texts that are too faint on their ground; empty if all can be read.
    pub(crate) fn faint(&self) -> String {
        self.text(FAINT)
    }

    /// How many pixels the page is wider than its window.
    pub(crate) fn beyond(&self) -> i64 {
        let width = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        self.eval(width).as_i64().unwrap()
    }

    /// Waits until an expression is true, looking at every frame.
    pub(crate) fn until(&self, expression: &str) {
        self.eval(&format!(
            "new Promise((done) => {{ const look = () => (({expression}) ? done(true) : requestAnimationFrame(look)); look(); }})"
        ));
    }

    /// The width and height of the window, and whether the system is dark.
    pub(crate) fn look(&self, width: u32, is_dark: bool) {
        let metrics = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.ask("Emulation.setEmulatedMedia", features);
    }

    /// Presses keys, one after the other: names as `KeyboardEvent.key` has them.
    pub(crate) fn press(&self, keys: &[&str]) {
        for key in keys {
            let text = match *key {
                "Enter" => "\r",
                one if one.chars().count() == 1 => one,
                _ => "",
            };
            let code = match *key {
                "Tab" => 9,
                "Enter" => 13,
                "Escape" => 27,
                _ => 0,
            };
            let kind = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
            let down = json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code});
            self.ask("Input.dispatchKeyEvent", down);
            self.ask(
                "Input.dispatchKeyEvent",
                json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}),
            );
        }
    }

    /// Types a text.
    pub(crate) fn type_in(&self, text: &str) {
        let keys: Vec<String> = text.chars().map(String::from).collect();
        self.press(&keys.iter().map(String::as_str).collect::<Vec<_>>());
    }

    /// Fails if the page asked for anything but itself, complained, or met its policy.
    pub(crate) fn assert_quiet(&self) {
        // An answer comes after everything that was to be said before it.
        self.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
        let events = self.pipe.borrow().events.clone();
        let of = |method: &str| events.iter().filter(|event| event["method"] == method).collect::<Vec<_>>();
        let urls: Vec<&str> = of("Network.requestWillBeSent")
            .iter()
            .map(|event| event["params"]["request"]["url"].as_str().unwrap())
            .filter(|url| !url.starts_with("data:"))
            .collect();
        assert!(urls.len() == 1 && urls[0].starts_with("file:///"), "requests: {urls:?}");
        for method in [
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Log.entryAdded",
            "Page.javascriptDialogOpening",
            "Network.webSocketCreated",
        ] {
            assert!(of(method).is_empty(), "{:?}", of(method));
        }
    }

    /// What its policy refused since the page was opened.
    pub(crate) fn refused(&self) -> Vec<String> {
        let events = self.pipe.borrow().events.clone();
        let entries = events.iter().filter(|event| event["method"] == "Log.entryAdded");
        entries.map(|event| event["params"]["entry"]["text"].as_str().unwrap().to_owned()).collect()
    }
}

impl Pipe {
    /// The next message; events are kept.
    fn receive(&mut self, until: Instant, waits_for: &str) -> Value {
        let left = until.saturating_duration_since(Instant::now());
        let said = self.output.recv_timeout(left).unwrap_or_else(|error| panic!("{waits_for}: {error}"));
        if said.get("method").is_some() {
            self.events.push(said.clone());
        }
        said
    }
}

impl Drop for Browser {
    /// Ends the browser and what it started: they are one process group, which nobody else is in.
    fn drop(&mut self) {
        if let Some(group) = rustix::process::Pid::from_raw(self.child.id().cast_signed()) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.wait();
    }
}
