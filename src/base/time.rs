//! The text form of a point in time.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Serialises a point in time as seconds and nanoseconds, without loss in any year.
pub(crate) mod numbers {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de};
    use time::OffsetDateTime;

    pub(crate) fn serialize<S: Serializer>(time: &OffsetDateTime, to: S) -> Result<S::Ok, S::Error> {
        (time.unix_timestamp(), time.nanosecond()).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<OffsetDateTime, D::Error> {
        let (seconds, nanoseconds) = <(i64, u32)>::deserialize(from)?;
        let whole = OffsetDateTime::from_unix_timestamp(seconds).map_err(de::Error::custom)?;
        whole.replace_nanosecond(nanoseconds).map_err(de::Error::custom)
    }
}

pub(crate) fn rfc3339(time: OffsetDateTime) -> String {
    time.format(&Rfc3339).unwrap_or_default()
}
