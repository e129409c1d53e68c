//! Values that must not be seen: masked when printed, wiped when dropped, compared and hashed only on purpose.

use std::fmt;

use zeroize::Zeroizing;

/// What stands in place of a secret wherever one would be printed.
pub const MASK: &str = "(secret)";

/// A secret text. It has no `Display`, its `Debug` is the mask, and it is not serialisable.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes ownership, so that no second copy stays behind.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The value itself. Every call is a place to look at in a review.
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }

    /// The value as text; none if it is not UTF-8.
    pub fn reveal_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text.into_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_the_mask() {
        let secret = Secret::from("hunter2".to_owned());
        assert_eq!(format!("{secret:?}"), MASK);
        assert_eq!(secret.reveal_text(), Some("hunter2"));
    }
}
