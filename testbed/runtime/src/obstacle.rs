//! What this machine lacks for a network: found before anything is built, and said with the line that asks for it.
//!
//! A plan does not depend on the machine, so this stands beside it: `plait plan` shows what would be built elsewhere.

use crate::doctor;
use crate::plan::{Realisation, State, auxiliary};
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::network::Network;

/// Why the state that realises a network cannot be built here.
pub fn obstacles(network: &Network, state: &State) -> Vec<Diagnostic> {
    let emulated: Vec<_> = network.links.iter().filter(|link| wants_netem(state, &link.name)).collect();
    if emulated.is_empty() || doctor::netem_works().is_ok() {
        return Vec::new();
    }
    let fault = |link: &&plait_model_topology::network::Link| {
        let span = link.extra.get("via").map_or(link.span, |via| via.span());
        Diagnostic::new(
            span,
            "this kernel has no netem (sch_netem), so it can shape a link's rate and nothing else",
        )
        .help("remove `via: kernel`, and the link engine does it; or load the module")
    };
    emulated.iter().map(fault).collect()
}

/// Whether the kernel shall do more on a link than shape its rate.
fn wants_netem(state: &State, name: &str) -> bool {
    let alone = state.links.get(name).is_some_and(|link| {
        link.realisation == Realisation::Kernel
            && link
                .conditions
                .iter()
                .any(|conditions| !conditions.is_unimpaired() && !conditions.is_rate_only())
    });
    alone || state.nodes.contains_key(&auxiliary(name))
}
