//! Whether a program still knows the flags that it is given. It is asked, not its documentation: run with all its flags and
//! `--help` at the end, a program parses the flags, complains about the first that it does not know, else prints its help
//! and does nothing.
//!
//! Two libraries parse flags in OpenShift: pflag (`unknown flag: --x`) and Go's own (`flag provided but not defined: -x`).

use super::{Finding, Level, Section};

/// How a program answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub success: bool,
    pub output: String,
}

/// What a program says about its flags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Flags that it does not know.
    pub unknown: Vec<String>,
    /// Flags that it knows and warns about, in its words.
    pub deprecated: Vec<String>,
    /// Why it refuses a value, in its words.
    pub refused: Option<String>,
}

/// Asks about a command line; `run` runs one. An error means that it cannot be asked.
pub(crate) fn ask(
    argv: &[String],
    run: &mut dyn FnMut(&[String]) -> Result<Answer, String>,
) -> Result<Asked, String> {
    let mut asked = Asked::default();
    let mut argv: Vec<String> = argv.to_vec();
    loop {
        let line: Vec<String> = argv.iter().cloned().chain(["--help".to_owned()]).collect();
        let answer = run(&line)?;
        if let Some(name) = unknown(&answer.output) {
            let before = argv.len();
            argv.retain(|word| flag_name(word) != Some(name));
            if argv.len() == before {
                return Err(match name {
                    "help" => "it has no `--help`".to_owned(),
                    name => format!("it complains about `--{name}`, which it was not given"),
                });
            }
            asked.unknown.push(format!("--{name}"));
            continue;
        }
        asked.deprecated.extend(answer.output.lines().filter_map(deprecated));
        if !answer.success {
            asked.refused = complaint(&answer.output);
        }
        return Ok(asked);
    }
}

fn flag_name(word: &str) -> Option<&str> {
    let flag = word.strip_prefix("--")?;
    Some(flag.split_once('=').map_or(flag, |(name, _)| name))
}

/// The flag that a program does not know.
fn unknown(output: &str) -> Option<&str> {
    let end = |rest: &'_ str| rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)));
    ["unknown flag: --", "flag provided but not defined: -"].iter().find_map(|said| {
        let (_, rest) = output.split_once(said)?;
        let rest = rest.trim_start_matches('-');
        Some(&rest[..end(rest).unwrap_or(rest.len())])
    })
}

/// pflag's warning: `Flag --x has been deprecated, use --y`.
fn deprecated(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("Flag --")?;
    rest.contains("has been deprecated").then(|| format!("--{}", rest.trim()))
}

/// What a program complains about, with or without its usage below. Help alone is none, though Go's own library fails
/// with it.
fn complaint(output: &str) -> Option<String> {
    let is_error = |line: &&str| {
        let line = line.trim_start().to_lowercase();
        line.starts_with("error:") || line.starts_with("panic:") || line.contains("invalid argument")
    };
    if let Some(line) = output.lines().find(is_error) {
        return Some(line.trim().to_owned());
    }
    let is_usage = |line: &str| line.trim_start().to_lowercase().starts_with("usage");
    (!output.lines().any(is_usage)).then(|| last_line(output))
}

fn last_line(output: &str) -> String {
    output
        .lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or("it failed without a word")
        .trim()
        .to_owned()
}

/// Findings about programs: the name of each, and what it said.
pub(crate) fn findings(asked: &[(String, Asked)]) -> Vec<Finding> {
    let list = |of: &dyn Fn(&Asked) -> Vec<String>| -> Vec<String> {
        let one = |(program, asked): &(String, Asked)| {
            of(asked).into_iter().map(|said| format!("{program}: {said}")).collect::<Vec<_>>()
        };
        asked.iter().flat_map(one).collect()
    };
    let finding = |level, id, message: &str, items| Finding::new(level, Section::Flags, id, message, items);
    [
        finding(
            Level::Obstacle,
            "flag-unknown",
            "flags that programs do not know: they do not start",
            list(&|asked| asked.unknown.clone()),
        )
        .advice("a patch of yours may set one; else this tinderbox is too old for the release"),
        finding(
            Level::Obstacle,
            "flag-refused",
            "programs that refuse what they are given",
            list(&|asked| asked.refused.iter().cloned().collect()),
        )
        .advice("a patch of yours may set it; else this tinderbox is too old for the release"),
        finding(
            Level::Look,
            "flag-deprecated",
            "flags that programs warn about: a later release will not know them",
            list(&|asked| asked.deprecated.clone()),
        ),
    ]
    .into_iter()
    .filter_map(Finding::if_any)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that knows flags, with the words of a library.
    fn program<'k>(
        known: &'k [&str],
        complains: &'k str,
    ) -> impl FnMut(&[String]) -> Result<Answer, String> + 'k {
        move |argv| {
            let flags = argv.iter().filter_map(|word| flag_name(word));
            for name in flags {
                if name == "help" {
                    let output = "Flag --old has been deprecated, use --new\nUsage:\n  x\n".to_owned();
                    return Ok(Answer { success: true, output });
                }
                if !known.contains(&name) {
                    return Ok(Answer { success: false, output: format!("{complains}{name}\nsee help\n") });
                }
            }
            Err("it ran".into())
        }
    }

    #[test]
    fn every_unknown_flag_is_found_in_the_words_of_both_libraries() {
        let argv: Vec<String> =
            ["/usr/bin/x", "start", "--a=1", "--gone=2", "--b", "--away", "-v=2"].map(str::to_owned).into();
        for complains in ["Error: unknown flag: --", "flag provided but not defined: -"] {
            let asked = ask(&argv, &mut program(&["a", "b"], complains)).unwrap();
            assert_eq!(asked.unknown, ["--gone", "--away"]);
            assert_eq!(asked.deprecated, ["--old has been deprecated, use --new"]);
            assert_eq!(asked.refused, None);
        }
    }

    #[test]
    fn what_cannot_be_asked_says_why() {
        let argv = ["/x".to_owned(), "--a=1".to_owned()];
        let said = |output: &str| {
            let output = output.to_owned();
            ask(&argv, &mut move |_| Ok(Answer { success: false, output: output.clone() }))
        };
        assert_eq!(said("unknown flag: --help").unwrap_err(), "it has no `--help`");
        assert_eq!(
            said("unknown flag: --z").unwrap_err(),
            "it complains about `--z`, which it was not given"
        );
        let refused = said("I0101 start\nError: invalid argument \"x\" for \"--a\" flag\n").unwrap().refused;
        assert_eq!(refused.as_deref(), Some("Error: invalid argument \"x\" for \"--a\" flag"));
        let refused = said("Error: bad value\nUsage:\n  x\n").unwrap().refused;
        assert_eq!(refused.as_deref(), Some("Error: bad value"));
        assert_eq!(said("it is broken\n").unwrap().refused.as_deref(), Some("it is broken"));
        assert_eq!(said("Usage of x:\n  -a\n").unwrap(), Asked::default());
        assert_eq!(ask(&argv, &mut |_| Err("no content".into())).unwrap_err(), "no content");
    }
}
