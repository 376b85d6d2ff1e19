//! How long the kernel's verifier looks at each program, for which an agent waits when it starts, and with each device.

mod support;

use libbpf_rs::query::ProgInfoIter;
use plait_dataplane_bpf::Program;
use plait_dataplane_reference::tables::driver;
use support::Node;

/// Choice: a tenth of what the kernel allows. Where each way to a place in a program is looked at anew, it was twice as much.
const STEPS: u32 = 100_000;

#[test]
fn a_verifier_is_soon_through_with_each_program() {
    // Of what is loaded before this, some may be another version's.
    let known = ProgInfoIter::default().map(|program| program.id).max().unwrap_or(0);
    for driver in [driver::ETHERNET, driver::IP, driver::BITS, driver::PAYLOAD] {
        let Some(_node) = Node::new(Program::ALL, driver) else { return };
        for ours in Program::ALL {
            let steps: Vec<u32> = ProgInfoIter::default()
                .filter(|program| program.id > known && program.name == *ours.name())
                .map(|program| program.verified_insns)
                .collect();
            assert!(
                !steps.is_empty() && steps.iter().all(|steps| (1..STEPS).contains(steps)),
                "{ours:?}: {steps:?}"
            );
        }
    }
}
