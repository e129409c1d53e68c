//! Filters of minijinja that one call could fill the memory with, each with an end.

use minijinja::value::{Kwargs, Rest, StringInput, Value, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, filters};

use super::render::TEXT;

/// The most that a width, an indentation or a number of slices can be.
const MOST: usize = 10_000;

pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_filter("batch", batch);
    environment.add_filter("format", format);
    environment.add_filter("indent", indent);
    environment.add_filter("join", join);
    environment.add_filter("replace", replace);
    environment.add_filter("slice", slice);
}

/// Fails if a number that a template gives is too large.
pub(super) fn few(count: usize) -> Result<(), Error> {
    match count > MOST {
        true => Err(Error::new(ErrorKind::InvalidOperation, format!("{count} is more than {MOST}"))),
        false => Ok(()),
    }
}

fn fits(bytes: usize) -> Result<(), Error> {
    match bytes > TEXT {
        true => Err(Error::new(ErrorKind::InvalidOperation, "its text is too long")),
        false => Ok(()),
    }
}

fn batch(state: &State, value: Value, count: usize, fill_with: Option<Value>) -> Result<Value, Error> {
    few(count)?;
    filters::batch(state, value, count, fill_with)
}

fn slice(state: &State, value: Value, count: usize, fill_with: Option<Value>) -> Result<Value, Error> {
    few(count)?;
    filters::slice(state, value, count, fill_with)
}

fn indent(
    value: StringInput<'_>,
    width: Option<usize>,
    first: Option<bool>,
    blank: Option<bool>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let named: Option<usize> = kwargs.peek("width")?;
    few(width.or(named).unwrap_or_default())?;
    filters::indent(value, width, first, blank, kwargs)
}

fn join(
    state: &mut State,
    value: &Value,
    joiner: Option<StringInput<'_>>,
    attribute: Option<&str>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let length = joiner.as_ref().map_or(0, |joiner| joiner.as_str().len());
    fits(length.saturating_mul(value.len().unwrap_or_default()))?;
    filters::join(state, value, joiner, attribute, kwargs)
}

fn replace(
    state: &mut State,
    value: StringInput<'_>,
    from: StringInput<'_>,
    to: StringInput<'_>,
) -> Result<Value, Error> {
    fits(value.as_str().matches(from.as_str()).count().saturating_mul(to.as_str().len()))?;
    filters::replace(state, value, from, to)
}

/// Widths and precisions stand in the text, or, for a `*`, among the values.
fn format(state: &mut State, text: &Value, values: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    for directive in text.as_str().unwrap_or_default().split('%').skip(1) {
        let flags = directive.trim_start_matches(['-', '+', ' ', '#', '0']);
        let end = flags.find(|c: char| !c.is_ascii_digit() && !".*".contains(c)).unwrap_or(flags.len());
        for number in flags[..end].split('.') {
            few(if number.contains('*') { usize::MAX } else { number.parse().unwrap_or(0) })?;
            few(if number.len() > 5 { usize::MAX } else { 0 })?;
        }
    }
    filters::format(state, text, values)
}
