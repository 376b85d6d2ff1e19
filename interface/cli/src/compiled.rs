//! The controller's applications that are compiled in, as a controller has them: the same again makes the same ones.

use crate::component;
use plait_control_forwarding::{LearningSwitch, Routing, Set, learning_switch, routing};
use plait_control_openflow::Mark;
use plait_control_runtime::{Application, Manifest, Name};
use plait_interface_daemon::{Source, recording::Track};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// What they are called.
pub const NAMES: [&str; 2] = ["learning-switch", "routing"];

/// What they are told.
#[derive(Clone, Serialize, Deserialize)]
pub struct Compiled {
    /// Which of them the controller began with.
    pub app: String,
    /// Seconds without a packet after which a flow goes.
    pub idle_timeout: u16,
    /// For how long routing keeps a switch that is not connected.
    pub away: Duration,
    /// For how long routing's packets wait for barriers, if they do.
    pub barriers: Option<Duration>,
    /// Batches that are worked on at once.
    pub instances: usize,
    /// What authenticates probes of links.
    pub key: [u8; 32],
    /// Who the controller is, by which its flows are told from others'.
    #[serde(default)]
    pub controller: String,
}

impl Compiled {
    /// One of them.
    pub fn set(&self, name: &str) -> Option<Set> {
        let (idle_timeout, instances, mark) = (self.idle_timeout, self.instances, self.mark());
        match name {
            "learning-switch" => Some(learning_switch(&LearningSwitch {
                idle_timeout,
                instances,
                mark,
                ..LearningSwitch::default()
            })),
            "routing" => {
                let barriers = self.barriers;
                let mut config =
                    Routing { idle_timeout, instances, barriers, mark, ..Routing::new(self.key) };
                config.discovery.away = self.away;
                Some(routing(&config))
            }
            _ => None,
        }
    }

    /// What flows of the controller's own have.
    pub fn mark(&self) -> Mark {
        Mark::of(&self.controller)
    }

    /// The code of an application of one of them.
    pub fn application(&self, set: &str, name: &Name) -> Option<Arc<dyn Application>> {
        let all = self.set(set)?.applications.into_iter();
        all.filter(|(manifest, _)| manifest.name == *name).map(|(_, application)| application).next()
    }
}

/// Where a controller's applications come from: these and components, whose code goes into the recording, if there is one.
pub struct Applications {
    pub compiled: Compiled,
    pub track: Option<Track>,
}

impl Source for Applications {
    fn sets(&self) -> Vec<(&'static str, Set)> {
        NAMES.into_iter().filter_map(|name| Some((name, self.compiled.set(name)?))).collect()
    }

    fn adding(&self, set: &str) {
        if let Some(track) = &self.track {
            track.set(set);
        }
    }

    fn component(&self, manifest: &Manifest, bytes: &[u8]) -> Result<Arc<dyn Application>, String> {
        let application = component::load(manifest, bytes)?;
        if let Some(track) = &self.track {
            track.code(&manifest.name, bytes);
        }
        Ok(application)
    }
}
