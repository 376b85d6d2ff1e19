//! Components of WebAssembly as control applications, for every command that brings a network up or simulates it.

use plait_control_component::{Limits, Loader};
use plait_control_runtime::{Application, Manifest};
use std::sync::Arc;

/// Makes an application of a component's bytes, or says why not.
pub fn load(manifest: &Manifest, component: &[u8]) -> Result<Arc<dyn Application>, String> {
    if !component.starts_with(b"\0asm") {
        return Err(format!("{}: it is no component: no WebAssembly", manifest.name));
    }
    let loader = Loader::new(Limits::default()).map_err(|fault| fault.to_string())?;
    loader.load(manifest, component).map_err(|fault| format!("{}: {fault}", manifest.name))
}
