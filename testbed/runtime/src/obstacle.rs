//! What this machine lacks for a network: found before anything is built, and said with the line that asks for it.
//!
//! How a link is made does not depend on the machine, so this stands beside the plan: `plait plan` shows what would be
//! built where the kernel can.

use crate::doctor;
use crate::plan::{Realisation, State, auxiliary};
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::network::{Link, Network};

/// Why the state that realises a network cannot be built here. Tries things in a process of its own, so the caller must
/// have one thread.
pub fn obstacles(network: &Network, state: &State) -> Vec<Diagnostic> {
    let emulated: Vec<_> = network.links.iter().filter(|link| wants_netem(state, &link.name)).collect();
    if emulated.is_empty() {
        return Vec::new();
    }
    let Err(why) = doctor::netem_works() else { return Vec::new() };
    let fault = |link: &&Link| {
        let span = link.extra.get("via").map_or(link.span, |via| via.span());
        Diagnostic::new(span, "the kernel can shape a link's rate here and nothing else")
            .note(span, format!("netem (sch_netem) was {why}"))
            .help("remove `via: kernel`, and the link engine does it; or load the module")
    };
    emulated.iter().map(fault).collect()
}

/// Whether the kernel shall do more on a link than shape its rate.
fn wants_netem(state: &State, name: &str) -> bool {
    state.nodes.contains_key(&auxiliary(name))
        || state.links.get(name).is_some_and(|link| {
            let shaped = link.conditions.iter().filter(|conditions| !conditions.is_unimpaired());
            link.realisation == Realisation::Kernel
                && shaped.into_iter().any(|conditions| !conditions.is_rate_only())
        })
}
