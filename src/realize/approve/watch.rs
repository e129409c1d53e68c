//! Pass after pass over the requests, until every node has its certificates and is in the API, or the time is over.
//!
//! An API that is not there yet, or goes away while it moves to the masters, is waited for. Everything is told once: what was
//! approved, what is left alone and why, which node joined, and what is waited for whenever that changes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde::Serialize;
use time::OffsetDateTime;

use super::rules::{Certificate, Verdict, judge};
use super::{Made, Refusal};
use crate::api::{ApiError, Approval, Client, Node, Request, Stage};
use crate::event::{Event, Events};
use crate::hint::Hint as _;
use crate::pki::SigningRequest;

/// How long between two passes: a kubelet asks once and then waits for minutes.
const POLL: Duration = Duration::from_secs(2);
/// How long the cluster keeps requests that are done with.
const KEPT: time::Duration = time::Duration::hours(1);
/// What stands beside our decision in the API.
const REASON: &str = "TinderboxApproved";

/// Everything that requests are approved with.
#[derive(Clone, Copy)]
pub struct Approver<'a> {
    /// The API.
    pub client: &'a Client<'a>,
    /// The nodes that we made.
    pub made: &'a [Made],
    /// Who is told what happens.
    pub events: &'a dyn Events,
    /// The clock.
    pub now: fn() -> OffsetDateTime,
}

/// A request that was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approved {
    /// Its name.
    pub request: String,
    /// Whose.
    pub node: String,
    /// What for.
    pub certificate: Certificate,
}

/// A request that nobody has decided, and that we do not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Left {
    /// Its name.
    pub request: String,
    /// Who asks.
    pub requestor: String,
    /// Why it is left alone.
    pub reason: String,
    /// What can be done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How far a node is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Member {
    /// What cluster.yaml calls it.
    pub node: String,
    /// What the API calls it.
    pub name: String,
    /// Whether it is in the API.
    pub joined: bool,
    /// Whether it says that it is ready.
    pub ready: bool,
    /// Its request for a client certificate, if there is one.
    pub client: Option<Stage>,
    /// Its request for a serving certificate, if there is one.
    pub serving: Option<Stage>,
    /// Whether it has everything.
    pub complete: bool,
}

/// What was done, and how the nodes stand.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// What was approved, in its order.
    pub approved: Vec<Approved>,
    /// What was left alone at the last look.
    pub left: Vec<Left>,
    /// The masters and workers, in the order of cluster.yaml.
    pub nodes: Vec<Member>,
    /// Whether every one of them has its certificates and is in the API.
    pub complete: bool,
    /// What keeps us from looking, if something does.
    pub trouble: Option<String>,
    /// What was told already: requests by uid, nodes, waits.
    #[serde(skip)]
    told: BTreeMap<String, String>,
}

impl Report {
    /// What is missing, node by node; or the API.
    pub fn missing(&self) -> Vec<String> {
        match &self.trouble {
            Some(trouble) => vec![trouble.clone()],
            None => self.nodes.iter().filter_map(Member::lacks).collect(),
        }
    }

    /// What is waited for.
    fn awaited(&self) -> String {
        let (all, there) = (self.nodes.len(), self.nodes.iter().filter(|node| node.complete).count());
        match self.trouble.is_some() {
            true => "the API".to_owned(),
            false => format!("{} of {all} nodes", all - there),
        }
    }

    /// Whether this is new.
    fn tells(&mut self, of: String, what: &str) -> bool {
        self.told.insert(of, what.to_owned()).as_deref() != Some(what)
    }
}

impl Member {
    /// What it lacks, in words.
    pub(in crate::realize) fn lacks(&self) -> Option<String> {
        let asked = |stage: Option<Stage>| match stage {
            None => "not asked for",
            Some(Stage::Pending) => "asked for, and left alone",
            Some(Stage::Denied) => "denied by somebody",
            Some(Stage::Failed) => "approved, and the signer failed",
            Some(Stage::Approved) => "approved, and not signed yet",
            Some(Stage::Issued) => "there",
        };
        let words = match (self.complete, self.joined) {
            (true, _) => return None,
            (_, true) => format!("in the API, serving certificate {}", asked(self.serving)),
            _ => format!("not in the API, client certificate {}", asked(self.client)),
        };
        Some(format!("`{}`: {words}", self.node))
    }
}

impl Approver<'_> {
    /// One look at everything.
    pub fn once(&self) -> Result<Report, ApiError> {
        let mut report = Report::default();
        self.pass(&mut report)?;
        Ok(report)
    }

    /// Look after look, until everything is there or the time is over: the report says which.
    pub fn watch(&self, limit: Duration) -> Result<Report, ApiError> {
        let end = Instant::now() + limit;
        let mut report = Report::default();
        loop {
            match self.pass(&mut report) {
                Ok(()) if report.complete => return Ok(report),
                Ok(()) => {}
                Err(error) if error.passes() => report.trouble = Some(error.to_string()),
                Err(error) => return Err(error),
            }
            let seen = report.missing().join("; ");
            if report.tells("wait".into(), &seen) {
                self.events.emit(Event::Awaiting { what: report.awaited(), seen });
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(report);
            }
            self.client.pause(left.min(POLL))?;
        }
    }

    /// How the nodes stand, looked at and left alone.
    pub(in crate::realize) fn members(&self) -> Result<Vec<Member>, ApiError> {
        let (requests, nodes) = (self.client.requests()?, self.client.nodes()?);
        let members = self.made.iter().filter(|node| node.bootstrapper.is_some());
        Ok(members.map(|made| self.member(made, &requests, &nodes)).collect())
    }

    pub(in crate::realize) fn pass(&self, report: &mut Report) -> Result<(), ApiError> {
        // In this order: whoever joined after asking is seen to be there.
        let mut requests = self.client.requests()?;
        let nodes = self.client.nodes()?;
        let present: BTreeSet<String> = nodes.iter().map(|node| node.name.clone()).collect();
        requests.sort_by(|one, two| (one.made, &one.name).cmp(&(two.made, &two.name)));
        report.trouble = None;
        report.left.clear();
        for request in &mut requests {
            match judge(request, self.made, &present) {
                Verdict::Settled(_) => {}
                Verdict::Leave(refusal) => self.leave(report, request, &refusal),
                Verdict::Approve { node, certificate } => {
                    request.stage = self.approve(report, request, node, certificate)?;
                }
            }
        }
        let members = self.made.iter().filter(|node| node.bootstrapper.is_some());
        report.nodes = members.map(|made| self.member(made, &requests, &nodes)).collect();
        report.complete = report.nodes.iter().all(|member| member.complete);
        let joined: Vec<String> =
            report.nodes.iter().filter(|one| one.joined).map(|one| one.node.clone()).collect();
        for node in joined {
            if report.tells(format!("node {node}"), "joined") {
                self.events.emit(Event::Joined { node });
            }
        }
        Ok(())
    }

    fn leave(&self, report: &mut Report, request: &Request, refusal: &Refusal) {
        let reason = refusal.to_string();
        if report.tells(format!("request {}", request.uid), &reason) {
            self.events.emit(Event::LeftAlone { request: request.name.clone(), reason: reason.clone() });
        }
        report.left.push(Left {
            request: request.name.clone(),
            requestor: request.username.clone(),
            reason,
            hint: refusal.hint(),
        });
    }

    /// Approves; the stage that the request has then.
    fn approve(
        &self,
        report: &mut Report,
        request: &Request,
        node: String,
        certificate: Certificate,
    ) -> Result<Stage, ApiError> {
        let message = format!("the {} certificate of {node}, which tinderbox made", certificate.as_str());
        match self.client.approve(request, REASON, &message)? {
            Approval::Decided(stage) => return Ok(stage),
            Approval::Gone => return Ok(Stage::Pending),
            Approval::Done => {}
        }
        let request = request.name.clone();
        self.events.emit(Event::Approved {
            request: request.clone(),
            node: node.clone(),
            certificate: certificate.as_str(),
        });
        report.approved.push(Approved { request, node, certificate });
        Ok(Stage::Approved)
    }

    fn member(&self, made: &Made, requests: &[Request], nodes: &[Node]) -> Member {
        let found = nodes.iter().find(|node| node.name == made.name);
        let user = format!("system:node:{}", made.name);
        let asked = |which: Certificate| {
            let is_its = |request: &&Request| {
                Certificate::of(&request.signer) == Some(which)
                    && match which {
                        Certificate::Serving => request.username == user,
                        Certificate::Client => asks_for(request, &user),
                    }
            };
            requests.iter().filter(is_its).map(|request| request.stage).max()
        };
        let serving = asked(Certificate::Serving);
        // Requests that are done with are thrown away by the cluster. A kubelet without a certificate asks again and again.
        let joined = found.and_then(|node| node.joined);
        let is_old = joined.is_some_and(|joined| (self.now)() - joined > KEPT);
        let served = serving == Some(Stage::Issued) || (serving.is_none() && is_old);
        Member {
            node: made.node.clone(),
            name: made.name.clone(),
            joined: found.is_some(),
            ready: found.is_some_and(|node| node.ready),
            client: asked(Certificate::Client),
            serving,
            complete: found.is_some() && served,
        }
    }
}

/// Whether a request's subject is this user.
fn asks_for(request: &Request, user: &str) -> bool {
    SigningRequest::from_pem(&request.pem).is_ok_and(|asked| asked.values("CN") == [user])
}
