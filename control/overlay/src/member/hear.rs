//! What other nodes say, once it is known that they say it now.

use super::Member;
use super::known::Known;
use crate::Message;
use crate::inquiry::{MOST_WAITING, Step};
use crate::message::{Introduced, Report};
use plait_model_overlay::NodeId;
use std::net::IpAddr;
use std::time::Duration;

impl Member {
    /// A message of a life that is known.
    pub(super) fn take(&mut self, now: Duration, sender: NodeId, from: IpAddr, message: Message) {
        // It is a sum over all nodes, and most messages are reports.
        let asks = matches!(message, Message::Probe { .. } | Message::Echo { .. });
        let digest = if asks { self.digest() } else { 0 };
        let known = self.known.get_mut(&sender).expect("whose words count is known");
        match message {
            Message::Probe { token, digest: theirs } => {
                known.from = Some(from);
                self.send(from, Message::Echo { token, digest });
                if theirs != digest {
                    self.introduce_all(from);
                }
            }
            Message::Echo { token, digest: theirs } => {
                if known.echo(now, token) {
                    self.near.insert(sender);
                    self.stale = true;
                }
                if theirs != digest {
                    self.introduce_all(from);
                }
            }
            Message::Members(members) => {
                for introduced in members {
                    self.meet(now, sender, introduced);
                }
            }
            Message::Report(report) => self.hear_report(now, sender, report),
            Message::Leave => {
                known.silence();
                self.near.remove(&sender);
                self.matrix.forget(sender);
                self.stale = true;
            }
            Message::Inquiry(direction, inquiry) => {
                if !known.allowance.take(now) {
                    return;
                }
                match inquiry.step(direction, self.config.own, sender) {
                    Some(Step::Arrived) if self.inquiries.len() < MOST_WAITING => {
                        self.inquiries.push_back((direction, inquiry))
                    }
                    Some(Step::HandOn(next)) => drop(self.hand_on(next, direction, inquiry)),
                    Some(Step::Arrived) | None => {}
                }
            }
            Message::Challenge(_) | Message::Answer(_) => {}
        }
    }

    /// Somebody told of a node.
    fn meet(&mut self, now: Duration, teller: NodeId, introduced: Introduced) {
        let Introduced { node, incarnation, revision, locators } = introduced;
        if node == self.config.own || locators.is_empty() {
            return;
        }
        let is_first_hand = teller == node;
        // Who has not forgotten it yet tells of it still, and nobody would ever forget it.
        if !is_first_hand && self.gone.get(&node).is_some_and(|(gone, _)| *gone == incarnation) {
            return;
        }
        let known = self.known.entry(node).or_default();
        // Of a life that showed itself to this node others' tales of another are old.
        let other_life = known.session.incarnation().is_some_and(|known| known != incarnation);
        let newer = known
            .introduced
            .as_ref()
            .is_none_or(|before| before.incarnation != incarnation || before.revision < revision);
        if (other_life && !is_first_hand) || !newer {
            return;
        }
        let locator = locators.keys().next().copied();
        known.meet(now, Introduced { node, incarnation, revision, locators });
        self.stale = true;
        if self.known[&node].session.incarnation().is_none()
            && let Some(locator) = locator
        {
            self.question(now, node, incarnation, locator);
        }
    }

    /// Somebody's report, from the reporter or passed on.
    fn hear_report(&mut self, now: Duration, sender: NodeId, report: Report) {
        if report.node == self.config.own {
            return;
        }
        let origin = self.known.entry(report.node).or_default();
        if origin.session.incarnation().is_some_and(|known| known != report.incarnation) {
            return;
        }
        let Some(news) = origin.reports(now, &report) else { return };
        if let Some(delays) = news.delays.filter(|delays| self.matrix.of(report.node) != Some(delays)) {
            self.matrix.report(report.node, delays);
            self.stale = true;
        }
        // To those that the reporter does not reach itself.
        let reached = self.matrix.of(report.node);
        let direct: Vec<IpAddr> = self
            .near
            .iter()
            .filter(|node| **node != sender && **node != report.node)
            .filter(|node| reached.is_none_or(|reached| !reached.contains_key(node)))
            .filter_map(|node| self.known.get(node))
            .filter(|known| known.is_near(now, self.config.interval))
            .filter_map(Known::address)
            .collect();
        for to in direct {
            self.send(to, Message::Report(report.clone()));
        }
    }
}
