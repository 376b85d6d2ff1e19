//! From an application of a state to one that runs.

use crate::plan::Deciding;
use plait_control_routing::native_application;
use plait_control_runtime::{Application, Manifest};
use std::sync::{Arc, OnceLock};

/// Makes an application of a component's bytes, or says why not.
pub type LoadComponent = fn(&Manifest, &[u8]) -> Result<Arc<dyn Application>, String>;

/// Choice: a compiler of WebAssembly is larger than all of this room, and few programs need it. Who links one says so once,
/// before anything else; supervisors, which are forked, have it from there.
static LOADER: OnceLock<LoadComponent> = OnceLock::new();

/// Says how components become applications, once for the whole process. Without it those that are compiled in are all
/// that there are.
pub fn set_component_loader(load: LoadComponent) {
    // The first one counts.
    let _ = LOADER.set(load);
}

/// An application as it is run, with its manifest.
///
/// # Errors
/// Why it is none.
pub fn loaded(deciding: &Deciding) -> Result<(Manifest, Arc<dyn Application>), String> {
    let Deciding { manifest, component } = deciding;
    let Some(component) = component else {
        let unknown = || format!("no control application is called `{}`", manifest.name);
        return native_application(manifest.name.as_str()).ok_or_else(unknown);
    };
    let load = LOADER.get().ok_or("this program loads no components: use the command `plait`")?;
    load(manifest, component).map(|application| (manifest.clone(), application))
}
