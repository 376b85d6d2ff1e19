//! Links whose ends are in the engine's network namespace.

use super::messages::{self, VethEnd};
use super::{Builder, EngineRoom};
use crate::kernel::files::Doing;
use crate::kernel::namespace::{self, Kind};
use crate::kernel::netlink::{Batch, Netlink};
use crate::kernel::time::monotonic_nanos;
use crate::plan::{Backend, LinkState, Realisation, mac};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use plait_dataplane_links::{Engine, EngineOptions, LinkConfig, Port, offload, redirect, tap};
use plait_model_link::Conditions;
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
    pub(super) mover: Mover,
}

impl EngineLink {
    /// Whether the engine itself moves its packets, and so counts them.
    pub fn is_moved_by_engine(&self) -> bool {
        self.mover == Mover::Engine
    }
}

/// Who moves the packets of a link whose ends are in the engine's namespace.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mover {
    /// The engine.
    Engine,
    /// A redirect filter in the kernel, because nothing is asked of the link yet.
    Filter,
    /// Nobody: the link is cut.
    Nobody,
}

impl Builder {
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
    pub(super) fn engine_link_up(&mut self, name: &str, link: &LinkState) -> io::Result<[u32; 2]> {
        let Realisation::Engine(backends) = link.realisation else {
            unreachable!("only engine links come here")
        };
        let indices = [self.take_index(&link.ends[0].0)?, self.take_index(&link.ends[1].0)?];
        match self.engine_joins(name, link, backends, indices) {
            Ok(()) => Ok(indices),
            Err(error) => {
                // Half a link is none. A TAP went with its descriptor.
                for ((node, _), index) in link.ends.iter().zip(indices) {
                    let network = self.known(node)?.network.clone();
                    let _ = namespace::in_network(&*network, || {
                        Netlink::open()?.request(messages::remove(index), 0)
                    });
                }
                Err(error)
            }
        }
    }

    fn engine_joins(
        &mut self,
        name: &str,
        link: &LinkState,
        backends: [Backend; 2],
        indices: [u32; 2],
    ) -> io::Result<()> {
        let room = self.engine_room()?;
        let id = room.next_id;
        room.next_id += 1;
        let mut ports = Vec::new();
        for end in 0..2 {
            let inner = format!("e{id}{}", ["a", "b"][end]);
            ports.push(match backends[end] {
                Backend::Packet => self.packet_end(link, end, indices[end], inner)?,
                Backend::Tap => self.tap_end(link, end, indices[end], &inner)?,
            });
        }
        if link.conditions.iter().any(Conditions::needs_whole_packets) {
            self.hand_over(link, offload::Policy::WholePackets)?;
        } else if backends.contains(&Backend::Packet) {
            self.hand_over(link, offload::Policy::Trains)?;
        }
        let room = self.room();
        let held = match &ports[..] {
            [Port::Packet { ifname: a }, Port::Packet { ifname: b }] => Some([a.clone(), b.clone()]),
            _ => None,
        };
        let idle = link.conditions.iter().all(Conditions::is_unimpaired);
        let mover = match &held {
            Some([a, b]) if idle => {
                namespace::in_network(&*room.namespace, || redirect::attach(a, b))
                    .doing(|| format!("join {name}"))?;
                Mover::Filter
            }
            _ => {
                let ends = ports.try_into().unwrap_or_else(|_| unreachable!("two ends"));
                room.engine.add_link(config(id, name, link, ends))?;
                Mover::Engine
            }
        };
        room.links.insert(name.to_owned(), EngineLink { id, held, mover });
        Ok(())
    }

    /// A veth pair from a node into the engine's namespace, where a packet socket will be its port.
    fn packet_end(&mut self, link: &LinkState, end: usize, index: u32, inner: String) -> io::Result<Port> {
        let room = self.room();
        let namespace = room.namespace.clone();
        let held_index = room.next_index;
        room.next_index += 1;
        let held = VethEnd {
            namespace: namespace.as_raw_fd(),
            name: &inner,
            index: held_index,
            mac: None,
            mtu: link.mtu,
        };
        let mut batch = Batch::default();
        batch.push(messages::veth(&self.outer(link, end, index)?, &held), NLM_F_CREATE | NLM_F_EXCL);
        self.netlink.send_whole(&mut batch)?;
        namespace::in_network(&*namespace, || {
            let mut batch = Batch::default();
            if link.mtu.is_none_or(|mtu| mtu >= messages::IPV6_LEAST) {
                batch.push(messages::no_link_local(held_index), 0);
            }
            batch.push(messages::up(held_index, messages::Up::Plain), 0);
            Netlink::open()?.send_whole(&mut batch)
        })?;
        Ok(Port::Packet { ifname: inner })
    }

    /// A TAP of a node whose descriptor the engine holds.
    fn tap_end(&mut self, link: &LinkState, end: usize, index: u32, inner: &str) -> io::Result<Port> {
        let (node, name) = &link.ends[end];
        let network = self.known(node)?.network.clone();
        let fd = namespace::in_network(&*self.room().namespace, || {
            let held = tap::create(inner)
                .doing(|| "make a TAP (is /dev/net/tun open to you? `via: engine` needs none)".to_owned())?;
            Netlink::open()?.request(messages::hand_over(inner, network.as_raw_fd(), name, index), 0)?;
            Ok(held)
        })?;
        namespace::in_network(&*network, || {
            Netlink::open()?.request(messages::identity(index, mac(&link.ends[end]), link.mtu), 0)
        })?;
        Ok(Port::Tap { fd })
    }

    /// The engine's namespace, once a link is in it.
    pub(super) fn room(&mut self) -> &mut EngineRoom {
        self.engine.as_mut().expect("a link that is in the engine started it")
    }

    /// Hands a link that the kernel joined, or that is cut, to the engine.
    pub(super) fn take_over(&mut self, name: &str, link: &LinkState) -> io::Result<()> {
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

    /// Says what both nodes hand to a link: a link that decides packet by packet wants no superpackets.
    pub(super) fn hand_over(&self, link: &LinkState, policy: offload::Policy) -> io::Result<()> {
        for (node, interface) in &link.ends {
            let node = self.known(node)?;
            namespace::in_network(&*node.network, || offload::set(interface, policy))
                .doing(|| format!("switch offloads of {interface}"))?;
        }
        Ok(())
    }

    /// Cuts directions of a link, or heals them. In the engine they let nothing through while both devices stay up, as
    /// when a fibre breaks beyond the next switch; a bare link loses its carrier, and its nodes their routes over it
    /// until it heals.
    pub(crate) fn cut(&mut self, name: &str, cut: [bool; 2]) -> io::Result<()> {
        self.cut_or_heal(name, cut)?;
        self.cuts.insert(name.to_owned(), cut);
        Ok(())
    }

    fn cut_or_heal(&mut self, name: &str, cut: [bool; 2]) -> io::Result<()> {
        let link = self.state.links[name].clone();
        let Some(known) = self.engine.as_mut().and_then(|room| room.links.get_mut(name)) else {
            return match cut {
                [a, b] if a == b => self.carrier(&link, !a),
                _ => Err(io::Error::other(format!(
                    "{name} is not in the link engine, so it fails both ways or not at all: give it `dynamic: true` in the \
                     file (and no `via: kernel`), or use `plait up --live`"
                ))),
            };
        };
        let (mover, id, held) = (known.mover, known.id, known.held.clone());
        match (mover, cut, held) {
            (Mover::Engine, _, _) => return self.room().engine.set_down(id, cut),
            (Mover::Filter, [false, false], _) | (Mover::Nobody, [true, true], _) => return Ok(()),
            (Mover::Filter | Mover::Nobody, [all, both], Some([a, b])) if all == both => {
                let namespace = self.room().namespace.clone();
                namespace::in_network(&*namespace, || match all {
                    true => redirect::detach(&a, &b),
                    false => redirect::attach(&a, &b),
                })?;
            }
            _ => {
                self.take_over(name, &link)?;
                return self.room().engine.set_down(id, cut);
            }
        }
        let known = self.room().links.get_mut(name).expect("looked up above");
        known.mover = if cut[0] { Mover::Nobody } else { Mover::Filter };
        Ok(())
    }
}

fn config(id: u64, name: &str, link: &LinkState, ends: [Port; 2]) -> LinkConfig {
    LinkConfig { id, name: name.to_owned(), ends, directions: link.conditions.clone(), seed: link.seed }
}
