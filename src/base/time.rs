//! The text form of a point in time.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

pub(crate) fn rfc3339(time: OffsetDateTime) -> String {
    time.format(&Rfc3339).unwrap_or_default()
}
