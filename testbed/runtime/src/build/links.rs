//! Links: veth pairs and what the kernel shapes them with; those in the engine are in [`super::engine_links`].

use super::configure::Pending;
use super::engine_links::Mover;
use super::messages::{self, VethEnd};
use super::{Builder, StepError, failure};
use crate::kernel::files::Doing;
use crate::kernel::namespace;
use crate::kernel::netlink::{Batch, Netlink};
use crate::plan::{LinkState, Realisation, Step, mac};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use plait_dataplane_links::{netem, offload, tbf};
use plait_model_link::{Conditions, Rate, direction_seed, tbf_burst};
use std::io;
use std::os::fd::AsRawFd;

impl Builder {
    /// Makes devices, in batches from the supervisor's own namespace, each directly where it belongs.
    pub(super) fn add_links(&mut self, steps: &[Step], pending: &mut Pending) -> Vec<StepError> {
        let mut batch = Batch::default();
        let mut made: Vec<(&Step, [u32; 2])> = Vec::new();
        let mut engine = Vec::new();
        for step in steps {
            let Step::AddLink { name, link } = step else { unreachable!("a group holds steps of one kind") };
            let prepared = match link.realisation {
                Realisation::Direct | Realisation::Kernel => {
                    self.direct(link, &mut batch).map(|ends| made.push((step, ends)))
                }
                Realisation::Engine(_) => {
                    engine.push((step, name, link));
                    Ok(())
                }
            };
            if let Err(error) = prepared {
                return vec![failure(step, &error)];
            }
        }
        let refused = match self.netlink.send(&mut batch) {
            Ok(refused) => refused,
            Err(error) => return vec![failure(&steps[0], &error)],
        };
        let mut failed = Vec::new();
        for (position, (step, indices)) in made.iter().enumerate() {
            match refused.iter().find(|refused| refused.index == position) {
                Some(refused) => failed.push(failure(step, &refused.error)),
                None => self.plugged(step, *indices, pending),
            }
        }
        if !failed.is_empty() {
            return failed;
        }
        for (step, _) in made {
            let Step::AddLink { name, link } = step else { continue };
            if link.realisation == Realisation::Kernel
                && let Err(error) = self.shape(name, link)
            {
                return vec![failure(step, &error)];
            }
        }
        for (step, name, link) in engine {
            match self.engine_link_up(name, link) {
                Ok(indices) => self.plugged(step, indices, pending),
                Err(error) => return vec![failure(step, &error)],
            }
        }
        for step in steps {
            let Step::AddLink { link, .. } = step else { continue };
            if let Err(error) = self.finish_packets(link) {
                return vec![failure(step, &error)];
            }
        }
        Vec::new()
    }

    /// Has a node finish the packets that it hands to a switch in user space: such a switch passes on what it reads, and
    /// a checksum that was left to the device would never be computed, nor a train of segments ever be cut.
    fn finish_packets(&self, link: &LinkState) -> io::Result<()> {
        for (at, (node, interface)) in link.ends.iter().enumerate() {
            if !self.state.nodes[&link.ends[1 - at].0].is_switched_in_user_space() {
                continue;
            }
            let network = self.known(node)?.network.clone();
            namespace::in_network(&*network, || offload::set(interface, offload::Policy::FinishedPackets))
                .doing(|| format!("switch offloads of {interface}"))?;
        }
        Ok(())
    }

    /// Records a link whose devices exist, and queues turning them on.
    fn plugged(&mut self, step: &Step, indices: [u32; 2], pending: &mut Pending) {
        let Step::AddLink { link, .. } = step else { unreachable!("a group holds steps of one kind") };
        step.effect(&mut self.state);
        let at = pending.step(step, false);
        for ((node, interface), index) in link.ends.iter().zip(indices) {
            if let Some(known) = self.nodes.get_mut(node) {
                known.indices.insert(interface.clone(), index);
            }
            let is_bridged = self.state.nodes[node].is_bridged();
            // A device with an MTU below IPv6's least has no IPv6 to be quiet about.
            let link_local = self.ipv6.remove(&(node.clone(), interface.clone()))
                || link.mtu.is_some_and(|mtu| mtu < messages::IPV6_LEAST);
            pending.plug(node, index, is_bridged, link_local, at);
        }
    }

    /// The device number an interface will have.
    pub(super) fn take_index(&mut self, node: &str) -> io::Result<u32> {
        let node =
            self.nodes.get_mut(node).ok_or_else(|| io::Error::other(format!("there is no node `{node}`")))?;
        node.next_index += 1;
        Ok(node.next_index - 1)
    }

    /// The end of a veth pair that lives in a node.
    pub(super) fn outer<'a>(&self, link: &'a LinkState, end: usize, index: u32) -> io::Result<VethEnd<'a>> {
        let (node, interface) = &link.ends[end];
        Ok(VethEnd {
            namespace: self.known(node)?.network.as_raw_fd(),
            name: interface,
            index,
            mac: Some(mac(&link.ends[end])),
            mtu: link.mtu,
        })
    }

    /// One veth pair between two nodes.
    fn direct(&mut self, link: &LinkState, batch: &mut Batch) -> io::Result<[u32; 2]> {
        let [a, b] = &link.ends;
        let indices = [self.take_index(&a.0)?, self.take_index(&b.0)?];
        let message = messages::veth(&self.outer(link, 0, indices[0])?, &self.outer(link, 1, indices[1])?);
        batch.push(message, NLM_F_CREATE | NLM_F_EXCL);
        Ok(indices)
    }

    /// The kernel's queueing disciplines, one at each end of which something is asked.
    fn shape(&self, name: &str, link: &LinkState) -> io::Result<()> {
        for (direction, ((node, interface), conditions)) in link.ends.iter().zip(&link.conditions).enumerate()
        {
            let node = self.known(node)?;
            let seed = direction_seed(link.seed, name, direction);
            namespace::in_network(&*node.network, || discipline(interface, conditions, seed))?;
        }
        Ok(())
    }

    /// Turns both devices of a bare link off or on. The kernel forgets routes over a device that goes off, and IPv6
    /// addresses too, so both are set again.
    pub(super) fn carrier(&mut self, link: &LinkState, on: bool) -> io::Result<()> {
        for (node, interface) in &link.ends {
            let index = self.known(node)?.indices[interface];
            let state = &self.state.nodes[node];
            let mut batch = Batch::default();
            if on {
                batch.push(messages::up(index, messages::Up::Plain), 0);
                for address in state.interfaces[interface].addresses.iter().filter(|net| net.addr().is_ipv6())
                {
                    batch.push(messages::address(index, *address, true), NLM_F_CREATE | NLM_F_REPLACE);
                }
            } else {
                batch.push(messages::down(index), 0);
            }
            let network = self.known(node)?.network.clone();
            namespace::in_network(&*network, || Netlink::open()?.send_whole(&mut batch))?;
        }
        if on {
            // Both devices are on, so next hops are reachable again.
            for (node, interface) in &link.ends {
                let indices = &self.known(node)?.indices;
                let mut batch = Batch::default();
                for route in &self.state.nodes[node].routes {
                    if route.interface.as_ref() == Some(interface) {
                        let index = indices.get(interface).copied();
                        batch.push(
                            messages::route(
                                route.to,
                                route.via,
                                index,
                                route.congestion_control.as_deref(),
                                true,
                            ),
                            NLM_F_CREATE | NLM_F_REPLACE,
                        );
                    }
                }
                // Whoever decides routes may not have seen that the device was off, and sees no change then.
                for way in self.decided_routes(node).filter(|way| way.interface == *interface) {
                    let index = indices.get(interface).copied();
                    let congestion_control = self.state.nodes[node].congestion_control.as_deref();
                    let message = messages::route(way.to, way.via, index, congestion_control, true);
                    batch.push(message, NLM_F_CREATE | NLM_F_REPLACE);
                }
                if !batch.is_empty() {
                    let network = self.known(node)?.network.clone();
                    namespace::in_network(&*network, || Netlink::open()?.send(&mut batch))?;
                }
            }
        }
        Ok(())
    }

    /// Changes what happens on a link; its devices and the packets on their way stay.
    pub(super) fn condition(&mut self, name: &str, link: &LinkState) -> io::Result<()> {
        match link.realisation {
            Realisation::Direct => Ok(()),
            Realisation::Kernel => self.shape(name, link),
            Realisation::Engine(_) => {
                if link.conditions.iter().any(Conditions::needs_whole_packets) {
                    self.hand_over(link, offload::Policy::WholePackets)?;
                }
                let room = self.room();
                let known = room
                    .links
                    .get(name)
                    .ok_or_else(|| io::Error::other(format!("the engine lacks {name}")))?;
                if known.mover == Mover::Engine {
                    for (direction, conditions) in link.conditions.iter().enumerate() {
                        room.engine.set(known.id, direction, conditions.clone())?;
                    }
                    return Ok(());
                }
                let was_cut = known.mover == Mover::Nobody;
                self.take_over(name, link)?;
                if was_cut { self.cut(name, [true; 2]) } else { Ok(()) }
            }
        }
    }

    /// Removes a link's devices.
    pub(super) fn remove_link(&mut self, name: &str) -> io::Result<()> {
        let Some(link) = self.state.links.get(name) else { return Ok(()) };
        self.cuts.remove(name);
        if let Some(room) = &mut self.engine
            && let Some(known) = room.links.remove(name)
            && known.mover == Mover::Engine
        {
            room.engine.remove_link(known.id)?;
        }
        for (node, interface) in link.ends.clone() {
            let Some(node) = self.nodes.get_mut(&node) else { continue };
            let Some(index) = node.indices.remove(&interface) else { continue };
            let gone = namespace::in_network(&*node.network, || {
                Netlink::open()?.request(messages::remove(index), 0)
            });
            match gone {
                // The other end of a veth pair went with the first; a TAP went with the engine's descriptor.
                Err(error)
                    if error.raw_os_error() == Some(libc::ENODEV)
                        || error.kind() == io::ErrorKind::NotFound => {}
                gone => gone.doing(|| format!("remove {interface}"))?,
            }
        }
        Ok(())
    }
}

/// Puts what shapes one direction on a device of the calling thread's namespace.
fn discipline(interface: &str, conditions: &Conditions, seed: u64) -> io::Result<()> {
    if let (Rate::Constant(rate), Some((limit, _))) = (&conditions.rate, conditions.queue_bytes()) {
        return tbf::attach(interface, *rate, tbf_burst(*rate, conditions.queue.frame), limit);
    }
    match conditions.is_unimpaired() {
        true => tbf::detach(interface),
        false => netem::attach(interface, conditions, seed),
    }
}
