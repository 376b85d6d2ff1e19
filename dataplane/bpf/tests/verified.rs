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
    for driver in [driver::ETHERNET, driver::IP, driver::BITS] {
        let Some(_node) = Node::new(Program::ALL, driver) else { return };
        for ours in Program::ALL {
            // Those that other tests have loaded are the same.
            let steps: Vec<u32> = ProgInfoIter::default()
                .filter(|program| program.name == *ours.name())
                .map(|program| program.verified_insns)
                .collect();
            assert!(
                !steps.is_empty() && steps.iter().all(|steps| (1..STEPS).contains(steps)),
                "{ours:?}: {steps:?}"
            );
        }
    }
}
