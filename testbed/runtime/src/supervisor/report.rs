//! What a testbed says of itself.

use super::Supervisor;
use crate::control::{LinkReport, NodeReport, Report};
use crate::openflow;

impl Supervisor {
    /// Its nodes and links, and how it is.
    pub(super) fn report(&self) -> Report {
        // A build may take long, and whoever asks meanwhile hears what it will be.
        let builder = match self.status() {
            "starting" => self.builder.try_lock().ok(),
            _ => Some(self.builder()),
        };
        let state = builder.as_ref().map_or(&self.options.desired, |builder| &builder.state);
        let failures = self.failures();
        let nodes = state.nodes.iter().filter(|(_, node)| !node.hidden).map(|(name, node)| NodeReport {
            name: name.clone(),
            kind: node.kind.clone(),
            interfaces: node
                .interfaces
                .iter()
                .map(|(name, interface)| (name.clone(), interface.addresses.clone()))
                .chain(
                    node.overlays
                        .values()
                        .flat_map(|overlay| &overlay.devices)
                        .map(|device| (device.config.name.clone(), device.addresses.clone())),
                )
                .collect(),
            routes: node.routes.len()
                + builder.as_ref().map_or(0, |builder| builder.decided_routes(name).count()),
            daemons: node
                .frr
                .iter()
                .flat_map(|frr| frr.daemons.clone())
                .chain(node.openflow.iter().flat_map(openflow::daemons).map(|daemon| (*daemon).to_owned()))
                .chain((!node.overlays.is_empty()).then(|| "overlay".to_owned()))
                .chain(node.paths.is_some().then(|| "paths".to_owned()))
                .collect(),
            limits: node.limits,
        });
        let links =
            state.links.iter().map(|(name, link)| LinkReport::new(name, link, failures.down(name, link)));
        Report {
            name: self.options.name.clone(),
            file: self.options.file.clone(),
            pid: self.birth_pid,
            status: self.status().to_owned(),
            uptime_s: self.started.elapsed().as_secs_f64(),
            version: self.options.version.clone(),
            live: self.options.live,
            accuracy_class: builder
                .as_ref()
                .and_then(|builder| builder.engine())
                .and_then(|engine| Some(format!("{:?}", engine.report().ok()?.class))),
            nodes: nodes.collect(),
            links: links.collect(),
        }
    }
}
