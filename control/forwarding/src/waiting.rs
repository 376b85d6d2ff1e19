//! How much may wait for a DAG, by what sets it off.

use plait_control_runtime::Policy;

/// Packet-ins, which many instances take. Choice: as many batches wait as are worked on. Who reads is slowed down by more, and
/// so switches are: what waits longer waits with its switch, and not for the slowest of three DAGs; a queue would hold what
/// switches sent until their answers come as one burst.
pub(crate) fn for_many(instances: usize) -> Policy {
    Policy { instances, queue: instances, ..Policy::default() }
}

/// Packets for all, which are long. Choice: 64 batches; beyond them one is lost, as on a link that is full.
pub(crate) fn for_all() -> Policy {
    Policy { queue: 64, ..Policy::default() }
}

/// Events of switches. Choice: 65,536, since all switches come at once where a controller starts again, and none of them may be
/// missed.
pub(crate) fn of_switches() -> Policy {
    Policy { queue: 65_536, ..Policy::default() }
}
