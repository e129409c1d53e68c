//! Flags: `--name value` and `--name=value`. Rejects unknown flags.

use std::collections::BTreeMap;

use super::{Done, Stop};

/// The flags of a command with their defaults and values.
pub(super) struct Flags(BTreeMap<&'static str, String>);

impl Flags {
    pub(super) fn parse(known: &[(&'static str, &str)], arguments: &[String]) -> Done<Self> {
        let mut flags: BTreeMap<_, _> =
            known.iter().map(|(name, default)| (*name, (*default).to_owned())).collect();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let Some(flag) = argument.strip_prefix("--") else {
                return Err(Stop::Usage(format!("unexpected argument `{argument}`")));
            };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (flag, None),
            };
            if name == "help" {
                let names: String =
                    known.iter().map(|(name, _)| format!("      --{name} string\n")).collect();
                return Err(Stop::Help(format!("Usage:\n  bootstrap [flags]\n\nFlags:\n{names}")));
            }
            let Some(slot) =
                known.iter().find(|(known, _)| *known == name).and_then(|(known, _)| flags.get_mut(known))
            else {
                return Err(Stop::Usage(format!("unknown flag: --{name}")));
            };
            *slot = match value.or_else(|| arguments.next().cloned()) {
                Some(value) => value,
                None => return Err(Stop::Usage(format!("flag needs an argument: --{name}"))),
            };
        }
        Ok(Self(flags))
    }

    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_and_what_is_refused() {
        let known = [("a", "x"), ("b", "y")];
        let parse = |text: &str| {
            let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            Flags::parse(&known, &arguments).map(|flags| format!("{} {}", flags.get("a"), flags.get("b")))
        };
        assert_eq!(parse("--a 1 --b=2"), Ok("1 2".into()));
        assert_eq!(parse("--b="), Ok("x ".into()));
        assert_eq!(parse("--c 1"), Err(Stop::Usage("unknown flag: --c".into())));
        let help =
            Stop::Help("Usage:\n  bootstrap [flags]\n\nFlags:\n      --a string\n      --b string\n".into());
        assert_eq!(parse("--a 1 --help --c"), Err(help));
        assert_eq!(parse("--a"), Err(Stop::Usage("flag needs an argument: --a".into())));
        assert_eq!(parse("a"), Err(Stop::Usage("unexpected argument `a`".into())));
    }
}
