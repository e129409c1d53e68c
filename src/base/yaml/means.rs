//! Semantic equality of nodes. Stricter than [`resolve`](super::resolve): scalars that parsers disagree about are equal
//! only if they are spelled alike.

use super::read::{YamlData, YamlNode};

impl YamlNode {
    /// Whether both are the same data: key order, quotes and layout do not count, and `1` equals `1.0`.
    pub fn means(&self, other: &YamlNode) -> bool {
        match (&self.data, &other.data) {
            (YamlData::Scalar { .. }, YamlData::Scalar { .. }) => scalar_of(self) == scalar_of(other),
            (YamlData::List(one), YamlData::List(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.means(two))
            }
            (YamlData::Map(one), YamlData::Map(two)) => {
                one.len() == two.len()
                    && one.iter().all(|entry| other.get(&entry.key).is_some_and(|two| entry.value.means(two)))
            }
            _ => false,
        }
    }
}

/// The kind of a scalar and a canonical text of its value.
fn scalar_of(node: &YamlNode) -> (char, String) {
    let YamlData::Scalar { text, plain } = &node.data else { return ('-', String::new()) };
    // Parsers disagree about leading zeros, so such a number is compared by its spelling.
    let digits = text.trim_start_matches(['-', '+']);
    let odd = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    match text.as_str() {
        _ if !plain => ('t', text.clone()),
        _ if node.is_null() => ('n', String::new()),
        "true" | "True" | "TRUE" => ('b', "true".into()),
        "false" | "False" | "FALSE" => ('b', "false".into()),
        _ if !odd && digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
            let whole = text.parse::<i64>().ok().map(|number| number.to_string());
            let number = whole.or_else(|| text.parse::<f64>().ok().map(|number| number.to_string()));
            number.map_or_else(|| ('t', text.clone()), |number| ('#', number))
        }
        _ if odd && digits.bytes().all(|c| c.is_ascii_digit()) => ('#', text.clone()),
        _ => ('t', text.clone()),
    }
}
