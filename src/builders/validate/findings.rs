//! x
/// x
#[derive(Debug)]
pub struct Finding { /// x
 pub check: &'static str }
/// x
pub struct Check { /// x
 pub name: &'static str,/// x
 pub rule: &'static str,/// x
 pub breaks: &'static str}
