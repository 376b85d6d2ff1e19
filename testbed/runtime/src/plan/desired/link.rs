//! One link: how it is made, so that it keeps its word.

use super::{Wishes, flag, mac, node, port_of};
use crate::plan::{Backend, InterfaceState, LinkState, NodeState, Realisation};
use crate::section;
use plait_dataplane_links::netem;
use plait_model_link::{Conditions, Queue, QueueLimit, Rate};
use plait_model_quantity::ByteCount;
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::document::decode;
use plait_model_topology::network::{Link, Network};

/// What realises a link: itself, or two halves with an auxiliary node between them.
pub(super) struct Made {
    pub auxiliary: Option<(String, NodeState)>,
    pub links: Vec<(String, LinkState)>,
}

pub(super) fn link_state(
    network: &Network,
    link: &Link,
    wishes: &Wishes,
    verify_all: bool,
) -> Result<Made, Diagnostic> {
    let (via, span) = match link.extra.get("via") {
        Some(value) => (Some(decode::<section::Via>(value)?), value.span()),
        None => (None, link.span),
    };
    let dynamic = wishes.live || wishes.dynamic.contains(&link.name) || flag(&link.extra, "dynamic");
    let realisation =
        choose(&link.conditions, via, dynamic).map_err(|message| Diagnostic::new(span, message))?;
    let whole = LinkState {
        ends: link.ends.map(|port| port_of(network, port)),
        mtu: link.mtu,
        conditions: link.conditions.clone().map(|conditions| framed(conditions, link.mtu)),
        specs: link.specs.clone(),
        realisation,
        seed: network.seed,
        verify: verify_all || flag(&link.extra, "verify"),
        hidden: false,
    };
    let both = |conditions: &Conditions| conditions.rate != Rate::Unlimited && !conditions.is_rate_only();
    Ok(match realisation {
        Realisation::Kernel if link.conditions.iter().any(both) => split(&link.name, &whole),
        _ => Made { auxiliary: None, links: vec![(link.name.clone(), whole)] },
    })
}

/// Conditions on a link of an MTU.
pub(super) fn framed(mut conditions: Conditions, mtu: Option<u32>) -> Conditions {
    if let Some(mtu) = mtu {
        conditions.queue.frame = conditions.queue.frame.max(ByteCount::new(u64::from(mtu) + 14));
    }
    conditions
}

/// VITO's auxiliary-node split (its section 3.1.3): a device has one queueing discipline, so where the kernel shall
/// both impair and shape a direction, a forwarding node comes between. Each end's own device impairs what the end
/// sends, as the order of the model wants it; the auxiliary node's far device then queues it and shapes the rate.
fn split(name: &str, whole: &LinkState) -> Made {
    let own = auxiliary(name);
    let ports = ["port0", "port1"].map(|port| (own.clone(), port.to_owned()));
    let interfaces = ports
        .iter()
        .map(|port| (port.1.clone(), InterfaceState { addresses: Vec::new(), mac: mac(port) }))
        .collect();
    let half = |at: usize| {
        let (node, interface) = &whole.ends[at];
        let link = LinkState {
            ends: [whole.ends[at].clone(), ports[at].clone()],
            conditions: [before_queue(&whole.conditions[at]), from_queue(&whole.conditions[1 - at])],
            specs: Default::default(),
            hidden: true,
            ..whole.clone()
        };
        (format!("{name}/{node}:{interface}"), link)
    };
    Made { auxiliary: Some((own.clone(), node::switch(interfaces))), links: vec![half(0), half(1)] }
}

/// The auxiliary node of a link that was split.
pub fn auxiliary(link: &str) -> String {
    format!("aux:{link}")
}

fn before_queue(conditions: &Conditions) -> Conditions {
    Conditions { rate: Rate::Unlimited, queue: Queue::default(), ..conditions.clone() }
}

fn from_queue(conditions: &Conditions) -> Conditions {
    Conditions { rate: conditions.rate.clone(), queue: conditions.queue.clone(), ..Conditions::default() }
}

/// How a link is made: as little as keeps its word.
///
/// Nothing asked: a bare veth pair. Rate alone: the kernel's token bucket, which is exact and costs no context switch
/// (never HTB, which starves under BBR). Anything else, or a link that may change: the engine.
pub fn choose(
    conditions: &[Conditions; 2],
    via: Option<section::Via>,
    dynamic: bool,
) -> Result<Realisation, String> {
    let nothing = conditions.iter().all(Conditions::is_unimpaired);
    let rate_only =
        conditions.iter().all(|conditions| conditions.is_unimpaired() || conditions.is_rate_only());
    match via {
        Some(section::Via::Kernel) if dynamic => Err(
            "a link that may change cannot be shaped by the kernel: remove `via: kernel`, or what changes it"
                .into(),
        ),
        Some(section::Via::Kernel) => {
            conditions.iter().try_for_each(kernel_keeps)?;
            Ok(Realisation::Kernel)
        }
        Some(section::Via::Tap) => Ok(Realisation::Engine([Backend::Tap; 2])),
        Some(section::Via::Engine) => Ok(Realisation::Engine([Backend::Packet; 2])),
        None if dynamic => Ok(Realisation::Engine([Backend::Packet; 2])),
        None if nothing => Ok(Realisation::Direct),
        None if rate_only => Ok(Realisation::Kernel),
        None => Ok(Realisation::Engine([Backend::Packet; 2])),
    }
}

fn kernel_keeps(conditions: &Conditions) -> Result<(), String> {
    let shaped = from_queue(conditions);
    let what = match (&shaped.rate, &shaped.queue.limit) {
        (Rate::Unlimited, _) => netem::keeps(conditions),
        (Rate::Trace(_), _) => Err("follow a rate trace"),
        (_, QueueLimit::Packets(_)) => Err("limit its queue in packets"),
        _ if !shaped.is_rate_only() => Err("queue other than drop-tail"),
        _ => netem::keeps(conditions),
    };
    what.map_err(|what| format!("the kernel cannot {what}: remove `via: kernel`, and the engine does"))
}
