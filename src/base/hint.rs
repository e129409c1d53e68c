//! Separates what is wrong (an error's message) from what to do about it ([`Hint::hint`]).
//!
//! [`Problem`] is one finding in a user's file; [`Problems`] are all findings of a run, reported at once.

use std::fmt;

use super::text::one_line;

/// An error that can say what to do about it.
pub trait Hint: std::error::Error {
    /// One sentence of advice, without a full stop; never repeats the message.
    fn hint(&self) -> Option<String> {
        None
    }
}

/// An error and its chain of sources, on one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let cause = source.to_string();
        if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
        next = source.source();
    }
    text
}

/// The candidate that `word` was probably meant to be.
///
/// At most a third of the letters may differ, so that `clster` finds `cluster` and `foo` finds nothing.
pub(crate) fn near<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= 1.max(word.len().max(candidate.len()) / 3))
        .min()
        .map(|(_, candidate)| candidate)
}

/// "did you mean `x`", if a candidate is close.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    near(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

/// The line number (from 1) of an offset.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// A position in a user's file: the file as the user knows it, the line (from 1), the field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, schemars::JsonSchema)]
pub struct Place {
    pub file: String,
    /// From 1; none for the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Path of the field in the file, for example `nodes.master-0.ip`; empty for the file itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

impl Place {
    pub fn file(file: impl Into<String>) -> Self {
        Self { file: file.into(), line: None, field: String::new() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.field.is_empty() {
            write!(f, ": {}", self.field)?;
        }
        Ok(())
    }
}

/// One thing that is wrong in one place of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema)]
pub struct Problem {
    #[serde(flatten)]
    pub place: Place,
    /// What is wrong: lower case, no full stop, values in backticks.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The check that found it (`addresses`, `replicas`, …), if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<&'static str>,
}

impl Problem {
    /// A problem without hint or check name; see [`Problem::hint`] and [`Problem::check`].
    pub fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into(), hint: None, check: None }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<Option<String>>) -> Self {
        self.hint = hint.into();
        self
    }

    #[must_use]
    pub fn check(mut self, check: &'static str) -> Self {
        self.check = Some(check);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Each part on its line, whatever keys and values it quotes: a line of its own is a problem, or its hint.
        write!(f, "{}: {}", one_line(&self.place.to_string()), one_line(&self.message))?;
        if let Some(check) = self.check {
            write!(f, " [{check}]")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {}", one_line(hint))?;
        }
        Ok(())
    }
}

/// All problems found; never empty when used as an error.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    pub fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// `value` if there are no problems, else all of them in the order of file and line.
    pub fn or<T>(mut self, value: T) -> Result<T, Self> {
        if self.0.is_empty() {
            return Ok(value);
        }
        self.0.sort();
        self.0.dedup();
        Err(self)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

impl Hint for Problems {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_finds_typos_and_nothing_else() {
        let fields = ["nodes", "network", "release", "vips"];
        assert_eq!(near("netwrok", fields), Some("network"));
        assert_eq!(near("Release", fields), Some("release"));
        assert_eq!(near("vip", fields), Some("vips"));
        assert_eq!(near("colour", fields), None);
    }

    #[test]
    fn a_problem_reads_like_a_compiler_message() {
        let place = Place { file: "cluster.yaml".into(), line: Some(7), field: "nodes.master-0.ip".into() };
        let problem = Problem::new(place, "`10.0.0.300` is not an address")
            .check("addresses")
            .hint(Some("use a.b.c.d".into()));
        assert_eq!(
            problem.to_string(),
            "cluster.yaml:7: nodes.master-0.ip: `10.0.0.300` is not an address [addresses]\n  hint: use a.b.c.d"
        );
        let place = Place { file: "a\nb".into(), line: None, field: "c\nd".into() };
        let problem = Problem::new(place, "`e\nf` is wrong").hint(Some("use\ng".into()));
        assert_eq!(problem.to_string(), "a\\nb: c\\nd: `e\\nf` is wrong\n  hint: use\\ng");
    }
}
