//! stub
pub use findings::{Finding, Check};
mod findings;
use super::*;
/// x
pub const CHECKS: &[Check] = &[];
pub(super) struct Validate;
impl Builder for Validate {
    fn id(&self) -> BuilderId { BuilderId::new("validate", 1) }
    fn check(&self, _job: &Job<'_>) -> Result<(), BuildError> { Ok(()) }
    fn build(&self, _job: &Job<'_>, _out: &TreeWriter<'_>) -> Result<(), BuildError> { Ok(()) }
}
pub(super) fn list(_f: &[Finding]) -> String { String::new() }
