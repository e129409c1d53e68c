//! Routes, rules and DNS that would do nothing on a machine that boots for the first time, or something else than they say.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{Refusal, elements};
use crate::base::value::Value;

/// Everything that is wrong with them before the crate reads them.
pub(super) fn check(document: &Value, refusals: &mut Vec<Refusal>) {
    for part in ["routes", "route-rules", "dns-resolver"] {
        running(part, document, refusals);
        for (index, entry) in elements(document, &[part, "config"]).enumerate() {
            absent(&format!("{part}.config.{index}"), entry, refusals);
        }
    }
    for (index, route) in elements(document, &["routes", "config"]).enumerate() {
        let path = format!("routes.config.{index}");
        addresses(&path, route, refusals);
        // Only a route that drops what it matches needs no interface.
        let drops = route.get("route-type").is_some();
        let text = |key: &str| route.get(key).and_then(Value::as_text).filter(|text| !text.is_empty());
        if !drops && text("next-hop-interface").is_none() {
            let hint = "add it: the name of the interface that the route leaves by";
            refusals.push(Refusal::new(path, "a route without `next-hop-interface`", Some(hint)));
        }
    }
}

/// What a tool printed of a running machine: the crate reads it and ignores it.
fn running(part: &str, document: &Value, refusals: &mut Vec<Refusal>) {
    if document.get(part).and_then(|own| own.get("running")).is_some_and(Value::is_truthy) {
        let message = "it describes a machine that runs, and sets nothing";
        let hint = "remove it; what the node should have stands in `config`";
        refusals.push(Refusal::new(format!("{part}.running"), message, Some(hint)));
    }
}

/// An entry that removes what no new machine has. The crate removes even the entry like it beside it.
fn absent(path: &str, entry: &Value, refusals: &mut Vec<Refusal>) {
    if let Some(state) = entry.get("state").and_then(Value::as_text) {
        let message = format!(
            "`state: {}` has no effect on a machine that boots for the first time",
            state.escape_debug()
        );
        refusals.push(Refusal::new(format!("{path}.state"), message, Some("leave the entry out")));
    }
}

/// The crate says that an address is wrong, and not which.
fn addresses(path: &str, route: &Value, refusals: &mut Vec<Refusal>) {
    let wrong = |key: &str, valid: fn(&str) -> bool| {
        route
            .get(key)
            .and_then(Value::as_text)
            .filter(|text| !valid(text))
            .map(|text| (key.to_owned(), text.to_owned()))
    };
    let network =
        wrong("destination", |text| text.parse::<IpNet>().is_ok() || text.parse::<IpAddr>().is_ok());
    let hop = wrong("next-hop-address", |text| text.parse::<IpAddr>().is_ok());
    for (key, text) in network.into_iter().chain(hop) {
        let message = format!("`{}` is not an address", text.escape_debug());
        refusals.push(Refusal::new(
            format!("{path}.{key}"),
            message,
            Some("for example: 0.0.0.0/0 by way of 192.168.126.1"),
        ));
    }
}
