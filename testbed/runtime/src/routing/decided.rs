//! What `control:` of a file means.

use super::loaded;
use crate::plan::{ControlState, Deciding, State};
use crate::section::{Control, ControlApplication};
use plait_control_routing::{Decider, Ground, NATIVE, native_application};
use plait_control_runtime::Manifest;
use plait_model_topology::address::Assignment;
use plait_model_topology::diagnostic::{Diagnostic, suggest};
use plait_model_topology::document::Span;
use plait_model_topology::network::{Network, Routing};
use plait_model_topology::section as decode_section;
use plait_model_topology::vocabulary::Role;
use std::collections::BTreeSet;

/// Reads a file beside the network file, or says why it cannot.
pub type Read<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// What is wrong with the section whatever its files hold.
pub(crate) fn check(control: &Control, network: &Network) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    let entry = network.sections.entries.iter().find(|entry| entry.key == "control");
    let section = entry.map_or(network.sections.span, |entry| entry.key_span);
    if control.0.is_empty() {
        let help = format!("name one, such as `{}`, or leave `control` out", NATIVE[0]);
        faults.push(Diagnostic::new(section, "`control` names no application").help(help));
    }
    if network.routing != Routing::None {
        let others = if network.routing == Routing::Static { "`routing: static`" } else { "`routing: frr`" };
        let text = format!("`control` and {others} would both decide routes");
        faults.push(Diagnostic::new(section, text).help("write `routing: none`, or leave `control` out"));
    }
    let mut names = BTreeSet::new();
    for application in &control.0 {
        let ControlApplication::Native(name) = application else { continue };
        if !NATIVE.contains(&name.value.as_str()) {
            let text = format!("no control application is called `{}`", name.value);
            let help = match name.value.ends_with(".wasm") {
                true => {
                    format!("of a component write `{{application: {}, manifest: manifest.json}}`", name.value)
                }
                false => suggest(&name.value, NATIVE),
            };
            faults.push(Diagnostic::new(name.span, text).help(help));
        } else if !names.insert(&name.value) {
            let text = format!("`{}` stands in `control` twice", name.value);
            faults.push(Diagnostic::new(name.span, text).help("each application runs once: remove one"));
        }
    }
    faults
}

/// The applications that decide a network's routes, in their order, with the bytes of components; none where the file says
/// nothing.
///
/// # Errors
/// Files that cannot be read or are no manifest or component, and applications that do not fit each other.
pub fn decided(network: &Network, read: Read<'_>) -> Result<Vec<Deciding>, Vec<Diagnostic>> {
    let written = decode_section::<Control>(&network.sections, "control").map_err(|fault| vec![fault])?;
    let Some(written) = written else { return Ok(Vec::new()) };
    let faults = check(&written, network);
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut all = Vec::new();
    let mut code = Vec::new();
    for application in &written.0 {
        let (deciding, span) = one(application, read).map_err(|fault| vec![*fault])?;
        code.push(loaded(&deciding).map_err(|why| vec![Diagnostic::new(span, why)])?);
        all.push(deciding);
    }
    // Whether they fit is nobody's affair but the runtime's; the ground has no part in it.
    if let Err(why) = Decider::new(Ground::default(), code, false) {
        let entry = network.sections.entries.iter().find(|entry| entry.key == "control");
        let span = entry.map_or(network.sections.span, |entry| entry.key_span);
        return Err(vec![Diagnostic::new(span, why.to_string())]);
    }
    Ok(all)
}

fn one(application: &ControlApplication, read: Read<'_>) -> Result<(Deciding, Span), Box<Diagnostic>> {
    let fault = |span: Span, text: String| Box::new(Diagnostic::new(span, text));
    match application {
        ControlApplication::Native(name) => {
            let (manifest, _) = native_application(&name.value).ok_or_else(|| {
                fault(name.span, format!("no control application is called `{}`", name.value))
            })?;
            Ok((Deciding { manifest, component: None }, name.span))
        }
        ControlApplication::Component(files) => {
            let [application, manifest] = [&files.application, &files.manifest];
            let text = read(&manifest.value).map_err(|why| {
                Box::new(Diagnostic::new(manifest.span, why).help("paths start beside this file"))
            })?;
            let manifest: Manifest = serde_json::from_slice(&text)
                .map_err(|why| fault(manifest.span, format!("{} is no manifest: {why}", manifest.value)))?;
            let component = read(&application.value).map_err(|why| {
                Box::new(Diagnostic::new(application.span, why).help("paths start beside this file"))
            })?;
            Ok((Deciding { manifest, component: Some(component) }, application.span))
        }
    }
}

/// Puts the applications that decide a network's routes into the state that realises it.
pub(crate) fn put_in(
    state: &mut State,
    network: &Network,
    assignment: &Assignment,
    applications: &[Deciding],
) -> Result<(), Vec<Diagnostic>> {
    let Some(entry) = network.sections.entries.iter().find(|entry| entry.key == "control") else {
        return Ok(());
    };
    if applications.is_empty() {
        let text = "the applications of `control` were not read";
        return Err(vec![Diagnostic::new(entry.key_span, text)]);
    }
    for node in state.nodes.values_mut().filter(|node| node.role != Role::Switch) {
        // What is decided for one direction need not be for the other, so that packets may come by any interface.
        for of in ["all", "default"] {
            node.sysctls.entry(format!("net.ipv4.conf.{of}.rp_filter")).or_insert("0".to_owned());
        }
    }
    let ground = Ground::of(network, assignment);
    state.control = Some(ControlState { applications: applications.to_vec(), ground });
    Ok(())
}
