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
                        if link.mtu.is_none_or(|mtu| mtu >= messages::IPV6_LEAST) {
                            batch.push(messages::no_link_local(held_index), 0);
                        }
                        batch.push(messages::up(held_index, messages::Up::Plain), 0);
                        Netlink::open()?.send(&mut batch)?.pop().map_or(Ok(()), |refused| Err(refused.error))
                    })?;
                    Port::Packet { ifname: inner }
                }
                Backend::Tap => {
                    let target = networks[end].as_raw_fd();
                    let name = node_end.1.clone();
                    let held = namespace::in_network(&*namespace, || {
                        let held = tap::create(&inner).doing(|| {
                            "make a TAP (is /dev/net/tun open to you? `via: engine` needs none)".to_owned()
                        })?;
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

    /// Stops both nodes from handing superpackets to a link that decides packet by packet.
    pub(super) fn whole_packets(&self, link: &LinkState) -> io::Result<()> {
        for (node, interface) in &link.ends {
            let node = self.known(node)?;
            namespace::in_network(&*node.network, || offload::set(interface, offload::Policy::WholePackets))
                .doing(|| format!("switch offloads off on {interface}"))?;
        }
        Ok(())
    }

    /// Cuts directions of a link, or heals them. In the engine they let nothing through while both devices stay up, as
    /// when a fibre breaks beyond the next switch; a bare link loses its carrier, and its nodes their routes over it until
    /// it heals.
    pub(crate) fn cut(&mut self, name: &str, cut: [bool; 2]) -> io::Result<()> {
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
