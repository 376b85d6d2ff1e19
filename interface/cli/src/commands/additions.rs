//! Components that join a controller's applications: one that is typed, or a list in a file.
//!
//! ```yaml
//! - {application: quarantine.wasm, manifest: quarantine.json, on: [banned@1], allow: [access-list]}
//! ```

use crate::output::Failure;
use plait::{read_bytes, read_text};
use plait_control_openflow::PacketIns;
use plait_control_runtime::{Dag, View};
use plait_interface_daemon::Component;
use plait_model_topology::diagnostic::Report;
use plait_model_topology::document::{Source, decode, parse};
use plait_testbed_runtime::openflow::components;
use plait_testbed_runtime::plan::AddedComponent;
use plait_testbed_runtime::section::ControllerApplications;
use std::path::Path;

/// What a run may take that packets wait for, where nobody says. Choice: a fraction of a second, for which a worker answers no
/// switch.
const FUEL_OF_PACKETS: u64 = 200_000_000;

/// The components of a list in a file, in their order.
///
/// # Errors
/// What is wrong with it or with a file that it names, by its line.
pub fn listed(list: &Path) -> Result<Vec<AddedComponent>, Failure> {
    let source = Source::new(list.display().to_string(), read_text(list)?);
    let document = parse(&source)?;
    let written: ControllerApplications =
        decode(&document).map_err(|fault| Report::new(source.clone(), vec![fault]))?;
    let folder = list.parent().unwrap_or(Path::new(""));
    let read = |name: &str| {
        let path = folder.join(name);
        read_bytes(&path).map_err(|why| format!("cannot read {}: {why}", path.display()))
    };
    Ok(components(&written, &read).map_err(|faults| Report::new(source, faults))?)
}

/// A component as a controller takes it, and the DAGs that run it.
pub fn bounded(added: AddedComponent) -> (Component, Vec<Dag>) {
    let AddedComponent { mut manifest, component, dags, allow, fuel } = added;
    let packets_wait = manifest.inputs.iter().any(|input| input.view == PacketIns::id());
    let fuel = fuel.or_else(|| packets_wait.then_some(FUEL_OF_PACKETS));
    manifest.fuel = [manifest.fuel, fuel].into_iter().flatten().min();
    (Component { manifest, component, allow }, dags)
}
