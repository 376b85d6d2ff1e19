//! iplbd as an application of the control runtime: views go in, views come out, and a [`Daemon`] decides between them.
//!
//! ```text
//!  Learnt ─► FabricDriver ─┬─► fabric@1 ────────┐                 ┌─► relay-lists@1 ─► FabricDriver ─► Operations
//!                          └─► access-switch@1 ─┴─► iplbd ────────┤
//!                                     ▲                           └─► path-plan@1 ─┐
//!                                     └────────────────────────────────────────────┘
//! ```
//!
//! What a [`Daemon`] does by itself, the runtime does here: changes that come while it pauses are gathered by the DAG's
//! least interval between runs, and what is known from one run to the next is a view. For that a run can be recorded and
//! replayed, drawn, and asked what would be ([`Iplbd::what_if`]).

mod driver;
mod iplbd;
mod planned;
mod views;

pub use driver::{FabricDriver, Learnt};
pub use iplbd::Iplbd;
pub use planned::Planned;
pub use views::AccessSwitch;

use crate::daemon::{Daemon, DaemonConfig};
use crate::fabric::Fabric;
use crate::plan::Settings;
use crate::table::Table;
use plait_control_runtime::{Dag, Failure, Manifest, Name, Perhaps, Policy, Set, native};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

/// What the application and its DAG are called.
const IPLBD: &str = "iplbd";

/// A daemon that does not pause: the DAG does.
fn unpaused_daemon(settings: Settings, access: Ipv4Addr) -> Daemon {
    Daemon::new(DaemonConfig { access, settings, pause: Duration::ZERO })
}

/// The application, and the DAG that runs it when the fabric or the access switch has changed, with this pause between two
/// plans at least.
pub fn iplbd(settings: Settings, pause: Duration) -> Set {
    let decide = move |(fabric, access, before): (Arc<Fabric>, Arc<AccessSwitch>, Option<Arc<Planned>>)| {
        decide(&settings, &fabric, access.id, before.as_deref())
    };
    let manifest = Manifest::new(IPLBD)
        .reads("fabric@1")
        .reads("access-switch@1")
        .reads("path-plan@1?")
        .writes("relay-lists@1?")
        .writes("path-plan@1?");
    Set::default().with(manifest, native(decide)).dag(
        Dag::chain(IPLBD, &[IPLBD])
            .on("fabric@1")
            .on("access-switch@1")
            .policy(Policy { min_interval: pause, ..Policy::default() }),
    )
}

fn decide(
    settings: &Settings,
    fabric: &Fabric,
    access: Ipv4Addr,
    before: Option<&Planned>,
) -> Result<(Perhaps<Table>, Perhaps<Planned>), Failure> {
    // As the daemon does: what is known stays while the access switch is no part of the fabric.
    if fabric.index(access).is_none() {
        return Ok((Perhaps(None), Perhaps(None)));
    }
    let mut daemon = match before {
        Some(before) => before.daemon(settings),
        None => unpaused_daemon(settings.clone(), access),
    };
    daemon.move_to(access);
    daemon.handle_fabric(fabric.clone(), Duration::ZERO);
    let mut is_changed = before.is_none();
    while daemon.poll_operation().is_some() {
        is_changed = true;
    }
    let table = is_changed.then(|| daemon.table().clone());
    Ok((Perhaps(table), Perhaps(Planned::of(daemon))))
}

fn named(name: &str) -> Name {
    name.parse().unwrap_or_else(|fault| panic!("{fault}"))
}
