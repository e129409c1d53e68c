//! Passes over the certificate requests, until every node has joined or the time is up.
//!
//! An API that is not up yet, or moves to the masters, counts as pending. Everything is reported once: what was approved,
//! what is left alone and why, which node joined, and what is still missing whenever that changes.

use std::collections::BTreeSet;
use std::time::Duration;

use time::OffsetDateTime;

use super::rules::{KubeletCertificate, Verdict, judge};
use super::{ApprovalReport, Approved, Claim, LeftAlone, Member, NodeIdentity, Refusal};
use crate::base::event::{Event, Events};
use crate::base::hint::Hint as _;
use crate::base::pki::SigningRequest;
use crate::realize::api::{ApiError, ApiNode, Approval, CertificateRequest, Client, Stage};
use crate::realize::wait::{Poll, Wait, WaitError};

/// The poll interval. A kubelet asks once, and then waits for minutes.
const POLL: Duration = Duration::from_secs(2);
/// How long the cluster keeps finished requests.
const KEPT: time::Duration = time::Duration::hours(1);
/// The reason of our approvals in the API.
const REASON: &str = "TinderboxApproved";

#[derive(Clone, Copy)]
pub(crate) struct Approver<'a> {
    pub client: &'a Client<'a>,
    /// Our nodes.
    pub nodes: &'a [NodeIdentity],
    pub events: &'a dyn Events,
    pub now: fn() -> OffsetDateTime,
    /// The only request to approve, whatever other keys ask for the same node.
    pub choice: Option<&'a Choice>,
}

/// A node, and a key that the user chose for it.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    /// Its name in cluster.yaml.
    pub node: String,
    /// What the fingerprint begins with.
    pub key: String,
}

impl Choice {
    fn names(&self, node: &str, key: &str) -> bool {
        self.node == node && key.starts_with(&self.key)
    }
}

impl Approver<'_> {
    /// A single pass.
    pub(crate) fn once(&self) -> Result<ApprovalReport, ApiError> {
        let mut report = ApprovalReport::default();
        self.pass(&mut report)?;
        Ok(report)
    }

    /// Passes until every node is complete or the time is up: the report says which.
    pub(crate) fn watch(&self, limit: Duration) -> Result<ApprovalReport, ApiError> {
        let mut report = ApprovalReport::before(self.members(&[], &[]));
        let wait = Wait { limit, interval: POLL, cancel: self.client.cancel() };
        let poll = || {
            match self.pass(&mut report) {
                Ok(()) if report.complete => return Ok(Poll::Ready(())),
                Ok(()) => {}
                Err(error) if error.is_transient() => report.trouble = Some(error.to_string()),
                Err(error) => return Err(error),
            }
            Ok(Poll::Pending(report.missing().join("; ")))
        };
        let announce = |seen: &str, _| {
            let what = "every node to join".to_owned();
            self.events.emit(Event::Awaiting { what, seen: seen.to_owned() });
        };
        match wait.until(poll, announce) {
            Ok(()) | Err(WaitError::TimedOut { .. }) => Ok(report),
            Err(WaitError::Cancelled) => Err(ApiError::Stopped),
            Err(WaitError::Failed(error)) => Err(error),
        }
    }

    /// The requests for first certificates of our nodes, by their own credentials.
    pub(crate) fn claims(&self, requests: &[CertificateRequest]) -> Vec<Claim> {
        requests.iter().filter_map(|request| Claim::of(request, self.nodes)).collect()
    }

    /// How far the nodes are. Approves nothing.
    pub(crate) fn read(&self) -> Result<Vec<Member>, ApiError> {
        let (requests, nodes) = (self.client.requests()?, self.client.nodes()?);
        Ok(self.members(&requests, &nodes))
    }

    pub(crate) fn pass(&self, report: &mut ApprovalReport) -> Result<(), ApiError> {
        // In this order: a node that joined after it asked is seen in the API.
        let mut requests = self.client.requests()?;
        let nodes = self.client.nodes()?;
        let present: BTreeSet<String> = nodes.iter().map(|node| node.name.clone()).collect();
        requests.sort_by(|one, two| (one.created, &one.name).cmp(&(two.created, &two.name)));
        report.trouble = None;
        report.left.clear();
        let claims = self.claims(&requests);
        for request in &mut requests {
            let claim = claims.iter().find(|claim| claim.request == request.name);
            match judge(request, self.nodes, &present) {
                Verdict::Settled(_) => {}
                Verdict::Leave(refusal) => self.leave(report, request, &refusal, claim),
                Verdict::Approve { node, certificate, key } => {
                    let is_chosen = self.choice.is_some_and(|choice| choice.names(&node, &key));
                    match claim.filter(|_| !is_chosen).and_then(|claim| claim.refused(&claims)) {
                        Some(refusal) => self.leave(report, request, &refusal, claim),
                        None if self.choice.is_some() && !is_chosen => {}
                        None => request.stage = self.approve(report, request, node, certificate)?,
                    }
                }
            }
        }
        report.nodes = self.members(&requests, &nodes);
        report.complete = report.nodes.iter().all(|member| member.complete);
        let joined: Vec<String> =
            report.nodes.iter().filter(|one| one.joined).map(|one| one.node.clone()).collect();
        for node in joined {
            if report.is_news(format!("node {node}"), "joined") {
                self.events.emit(Event::Joined { node });
            }
        }
        Ok(())
    }

    fn leave(
        &self,
        report: &mut ApprovalReport,
        request: &CertificateRequest,
        refusal: &Refusal,
        claim: Option<&Claim>,
    ) {
        let reason = refusal.to_string();
        if report.is_news(format!("request {}", request.uid), &reason) {
            self.events.emit(Event::LeftAlone { request: request.name.clone(), reason: reason.clone() });
        }
        report.left.push(LeftAlone {
            request: request.name.clone(),
            requestor: request.username.clone(),
            node: claim.map(|claim| claim.node.clone()),
            key: claim.map(|claim| claim.key.clone()),
            reason,
            hint: refusal.hint(),
        });
    }

    /// Approves a request. Returns the stage that it has then.
    fn approve(
        &self,
        report: &mut ApprovalReport,
        request: &CertificateRequest,
        node: String,
        certificate: KubeletCertificate,
    ) -> Result<Stage, ApiError> {
        let message =
            format!("the {} certificate of {node}, a node of this tinderbox cluster", certificate.as_str());
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

    /// How far the masters and workers are.
    fn members(&self, requests: &[CertificateRequest], nodes: &[ApiNode]) -> Vec<Member> {
        let asked: Vec<Asked> = requests.iter().filter_map(asked).collect();
        let members = self.nodes.iter().filter(|node| node.bootstrapper.is_some());
        members.map(|identity| self.member(identity, &asked, nodes)).collect()
    }

    fn member(&self, identity: &NodeIdentity, asked: &[Asked], nodes: &[ApiNode]) -> Member {
        let found = nodes.iter().find(|node| node.name == identity.name);
        let user = format!("system:node:{}", identity.name);
        let stage = |certificate: KubeletCertificate| {
            let its = asked.iter().filter(|one| one.certificate == certificate && one.user == user);
            its.map(|one| one.stage).max()
        };
        let serving = stage(KubeletCertificate::Serving);
        // The cluster deletes finished requests. A kubelet without a certificate would keep asking.
        let joined = found.and_then(|node| node.joined);
        let is_old = joined.is_some_and(|joined| (self.now)() - joined > KEPT);
        let served = serving == Some(Stage::Issued) || (serving.is_none() && is_old);
        Member {
            node: identity.node.clone(),
            name: identity.name.clone(),
            joined: found.is_some(),
            ready: found.is_some_and(|node| node.ready),
            client: stage(KubeletCertificate::Client),
            serving,
            complete: found.is_some() && served,
        }
    }
}

/// The state of a user's certificate, according to one request.
struct Asked {
    user: String,
    certificate: KubeletCertificate,
    stage: Stage,
}

/// The requestor of a serving certificate is its owner; of a client certificate, only the request itself names the owner.
fn asked(request: &CertificateRequest) -> Option<Asked> {
    let certificate = KubeletCertificate::of(&request.signer)?;
    let user = match certificate {
        KubeletCertificate::Serving => request.username.clone(),
        KubeletCertificate::Client => {
            let asked = SigningRequest::from_pem(&request.pem).ok()?;
            (*asked.values("CN").first()?).to_owned()
        }
    };
    Some(Asked { user, certificate, stage: request.stage })
}
