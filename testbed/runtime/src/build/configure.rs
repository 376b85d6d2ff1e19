//! What belongs inside a node (devices up, addresses, routes) in one send from inside it.

use super::nodes::BRIDGE_INDEX;
use super::{Builder, StepError, failure, messages};
use crate::kernel::namespace::{self, Kind};
use crate::kernel::netlink::{Batch, Netlink};
use crate::plan::Step;
use indexmap::IndexMap;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use std::io;

/// Messages waiting to be sent inside nodes, and the steps they belong to.
#[derive(Default)]
pub(super) struct Pending {
    nodes: IndexMap<String, Inside>,
    /// The steps, and whether their effect is still to be recorded.
    steps: Vec<(Step, bool)>,
}

#[derive(Default)]
struct Inside {
    batch: Batch,
    /// For each message, its step in [`Pending::steps`].
    steps: Vec<usize>,
}

impl Pending {
    /// Turns a new interface on, inside its node.
    pub(super) fn plug(&mut self, node: &str, index: u32, is_bridged: bool, link_local: bool, step: usize) {
        let inside = self.nodes.entry(node.to_owned()).or_default();
        if !link_local {
            inside.push(messages::no_link_local(index), 0, step);
        }
        let how = match is_bridged {
            true => messages::Up::Port { bridge: BRIDGE_INDEX },
            false => messages::Up::Plain,
        };
        inside.push(messages::up(index, how), 0, step);
    }

    /// Remembers a step; with `record`, its effect is recorded when its messages are done.
    pub(super) fn step(&mut self, step: &Step, record: bool) -> usize {
        self.steps.push((step.clone(), record));
        self.steps.len() - 1
    }
}

impl Inside {
    fn push(&mut self, message: netlink_packet_route::RouteNetlinkMessage, flags: u16, step: usize) {
        self.batch.push(message, flags);
        self.steps.push(step);
    }
}

impl Builder {
    /// Queues addresses and routes.
    pub(super) fn queue(&mut self, steps: &[Step], pending: &mut Pending) -> Vec<StepError> {
        for step in steps {
            let at = pending.step(step, true);
            let (node, result) = match step {
                Step::Addresses { node, interface, remove, add } => {
                    let inside = pending.nodes.entry(node.clone()).or_default();
                    // What was plugged in by this plan speaks IPv6 already, if it is to.
                    let speaks = match self.ipv6.remove(&(node.clone(), interface.clone())) {
                        true => self.speak_ipv6(node, interface),
                        false => Ok(()),
                    };
                    let result = speaks.and_then(|()| self.index(node, interface)).map(|index| {
                        // The last first: with the first of a prefix the kernel forgets the others of it.
                        for address in remove.iter().rev() {
                            inside.push(messages::address(index, *address, false), 0, at);
                        }
                        for address in add {
                            inside.push(
                                messages::address(index, *address, true),
                                NLM_F_CREATE | NLM_F_EXCL,
                                at,
                            );
                            if let Some(name) = self.state.nodes[node].congestion_control.as_deref() {
                                let message = messages::connected(*address, index, name);
                                inside.push(message, NLM_F_CREATE | NLM_F_REPLACE, at);
                            }
                        }
                    });
                    (node, result)
                }
                Step::Routes { node, remove, add } => {
                    let inside = pending.nodes.entry(node.clone()).or_default();
                    let result = [(remove, false), (add, true)].into_iter().try_for_each(|(routes, add)| {
                        let flags = if add { NLM_F_CREATE | NLM_F_REPLACE } else { 0 };
                        for route in routes {
                            let index = match &route.interface {
                                Some(interface) => Some(self.index(node, interface)?),
                                None => None,
                            };
                            inside.push(
                                messages::route(
                                    route.to,
                                    route.via,
                                    index,
                                    route.congestion_control.as_deref(),
                                    add,
                                ),
                                flags,
                                at,
                            );
                        }
                        io::Result::Ok(())
                    });
                    (node, result)
                }
                _ => unreachable!("only addresses and routes are queued"),
            };
            if let Err(error) = result {
                pending.nodes.shift_remove(node);
                return vec![failure(step, &error)];
            }
        }
        Vec::new()
    }

    /// Sends what is waiting, node by node, and records the steps that went through.
    pub(super) fn flush(&mut self, pending: &mut Pending) -> Vec<StepError> {
        let Pending { nodes, steps } = std::mem::take(pending);
        if nodes.is_empty() {
            return Vec::new();
        }
        let mut failed: IndexMap<usize, io::Error> = IndexMap::new();
        let known = &self.nodes;
        let sent = namespace::on_thread(|| {
            for (name, mut inside) in nodes {
                let Some(node) = known.get(&name) else { continue };
                let refused = namespace::enter(&*node.network, Kind::Network)
                    .and_then(|()| Netlink::open())
                    .and_then(|netlink| netlink.send(&mut inside.batch));
                match refused {
                    Ok(refused) => {
                        for refused in refused {
                            failed.entry(inside.steps[refused.index]).or_insert(refused.error);
                        }
                    }
                    Err(error) => {
                        failed.entry(inside.steps[0]).or_insert(error);
                    }
                }
            }
            Ok(failed)
        });
        let failed = match sent {
            Ok(failed) => failed,
            Err(error) => {
                return vec![StepError { step: "configure nodes".into(), reason: error.to_string() }];
            }
        };
        for (at, (step, record)) in steps.iter().enumerate() {
            if *record && !failed.contains_key(&at) {
                step.effect(&mut self.state);
            }
        }
        failed.iter().map(|(at, error)| failure(&steps[*at].0, error)).collect()
    }

    fn index(&self, node: &str, interface: &str) -> io::Result<u32> {
        self.known(node)?
            .indices
            .get(interface)
            .copied()
            .ok_or_else(|| io::Error::other(format!("there is no interface `{node}:{interface}`")))
    }
}
