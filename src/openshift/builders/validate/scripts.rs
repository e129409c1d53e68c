//! Checks of bootkube.sh, which applies the manifests.

use super::Check;
use super::artifacts::File;

/// The input with scripts.
pub(super) const INPUT: &str = "script";

/// No field is lost on the way.
pub(super) const STRICT_APPLY: Check = Check {
    name: "strict-apply",
    config: &[],
    run: |artifacts, report| {
        let mut applies = false;
        for file in artifacts.of(INPUT) {
            for Command { line, verb, words } in commands(file) {
                applies |= verb == "apply";
                if !words.iter().any(|word| word == "--validate=strict") {
                    let message = format!("`oc {verb}` without `--validate=strict`");
                    report.add(&file.path, Some(line), "", message);
                }
            }
        }
        if !applies {
            report.add("bootkube.sh", None, "", "no `oc apply` in it");
        }
    },
};

/// A call of `oc` that writes objects from files.
pub(super) struct Command {
    /// First line, from 1.
    pub(super) line: usize,
    /// `apply`, `create` or `replace`.
    pub(super) verb: String,
    pub(super) words: Vec<String>,
}

/// The calls of `oc` in a script that write objects. Parses lines, not the shell's grammar: a call is what follows the
/// word `oc` up to the next operator, across lines that end with a backslash.
pub(super) fn commands(file: &File) -> Vec<Command> {
    let mut found = Vec::new();
    let mut lines = file.text.lines().enumerate();
    while let Some((at, first)) = lines.next() {
        if first.trim_start().starts_with('#') {
            continue;
        }
        let mut whole = first.to_owned();
        while whole.ends_with('\\') {
            whole.pop();
            whole.push_str(lines.next().map_or("", |(_, next)| next));
        }
        for part in whole.split([';', '|', '&', '(', ')', '`']) {
            let mut words = part.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
            if !words.any(|word| word == "oc" || word.ends_with("/oc") || word == "kubectl") {
                continue;
            }
            let words: Vec<String> = words.map(str::to_owned).collect();
            let verb = words.iter().find(|word| !word.starts_with('-'));
            if let Some(verb) = verb.filter(|verb| ["apply", "create", "replace"].contains(&verb.as_str())) {
                found.push(Command { line: at + 1, verb: verb.clone(), words });
            }
        }
    }
    found
}
