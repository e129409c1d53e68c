//! `cluster.lock`: what the outside world said, pinned. Written by `tinderbox lock`, never by hand; pure in here.
//!
//! | field | what it pins |
//! |---|---|
//! | `version` | the format of this file |
//! | `epoch` | the one point in time that a derivation may see |

use std::collections::BTreeMap;

use serde::Deserialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use toml::Spanned;

use crate::hint::{Place, Problem, Problems};
use crate::value::Value;

/// The format that this program reads and writes.
const VERSION: i64 = 1;

/// Everything pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// The one point in time that a derivation may see, in whole seconds, UTC.
    pub epoch: OffsetDateTime,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    version: Spanned<i64>,
    epoch: Spanned<String>,
}

impl Lock {
    /// Reads the file's text; `name` is the file as the user knows it.
    pub fn parse(name: &str, text: &str) -> Result<Self, Problems> {
        let place = |offset: Option<usize>, field: &str| {
            let line = offset.map(|offset| {
                1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|b| **b == b'\n').count()
            });
            Place { file: name.to_owned(), line, field: field.to_owned() }
        };
        let one = |problem: Problem| Problems(vec![problem]);
        let hint = || "`tinderbox lock` writes this file; delete it to pin anew".to_owned();
        let raw: Raw = toml::from_str(text).map_err(|error| {
            one(Problem::new(place(error.span().map(|span| span.start), ""), error.message()).hint(hint()))
        })?;
        if *raw.version.get_ref() != VERSION {
            let message =
                format!("format {} is not known; this tinderbox knows {VERSION}", raw.version.get_ref());
            let problem = Problem::new(place(Some(raw.version.span().start), "version"), message);
            return Err(one(problem.hint("use the tinderbox that wrote it".to_owned())));
        }
        let epoch =
            OffsetDateTime::parse(raw.epoch.get_ref(), &Rfc3339).ok().filter(|time| time.nanosecond() == 0);
        let Some(epoch) = epoch else {
            let message = format!("`{}` is not a time", raw.epoch.get_ref());
            let problem = Problem::new(place(Some(raw.epoch.span().start), "epoch"), message);
            return Err(one(problem.hint("write it as 2026-11-16T00:00:00Z".to_owned())));
        };
        Ok(Self { epoch: epoch.to_offset(time::UtcOffset::UTC) })
    }

    /// The file's text.
    pub fn encode(&self) -> String {
        let Self { epoch } = self;
        format!(
            "# What the outside world said, pinned by `tinderbox lock`. Commit this file: with it, the configuration and the\n\
             # seed, every artifact can be made again, byte for byte. `tinderbox lock --update` changes what is here.\n\
             version = {VERSION}\n\
             \n\
             # The one point in time that a build may see; certificates are valid from here on.\n\
             epoch = \"{}\"\n",
            show(*epoch)
        )
    }

    /// What recipes see below `lock`.
    pub fn value(&self) -> Value {
        let Self { epoch } = self;
        Value::Map(BTreeMap::from([("epoch".to_owned(), Value::from(show(*epoch)))]))
    }
}

fn show(time: OffsetDateTime) -> String {
    time.format(&Rfc3339).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn text_round_trips() {
        let lock = Lock { epoch: datetime!(2026-11-16 02:03:04 UTC) };
        assert_eq!(Lock::parse("cluster.lock", &lock.encode()).unwrap(), lock);
    }

    #[test]
    fn problems_name_line_and_field() {
        let problem = |text: &str| Lock::parse("cluster.lock", text).unwrap_err().to_string();
        insta::assert_snapshot!(problem("version = 1\nepoch = 'yesterday'\n"), @r"
        cluster.lock:2: epoch: `yesterday` is not a time
          hint: write it as 2026-11-16T00:00:00Z
        ");
        insta::assert_snapshot!(problem("version = 9\nepoch = 'yesterday'\n"), @r"
        cluster.lock:1: version: format 9 is not known; this tinderbox knows 1
          hint: use the tinderbox that wrote it
        ");
        insta::assert_snapshot!(problem("version = 1\nepch = 'x'\n"), @r"
        cluster.lock:2: unknown field `epch`, expected `version` or `epoch`
          hint: `tinderbox lock` writes this file; delete it to pin anew
        ");
    }
}
