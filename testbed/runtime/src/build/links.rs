//! Links: veth pairs, token buckets, and ends in the link engine.

use super::configure::Pending;
use super::messages::{self, VethEnd};
use super::{Builder, EngineRoom, StepError, failure};
use crate::kernel::files::Doing;
use crate::kernel::namespace::{self, Kind};
use crate::kernel::netlink::{Batch, Netlink};
use crate::plan::{Backend, LinkState, Realisation, Step, mac};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use plait_dataplane_links::{Engine, EngineOptions, LinkConfig, Port, offload, tap, tbf};
use plait_model_link::{Conditions, Rate, tbf_burst};
use plait_model_quantity::ByteCount;
use rustix::thread::UnshareFlags;
use std::collections::HashMap;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// A link that the engine holds.
pub(crate) struct EngineLink {
    /// The engine's number of it.
    pub id: u64,
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
                Realisation::Direct | Realisation::Kernel => self.direct(link, &mut batch).map(|ends| made.push((step, ends))),
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
        let node = self.nodes.get_mut(node).ok_or_else(|| io::Error::other(format!("there is no node `{node}`")))?;
        node.next_index += 1;
        Ok(node.next_index - 1)
    }

    /// One veth pair between two nodes.
    fn direct(&mut self, link: &LinkState, batch: &mut Batch) -> io::Result<[u32; 2]> {
        let [a, b] = &link.ends;
        let indices = [self.take_index(&a.0)?, self.take_index(&b.0)?];
        let end = |end: &(String, String), index| {
            Ok::<_, io::Error>(VethEnd {
                namespace: self.known(&end.0)?.network.as_raw_fd(),
                name: &end.1,
                index,
                mac: Some(mac(end)),
                mtu: link.mtu,
            })
        };
        let message = messages::veth(&end(a, indices[0])?, &end(b, indices[1])?);
        batch.push(message, NLM_F_CREATE | NLM_F_EXCL);
        Ok(indices)
    }

    /// The kernel's token bucket at each end whose direction has a rate.
    fn shape(&self, link: &LinkState) -> io::Result<()> {
        for ((node, interface), conditions) in link.ends.iter().zip(&link.conditions) {
            let node = self.known(node)?;
            let index = node.indices[interface];
            namespace::in_network(&*node.network, || bucket(index, conditions))?;
        }
        Ok(())
    }

    /// The engine, started with its namespace when the first link wants it.
    fn engine_room(&mut self) -> io::Result<&mut EngineRoom> {
        if self.engine.is_none() {
            let root = self.root;
            let room = namespace::on_thread(|| {
                namespace::renew(UnshareFlags::NEWNET)?;
                let engine = Engine::start(EngineOptions { real_time: root, ..EngineOptions::default() })
                    .doing(|| "start the link engine".to_owned())?;
                Ok(EngineRoom {
                    namespace: Arc::new(namespace::current(Kind::Network)?),
                    engine: Arc::new(engine),
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
        let Realisation::Engine(backends) = link.realisation else { unreachable!("only engine links come here") };
        let indices = [self.take_index(&link.ends[0].0)?, self.take_index(&link.ends[1].0)?];
        let networks = [self.known(&link.ends[0].0)?.network.clone(), self.known(&link.ends[1].0)?.network.clone()];
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
                    let outer = VethEnd {
                        namespace: networks[end].as_raw_fd(),
                        name: &node_end.1,
                        index,
                        mac: Some(mac(node_end)),
                        mtu: link.mtu,
                    };
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
                        Netlink::open()?.send(&mut batch)?.pop().map_or(Ok(held), |refused| Err(refused.error))
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
        let [a, b]: [Port; 2] = ports.try_into().unwrap_or_else(|_| unreachable!("two ends"));
        engine.add_link(LinkConfig {
            id,
            name: name.to_owned(),
            ends: [a, b],
            directions: link.conditions.clone(),
            seed: link.seed,
        })?;
        self.engine.as_mut().expect("started above").links.insert(name.to_owned(), EngineLink { id });
        Ok(indices)
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
                let id = self.engine_link(name).ok_or_else(|| io::Error::other(format!("the engine lacks {name}")))?;
                let engine = self.engine().expect("a link is in it");
                for (direction, conditions) in link.conditions.iter().enumerate() {
                    engine.set(id, direction, conditions.clone())?;
                }
                Ok(())
            }
        }
    }

    /// Removes a link's devices.
    pub(super) fn remove_link(&mut self, name: &str) -> io::Result<()> {
        let Some(link) = self.state.links.get(name) else { return Ok(()) };
        if let Some(room) = &mut self.engine
            && let Some(held) = room.links.remove(name)
        {
            room.engine.remove_link(held.id)?;
        }
        for (node, interface) in link.ends.clone() {
            let Some(node) = self.nodes.get_mut(&node) else { continue };
            let Some(index) = node.indices.remove(&interface) else { continue };
            let gone = namespace::in_network(&*node.network, || Netlink::open()?.request(messages::remove(index), 0));
            match gone {
                // The other end of a veth pair went with the first; a TAP went with the engine's descriptor.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) || error.kind() == io::ErrorKind::NotFound => {}
                gone => gone.doing(|| format!("remove {interface}"))?,
            }
        }
        Ok(())
    }
}

/// Puts the token bucket of one direction on a device of the calling thread's namespace.
fn bucket(index: u32, conditions: &Conditions) -> io::Result<()> {
    let Some(Rate::Fixed(rate)) = conditions.rate else { return tbf::remove(index) };
    let mtu = ByteCount::new(1514);
    let limit = conditions.queue_bytes(rate);
    tbf::attach(index, rate, tbf_burst(rate, mtu), limit)
}
