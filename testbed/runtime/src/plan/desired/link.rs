//! One link: how it is made, so that it keeps its word.

use super::{Wishes, flag, port_of};
use crate::plan::{Backend, LinkState, Realisation};
use crate::section;
use plait_model_link::Conditions;
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::document::decode;
use plait_model_topology::network::{Link, Network};

pub(super) fn link_state(
    network: &Network,
    link: &Link,
    wishes: &Wishes,
    verify_all: bool,
) -> Result<LinkState, Diagnostic> {
    let (via, span) = match link.extra.get("via") {
        Some(value) => (Some(decode::<section::Via>(value)?), value.span()),
        None => (None, link.span),
    };
    let dynamic = wishes.live || wishes.dynamic.contains(&link.name) || flag(&link.extra, "dynamic");
    let realisation =
        choose(&link.conditions, via, dynamic).map_err(|message| Diagnostic::new(span, message))?;
    Ok(LinkState {
        ends: link.ends.map(|port| port_of(network, port)),
        mtu: link.mtu,
        conditions: link.conditions.clone(),
        specs: link.specs.clone(),
        realisation,
        seed: network.seed,
        verify: verify_all || flag(&link.extra, "verify"),
        hidden: false,
    })
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
        Some(section::Via::Kernel) if dynamic => {
            Err("a link that may change cannot be shaped by the kernel: remove `via: kernel`, or what changes it".into())
        }
        Some(section::Via::Kernel) if rate_only => Ok(Realisation::Kernel),
        Some(section::Via::Kernel) => {
            Err("the kernel shapes rate alone here: remove `via: kernel`, or every condition but `rate` and `queue`".into())
        }
        Some(section::Via::Tap) => Ok(Realisation::Engine([Backend::Tap; 2])),
        Some(section::Via::Engine) => Ok(Realisation::Engine([Backend::Packet; 2])),
        None if dynamic => Ok(Realisation::Engine([Backend::Packet; 2])),
        None if nothing => Ok(Realisation::Direct),
        None if rate_only => Ok(Realisation::Kernel),
        None => Ok(Realisation::Engine([Backend::Packet; 2])),
    }
}
