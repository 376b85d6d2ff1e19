//! Links: veth pairs, token buckets, and ends in the link engine.

use super::configure::Pending;
use super::messages::{self, VethEnd};
use super::{Builder, EngineRoom, StepError, failure};
use crate::kernel::files::Doing;
use crate::kernel::namespace::{self, Kind};
use crate::kernel::netlink::{Batch, Netlink};
use crate::kernel::time::monotonic_nanos;
use crate::plan::{Backend, LinkState, Realisation, Step, mac};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use plait_dataplane_links::{Engine, EngineOptions, LinkConfig, Port, offload, redirect, tap, tbf};
use plait_model_link::{Conditions, MTU_FRAME, Rate, tbf_burst};
use rustix::thread::UnshareFlags;
use std::collections::HashMap;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// A link whose ends are in the engine's namespace.
pub(crate) struct EngineLink {
    /// The engine's number of it.
    pub id: u64,
    /// The devices there, where both ends are packet sockets.
    held: Option<[String; 2]>,
    /// Who moves its packets.
    mover: Mover,
}

impl EngineLink {
    /// Whether the engine itself moves its packets, and so counts them.
    pub fn is_moved_by_engine(&self) -> bool {
        self.mover == Mover::Engine
    }
}

/// Who moves the packets of a link whose ends are in the engine's namespace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mover {
    /// The engine.
    Engine,
    /// A redirect filter in the kernel, because nothing is asked of the link yet.
    Filter,
    /// Nobody: the link is cut.
    Nobody,
}

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
            let Step::AddLink { link, .. } = step else { continue };
            if link.realisation == Realisation::Kernel
                && let Err(error) = self.shape(link)
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
        Vec::new()
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
            let role = self.state.nodes[node].role;
            let link_local = self.ipv6.contains(&(node.clone(), interface.clone()));
            pending.plug(node, index, role, link_local, at);
        }
    }

    /// The device number an interface will have.
    fn take_index(&mut self, node: &str) -> io::Result<u32> {
        let node =
            self.nodes.get_mut(node).ok_or_else(|| io::Error::other(format!("there is no node `{node}`")))?;
        node.next_index += 1;
        Ok(node.next_index - 1)
    }

    /// The end of a veth pair that lives in a node.
    fn outer<'a>(&self, link: &'a LinkState, end: usize, index: u32) -> io::Result<VethEnd<'a>> {
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

    /// The kernel's token bucket at each end whose direction has a rate.
    fn shape(&self, link: &LinkState) -> io::Result<()> {
        for ((node, interface), conditions) in link.ends.iter().zip(&link.conditions) {
            let node = self.known(node)?;
            namespace::in_network(&*node.network, || bucket(interface, conditions))?;
        }
        Ok(())
    }

    /// The engine, started with its namespace when the first link wants it.
    fn engine_room(&mut self) -> io::Result<&mut EngineRoom> {
        if self.engine.is_none() {
            let root = self.root;
            let room = namespace::on_thread(|| {
                namespace::renew(UnshareFlags::NEWNET)?;
                let engine =
                    Engine::start(EngineOptions { priority: root.then_some(50), ..EngineOptions::default() })
                        .doing(|| "start the link engine".to_owned())?;
                Ok(EngineRoom {
                    namespace: Arc::new(namespace::current(Kind::Network)?),
                    engine: Arc::new(engine),
                    started: monotonic_nanos(),
                    links: HashMap::new(),
                    // Far above what the engine's own calibration devices use.
                    next_index: 1000,
                    next_id: 1,
                })
            })?;
            self.engine = Some(room);
        }
        Ok(self.engine.as_mut().expect("just made"))
    }

    /// A link whose ends are held by the engine.
    fn engine_link_up(&mut self, name: &str, link: &LinkState) -> io::Result<[u32; 2]> {
        let Realisation::Engine(backends) = link.realisation else {
            unreachable!("only engine links come here")
        };
        let indices = [self.take_index(&link.ends[0].0)?, self.take_index(&link.ends[1].0)?];
        let networks =
            [self.known(&link.ends[0].0)?.network.clone(), self.known(&link.ends[1].0)?.network.clone()];
        let whole = link.conditions.iter().any(Conditions::needs_whole_packets);
        let room = self.engine_room()?;
        let id = room.next_id;
        room.next_id += 1;
        let base = room.next_index;
        room.next_index += 2;
        let namespace = room.namespace.clone();
        let engine = room.engine.clone();

        let mut ports = Vec::new();
        for end in 0..2 {
            let (node_end, index) = (&link.ends[end], indices[end]);
            let inner = format!("e{id}{}", ["a", "b"][end]);
            let port = match backends[end] {
                Backend::Packet => {
                    let mut batch = Batch::default();
                    let outer = self.outer(link, end, index)?;
                    let held = VethEnd {
                        namespace: namespace.as_raw_fd(),
                        name: &inner,
                        index: base + end as u32,
                        mac: None,
                        mtu: link.mtu,
                    };
                    batch.push(messages::veth(&outer, &held), NLM_F_CREATE | NLM_F_EXCL);
                    if let Some(refused) = self.netlink.send(&mut batch)?.pop() {
                        return Err(refused.error);
                    }
                    let held_index = base + end as u32;
                    namespace::in_network(&*namespace, || {
                        let mut batch = Batch::default();
                        batch.push(messages::no_link_local(held_index), 0);
                        batch.push(messages::up(held_index, messages::Up::Plain), 0);
                        Netlink::open()?.send(&mut batch)?.pop().map_or(Ok(()), |refused| Err(refused.error))
                    })?;
                    Port::Packet { ifname: inner }
                }
                Backend::Tap => {
                    let target = networks[end].as_raw_fd();
                    let name = node_end.1.clone();
                    let held = namespace::in_network(&*namespace, || {
                        let held = tap::create(&inner)?;
                        let mut batch = Batch::default();
                        batch.push(messages::hand_over(&inner, target, &name, index), 0);
                        Netlink::open()?
                            .send(&mut batch)?
                            .pop()
                            .map_or(Ok(held), |refused| Err(refused.error))
                    })?;
                    let mtu = link.mtu;
                    namespace::in_network(&*networks[end], || {
                        Netlink::open()?.request(messages::identity(index, mac(node_end), mtu), 0)
                    })?;
                    Port::Tap { fd: held }
                }
            };
            ports.push(port);
        }
        if whole {
            self.whole_packets(link)?;
        }
        let held = match &ports[..] {
            [Port::Packet { ifname: a }, Port::Packet { ifname: b }] => Some([a.clone(), b.clone()]),
            _ => None,
        };
        let idle = link.conditions.iter().all(Conditions::is_unimpaired);
        let mover = match &held {
            Some([a, b]) if idle => {
                namespace::in_network(&*namespace, || redirect::attach(a, b))
                    .doing(|| format!("join {name}"))?;
                Mover::Filter
            }
            _ => {
                let ends = ports.try_into().unwrap_or_else(|_| unreachable!("two ends"));
                engine.add_link(config(id, name, link, ends))?;
                Mover::Engine
            }
        };
        self.room().links.insert(name.to_owned(), EngineLink { id, held, mover });
        Ok(indices)
    }

    /// The engine's namespace, once a link is in it.
    fn room(&mut self) -> &mut EngineRoom {
        self.engine.as_mut().expect("a link that is in the engine started it")
    }

    /// Hands a link that the kernel joined, or that is cut, to the engine.
    fn take_over(&mut self, name: &str, link: &LinkState) -> io::Result<()> {
        let room = self.room();
        let (namespace, engine) = (room.namespace.clone(), room.engine.clone());
        let Some(known) = room.links.get_mut(name) else { return Ok(()) };
        let (Some([a, b]), true) = (known.held.clone(), known.mover != Mover::Engine) else { return Ok(()) };
        // The engine opens its ends first, so that nothing is lost; what comes in between arrives twice, because packet
        // sockets see a packet before the filter does.
        let joined = known.mover == Mover::Filter;
        let ends = [Port::Packet { ifname: a.clone() }, Port::Packet { ifname: b.clone() }];
        engine.add_link(config(known.id, name, link, ends))?;
        known.mover = Mover::Engine;
        if joined {
            namespace::in_network(&*namespace, || redirect::detach(&a, &b))?;
        }
        Ok(())
    }

    /// Cuts a link, or heals it. In the engine it lets nothing through while both devices stay up, as when a fibre
    /// breaks beyond the next switch; a bare link loses its carrier, and its nodes their routes over it until it heals.
    pub(crate) fn cut(&mut self, name: &str, cut: bool) -> io::Result<()> {
        let link = self.state.links[name].clone();
        let Some(room) = &mut self.engine else { return self.carrier(&link, !cut) };
        let Some(known) = room.links.get_mut(name) else { return self.carrier(&link, !cut) };
        match (known.mover, cut) {
            (Mover::Engine, true) => room.engine.fail(known.id),
            (Mover::Engine, false) => room.engine.recover(known.id),
            (Mover::Filter, false) | (Mover::Nobody, true) => Ok(()),
            (Mover::Filter, true) | (Mover::Nobody, false) => {
                let namespace = room.namespace.clone();
                if let Some([a, b]) = &known.held {
                    namespace::in_network(&*namespace, || match cut {
                        true => redirect::detach(a, b),
                        false => redirect::attach(a, b),
                    })?;
                }
                known.mover = if cut { Mover::Nobody } else { Mover::Filter };
                Ok(())
            }
        }
    }

    /// Turns both devices of a bare link off or on. The kernel forgets routes over a device that goes off, and IPv6
    /// addresses too, so both are set again.
    fn carrier(&mut self, link: &LinkState, on: bool) -> io::Result<()> {
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
            let refused = namespace::in_network(&*network, || Netlink::open()?.send(&mut batch))?;
            if let Some(refused) = refused.into_iter().next() {
                return Err(refused.error);
            }
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
                if !batch.is_empty() {
                    let network = self.known(node)?.network.clone();
                    namespace::in_network(&*network, || Netlink::open()?.send(&mut batch))?;
                }
            }
        }
        Ok(())
    }

    /// Stops both nodes from handing superpackets to a link that decides packet by packet.
    fn whole_packets(&self, link: &LinkState) -> io::Result<()> {
        for (node, interface) in &link.ends {
            let node = self.known(node)?;
            namespace::in_network(&*node.network, || offload::set(interface, offload::Policy::WholePackets))
                .doing(|| format!("switch offloads off on {interface}"))?;
        }
        Ok(())
    }

    /// Changes what happens on a link; its devices and the packets on their way stay.
    pub(super) fn condition(&mut self, name: &str, link: &LinkState) -> io::Result<()> {
        match link.realisation {
            Realisation::Direct => Ok(()),
            Realisation::Kernel => self.shape(link),
            Realisation::Engine(_) => {
                if link.conditions.iter().any(Conditions::needs_whole_packets) {
                    self.whole_packets(link)?;
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
                if was_cut { self.cut(name, true) } else { Ok(()) }
            }
        }
    }

    /// Removes a link's devices.
    pub(super) fn remove_link(&mut self, name: &str) -> io::Result<()> {
        let Some(link) = self.state.links.get(name) else { return Ok(()) };
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

fn config(id: u64, name: &str, link: &LinkState, ends: [Port; 2]) -> LinkConfig {
    LinkConfig { id, name: name.to_owned(), ends, directions: link.conditions.clone(), seed: link.seed }
}

/// Puts the token bucket of one direction on a device of the calling thread's namespace.
fn bucket(interface: &str, conditions: &Conditions) -> io::Result<()> {
    let (Rate::Constant(rate), Some((limit, _))) = (&conditions.rate, conditions.queue_bytes()) else {
        return tbf::detach(interface);
    };
    tbf::attach(interface, *rate, tbf_burst(*rate, MTU_FRAME), limit)
}
