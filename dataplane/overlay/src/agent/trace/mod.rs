//! A flow's way, hop by hop.
//!
//! ```text
//! request ─► packet of the flow ─► this node's tables ─► Step ─► next hops
//!                                                                   │  question: the packet as it comes to them
//!            Trace ◄─ Step ◄─ answer: what their tables do with it ─┘  by control/overlay, along the nodes so far
//! ```
//!
//! A packet of the flow is made, and walked by the reference walk through the kernel's own tables ([`step`]); what comes
//! out is, byte for byte, what the next hop would get, which is asked what it would do with that ([`said`]). So a trace
//! says what packets meet, in any encapsulation, and there is no second idea of forwarding that could be another. No
//! packet is sent, and no counter moves.
//!
//! Choice: who asks asks each node in turn, along the way that the packet has taken so far: nobody on the way keeps
//! anything, nodes that do not reach each other straight are asked all the same, and a loop is seen when a node comes
//! twice.

mod outer;
mod packet;
mod said;
mod step;

use super::feeds::Feeds;
use super::{Agent, AgentError, now};
use crate::protocol::Reply;
use crate::trace::{Trace, TraceCopy, TraceCount, TraceHop, TraceRequest};
use plait_control_overlay::{Direction, Inquiry, evpn};
use plait_model_overlay::{Application, NodeId, Overlay};
use std::time::Duration;
use step::Step;

/// From one question to its repetition. Choice: longer than most ways there and back, and a node that does not know who
/// asks has asked back by then.
const PATIENCE: Duration = Duration::from_millis(500);
/// Questions without an answer after which a node counts as silent.
const TRIES: u32 = 4;
/// Nodes of a trace; copies to more are left out.
const MOST_HOPS: usize = 256;
/// Traces at once.
const MOST_TRACES: usize = 64;

/// A trace under way.
pub(super) struct Tracing {
    /// Who asked.
    pub client: u64,
    application: Application,
    trace: Trace,
    open: Vec<Open>,
}

/// A node that was asked and has not answered.
struct Open {
    token: u64,
    /// Its place in the trace.
    hop: usize,
    way: Vec<NodeId>,
    question: Vec<u8>,
    tries: u32,
    due: Duration,
}

impl Tracing {
    /// The whole, once nothing is open.
    pub fn done(&mut self) -> Option<Reply> {
        self.open.is_empty().then(|| Reply::Trace(std::mem::take(&mut self.trace)))
    }

    /// What is there, of those that were not asked yet that much.
    pub fn so_far(mut self) -> Reply {
        for open in self.open {
            self.trace.hops[open.hop].ends = Some("it was not asked".to_owned());
        }
        Reply::Trace(self.trace)
    }

    fn due(&self) -> Option<Duration> {
        self.open.iter().map(|open| open.due).min()
    }
}

/// A node of which nothing is known yet.
fn unknown(node: NodeId, after: Option<usize>) -> TraceHop {
    TraceHop {
        node,
        after,
        entry: None,
        sent: Vec::new(),
        left_out: 0,
        delivered: None,
        dropped: Vec::new(),
        ends: None,
        count: TraceCount::default(),
        since: None,
    }
}

/// What others call this node in an application: beside EVPN by its VTEP's address, and else as it was told.
pub(super) fn own_name(feeds: &Feeds, overlay: &Overlay, application: Application) -> Option<NodeId> {
    let vtep = feeds.vtep(application).map(evpn::node_of);
    vtep.or_else(|| overlay.tables(application)?.own)
}

impl Agent {
    /// Begins a trace: what this node does with the packet, and whom to ask next.
    pub(super) fn start_trace(&mut self, request: &TraceRequest, client: u64) -> Result<Tracing, AgentError> {
        if self.traces.len() >= MOST_TRACES {
            return Err(AgentError::Tracing);
        }
        let made = self.make_packet(request)?;
        let (application, entry) = (made.application, made.entry.clone());
        let step = self.begin(made)?;
        let own = own_name(&self.feeds, &self.overlay, application).unwrap_or(NodeId(0));
        let mut tracing = Tracing { client, application, trace: Trace::default(), open: Vec::new() };
        tracing.trace.hops.push(TraceHop { entry: Some(entry), ..unknown(own, None) });
        self.extend(&mut tracing, 0, &[own], step);
        Ok(tracing)
    }

    /// Takes what a node of the trace does, and opens a question to each next hop.
    fn extend(&mut self, tracing: &mut Tracing, hop: usize, way: &[NodeId], step: Step) {
        let mut next = Vec::new();
        let config = self.config.applications.get(&tracing.application);
        let takes = config.map(|config| config.kind().accepts).unwrap_or_default();
        let here = &mut tracing.trace.hops[hop];
        here.count = TraceCount {
            packets: step.count.packets,
            bytes: step.count.bytes,
            drops: step.drops.iter().map(|(reason, count)| (reason.name().to_owned(), *count)).collect(),
        };
        here.delivered = step.delivered;
        here.dropped = step.dropped.iter().map(|reason| reason.name().to_owned()).collect();
        here.left_out = step.left_out;
        for copy in step.copies {
            // Of a frame that is none nothing can be said.
            let Some(outer) = outer::read(&copy.frame, &takes) else {
                here.left_out = here.left_out.saturating_add(1);
                continue;
            };
            here.sent.push(TraceCopy {
                next_hop: copy.next_hop,
                weight: copy.weight,
                weights: copy.weights,
                device: copy.device,
                mtu: copy.mtu,
                bytes: copy.frame.len(),
                outer,
            });
            next.push((copy.next_hop, copy.frame));
        }
        if step.is_foreign {
            here.ends =
                Some("its tables take it for none of the overlay's: the host's kernel has it".to_owned());
        } else if here.sent.is_empty()
            && here.delivered.is_none()
            && here.dropped.is_empty()
            && here.left_out == 0
        {
            here.ends = Some("there is nobody to send it to".to_owned());
        }
        for (node, frame) in next {
            if tracing.trace.hops.len() >= MOST_HOPS {
                let left_out = &mut tracing.trace.hops[hop].left_out;
                *left_out = left_out.saturating_add(1);
                continue;
            }
            let place = tracing.trace.hops.len();
            tracing.trace.hops.push(unknown(node, Some(hop)));
            let ends = &mut tracing.trace.hops[place].ends;
            if way.contains(&node) {
                *ends =
                    Some("a loop: it was here before, and goes round until its hops are used up".to_owned());
                continue;
            }
            if !self.members.speak(tracing.application) {
                let why = "not asked: nodes need a control plane to speak by, or a key that they share: `plait overlay config \
                           control static --key FILE`";
                *ends = Some(why.to_owned());
                continue;
            }
            let Some(question) = said::question(&frame) else {
                *ends = Some("not asked: the packet does not fit into a question".to_owned());
                continue;
            };
            self.token = self.token.wrapping_add(1);
            let way = [way, &[node]].concat();
            tracing.open.push(Open { token: self.token, hop: place, way, question, tries: 0, due: now() });
        }
    }

    /// Answers what others ask, takes what they answer, asks again who is silent. Gives the traces that are whole, with
    /// who asked for them.
    pub(super) fn trace(&mut self) -> Vec<(u64, Reply)> {
        for (application, direction, inquiry) in self.members.inquiries() {
            match direction {
                Direction::Question => self.answer_trace(application, inquiry),
                Direction::Answer => self.hear_trace(application, inquiry),
            }
        }
        let now = now();
        for tracing in &mut self.traces {
            let (members, overlay, hops) = (&mut self.members, &self.overlay, &mut tracing.trace.hops);
            tracing.open.retain_mut(|open| {
                if now < open.due {
                    return true;
                }
                if open.tries >= TRIES {
                    hops[open.hop].ends = Some("no answer".to_owned());
                    return false;
                }
                let (token, way, body) = (open.token, open.way.clone(), open.question.clone());
                // Whether it could be sent or not: who is not known yet may be, by the next time.
                let (own, question) = (way[0], Inquiry { token, way, body });
                members.inquire(tracing.application, Direction::Question, question, own, overlay);
                open.tries += 1;
                open.due = now + PATIENCE;
                true
            });
        }
        let mut done = Vec::new();
        self.traces.retain_mut(|tracing| match tracing.done() {
            Some(reply) => {
                done.push((tracing.client, reply));
                false
            }
            None => true,
        });
        done
    }

    /// When [`trace`](Self::trace) has something to do at the latest.
    pub(super) fn trace_due(&self) -> Option<Duration> {
        self.traces.iter().filter_map(Tracing::due).min()
    }

    fn answer_trace(&mut self, application: Application, inquiry: Inquiry) {
        let Some(frame) = said::asked(&inquiry.body) else { return };
        match self.arrive(application, &frame) {
            Ok(step) => {
                let body = said::answer(&step);
                let answer = Inquiry { body, ..inquiry };
                let Some(own) = answer.way.last().copied() else { return };
                self.members.inquire(application, Direction::Answer, answer, own, &self.overlay);
            }
            Err(error) => tracing::debug!(%error, "a trace was not answered"),
        }
    }

    fn hear_trace(&mut self, application: Application, inquiry: Inquiry) {
        let is_it = |open: &Open| open.token == inquiry.token && open.way == inquiry.way;
        let found = self
            .traces
            .iter()
            .position(|tracing| tracing.application == application && tracing.open.iter().any(is_it));
        let (Some(found), Some(step)) = (found, said::answered(&inquiry.body)) else { return };
        // Apart while it grows, since it asks this node's members.
        let mut tracing = self.traces.swap_remove(found);
        if let Some(place) = tracing.open.iter().position(is_it) {
            let open = tracing.open.swap_remove(place);
            self.extend(&mut tracing, open.hop, &open.way, step);
        }
        self.traces.push(tracing);
    }
}
