//! A path in an object: built while walking, formatted only for a fault.

use std::fmt::Write as _;

/// A step, and its parents.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    around: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Item(usize),
}

impl<'a> Path<'a> {
    pub(super) const ROOT: Path<'static> = Path { around: None, step: Step::Root };

    pub(super) fn field(&'a self, name: &'a str) -> Path<'a> {
        Path { around: Some(self), step: Step::Field(name) }
    }

    pub(super) fn item(&'a self, at: usize) -> Path<'a> {
        Path { around: Some(self), step: Step::Item(at) }
    }

    /// `spec.ports[0].name`; keys that are not plain names are in brackets, as in `data[ca.crt]`.
    pub(super) fn text(&self) -> String {
        let mut text = self.around.map_or_else(String::new, Path::text);
        match self.step {
            Step::Root => {}
            Step::Item(at) => {
                let _ = write!(text, "[{at}]");
            }
            Step::Field(name)
                if name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '$')) =>
            {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
            Step::Field(name) => {
                let _ = write!(text, "[{name}]");
            }
        }
        text
    }
}
