//! Components that controllers run beside their own applications: from lists as written to what a controller is given.

use crate::kernel::files::Doing;
use crate::plan::{AddedComponent, Deciding};
use crate::routing::{Read, loaded};
use crate::section::{CONTROLLER, ControllerApplication, ControllerApplications};
use plait_control_runtime::{Dag, Manifest, Name, Trigger, ViewId};
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::document::Spanned;
use plait_model_topology::network::Network;
use plait_model_topology::section as decode_section;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

/// What the controllers of a network run beside their own applications, by the controllers' names.
///
/// # Errors
/// Files that cannot be read, or are no manifest, component or DAG.
pub fn controller_applications(
    network: &Network,
    read: Read<'_>,
) -> Result<BTreeMap<String, Vec<AddedComponent>>, Vec<Diagnostic>> {
    let mut all = BTreeMap::new();
    for node in network.nodes.iter().filter(|node| node.kind == CONTROLLER) {
        let written =
            decode_section::<ControllerApplications>(&node.extra, KEY).map_err(|fault| vec![fault])?;
        let Some(written) = written else { continue };
        let added = components(&written, read)?;
        for (one, files) in added.iter().zip(&written.0) {
            let alone = Deciding { manifest: one.manifest.clone(), component: Some(one.component.clone()) };
            loaded(&alone).map_err(|why| vec![Diagnostic::new(files.application.span, why)])?;
        }
        all.insert(node.name.clone(), added);
    }
    Ok(all)
}

/// The key of a controller in a network file.
pub(super) const KEY: &str = "applications";

/// The components of a list, with their bytes, in their order.
///
/// # Errors
/// Files that cannot be read, or are no manifest or DAG.
pub fn components(
    written: &ControllerApplications,
    read: Read<'_>,
) -> Result<Vec<AddedComponent>, Vec<Diagnostic>> {
    if let Some(beyond) = written.0.get(MOST) {
        let fault =
            Diagnostic::new(beyond.application.span, format!("a controller has at most {MOST} components"))
                .help("leave some out, or add them by `plait control add` while it runs");
        return Err(vec![fault]);
    }
    let mut all: Vec<AddedComponent> = Vec::new();
    for application in &written.0 {
        let added = component(application, read).map_err(|fault| vec![*fault])?;
        let twice = |span, name: &Name| {
            vec![
                Diagnostic::new(span, format!("`{name}` stands there twice"))
                    .help("remove one, or give it another name"),
            ]
        };
        if all.iter().any(|other| other.manifest.name == added.manifest.name) {
            return Err(twice(application.manifest.span, &added.manifest.name));
        }
        let mut dags = all.iter().flat_map(|other| &other.dags).chain(&added.dags).map(|dag| &dag.name);
        let mut known = BTreeSet::new();
        if let Some(name) = dags.find(|name| !known.insert(*name)) {
            let span = application.dags.first().map_or(application.manifest.span, |path| path.span);
            return Err(twice(span, name));
        }
        all.push(added);
    }
    Ok(all)
}

/// Choice: each is compiled before the controller listens, a fraction of a second long.
const MOST: usize = 256;

fn component(written: &ControllerApplication, read: Read<'_>) -> Result<AddedComponent, Box<Diagnostic>> {
    let manifest: Manifest = parsed(&written.manifest, "manifest", read)?;
    let component = bytes(&written.application, read)?;
    let allow = written.allow.iter().map(word::<Name>).collect::<Result<_, _>>()?;
    let mut dags: Vec<Dag> =
        written.dags.iter().map(|path| parsed(path, "DAG", read)).collect::<Result<_, _>>()?;
    let mut triggers = Vec::new();
    for view in &written.on {
        triggers.push(Trigger::View(word::<ViewId>(view)?));
    }
    triggers.extend(written.every.iter().map(|time| Trigger::Every(Duration::from(time.value))));
    match (written.dags.first(), triggers.is_empty()) {
        (Some(dag), false) => {
            let what = format!("`on` and `every` make a DAG of {}, and `dags` has others", manifest.name);
            return Err(Box::new(
                Diagnostic::new(dag.span, what).help("write what sets it off into the DAG"),
            ));
        }
        (_, false) => dags.push(Dag::contained(&manifest.name, triggers)),
        _ => {}
    }
    Ok(AddedComponent { manifest, component, dags, allow, fuel: written.fuel.map(NonZeroU64::get) })
}

fn bytes(path: &Spanned<String>, read: Read<'_>) -> Result<Vec<u8>, Box<Diagnostic>> {
    read(&path.value)
        .map_err(|why| Box::new(Diagnostic::new(path.span, why).help("paths start beside this file")))
}

fn parsed<T: DeserializeOwned>(
    path: &Spanned<String>,
    what: &str,
    read: Read<'_>,
) -> Result<T, Box<Diagnostic>> {
    serde_json::from_slice(&bytes(path, read)?)
        .map_err(|why| Box::new(Diagnostic::new(path.span, format!("{} is no {what}: {why}", path.value))))
}

fn word<T: FromStr<Err: Display>>(text: &Spanned<String>) -> Result<T, Box<Diagnostic>> {
    text.value.parse().map_err(|why| Box::new(Diagnostic::new(text.span, format!("{why}"))))
}

/// The list that [`write`] writes, in its folder.
pub(super) const LIST: &str = "applications.json";

/// Writes components into a folder of their own, anew, with a list of them as [`ControllerApplications`] has it.
pub(super) fn write(components: &[AddedComponent], folder: &Path) -> io::Result<()> {
    let doing = || format!("write applications into {}", folder.display());
    match fs::remove_dir_all(folder) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why).doing(doing),
        _ => fs::create_dir_all(folder).doing(doing)?,
    }
    let mut list = Vec::new();
    for (number, added) in components.iter().enumerate() {
        let put =
            |name: String, bytes: &[u8]| fs::write(folder.join(&name), bytes).doing(doing).map(|()| name);
        let application = put(format!("{number}.wasm"), &added.component)?;
        let manifest = put(format!("{number}.json"), &serde_json::to_vec(&added.manifest)?)?;
        let dag =
            |(place, dag): (usize, &Dag)| put(format!("{number}-dag{place}.json"), &serde_json::to_vec(dag)?);
        let dags = added.dags.iter().enumerate().map(dag).collect::<io::Result<Vec<String>>>()?;
        let mut item =
            json!({"application": application, "manifest": manifest, "dags": dags, "allow": added.allow});
        if let Some(fuel) = added.fuel {
            item["fuel"] = fuel.into();
        }
        list.push(item);
    }
    fs::write(folder.join(LIST), serde_json::to_vec(&list)?).doing(doing)
}
