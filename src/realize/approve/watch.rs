//! Pass after pass over the requests, until every node has its certificates and is in the API, or the time is over.
//!
//! An API that is not there yet, or goes away while it moves to the masters, is waited for. Everything is told once: what was
//! approved, what is left alone and why, which node joined, and what is waited for whenever that changes.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use time::OffsetDateTime;

use super::rules::{Certificate, Verdict, judge};
use super::{Approved, Left, Made, Member, Refusal, Report};
use crate::base::event::{Event, Events};
use crate::base::hint::Hint as _;
use crate::base::pki::SigningRequest;
use crate::realize::api::{ApiError, Approval, Client, Node, Request, Stage};

/// How long between two passes: a kubelet asks once and then waits for minutes.
const POLL: Duration = Duration::from_secs(2);
/// How long the cluster keeps requests that are done with.
const KEPT: time::Duration = time::Duration::hours(1);
/// What stands beside our decision in the API.
const REASON: &str = "TinderboxApproved";

/// Everything that requests are approved with.
#[derive(Clone, Copy)]
pub(crate) struct Approver<'a> {
    pub client: &'a Client<'a>,
    /// The nodes that we made.
    pub made: &'a [Made],
    /// Who is told what happens.
    pub events: &'a dyn Events,
    pub now: fn() -> OffsetDateTime,
}

impl Approver<'_> {
    /// One look at everything.
    pub(crate) fn once(&self) -> Result<Report, ApiError> {
        let mut report = Report::default();
        self.pass(&mut report)?;
        Ok(report)
    }

    /// Look after look, until everything is there or the time is over: the report says which.
    pub(crate) fn watch(&self, limit: Duration) -> Result<Report, ApiError> {
        let end = Instant::now() + limit;
        let mut report = Report::before(self.members(&[], &[]));
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
    pub(in crate::realize) fn look(&self) -> Result<Vec<Member>, ApiError> {
        let (requests, nodes) = (self.client.requests()?, self.client.nodes()?);
        Ok(self.members(&requests, &nodes))
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
        report.nodes = self.members(&requests, &nodes);
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

    /// How far everyone is who is to join.
    fn members(&self, requests: &[Request], nodes: &[Node]) -> Vec<Member> {
        let asked: Vec<Asked> = requests.iter().filter_map(asked).collect();
        let members = self.made.iter().filter(|node| node.bootstrapper.is_some());
        members.map(|made| self.member(made, &asked, nodes)).collect()
    }

    fn member(&self, made: &Made, asked: &[Asked], nodes: &[Node]) -> Member {
        let found = nodes.iter().find(|node| node.name == made.name);
        let user = format!("system:node:{}", made.name);
        let stage = |certificate: Certificate| {
            let its = asked.iter().filter(|one| one.certificate == certificate && one.user == user);
            its.map(|one| one.stage).max()
        };
        let serving = stage(Certificate::Serving);
        // Requests that are done with are thrown away by the cluster. A kubelet without a certificate asks again and again.
        let joined = found.and_then(|node| node.joined);
        let is_old = joined.is_some_and(|joined| (self.now)() - joined > KEPT);
        let served = serving == Some(Stage::Issued) || (serving.is_none() && is_old);
        Member {
            node: made.node.clone(),
            name: made.name.clone(),
            joined: found.is_some(),
            ready: found.is_some_and(|node| node.ready),
            client: stage(Certificate::Client),
            serving,
            complete: found.is_some() && served,
        }
    }
}

/// How far the certificate of a user is, as one request says it.
struct Asked {
    user: String,
    certificate: Certificate,
    stage: Stage,
}

/// Of a serving certificate, who asks is whose it is; of a client's, only the request itself says that.
fn asked(request: &Request) -> Option<Asked> {
    let certificate = Certificate::of(&request.signer)?;
    let user = match certificate {
        Certificate::Serving => request.username.clone(),
        Certificate::Client => {
            let asked = SigningRequest::from_pem(&request.pem).ok()?;
            (*asked.values("CN").first()?).to_owned()
        }
    };
    Some(Asked { user, certificate, stage: request.stage })
}
