//! How applications travel, and who fills their tables.

use super::journal::Line;
use super::{Agent, AgentError, now};
use crate::Encapsulation;
use crate::config::{ApplicationConfig, Control, Evpn};
use crate::protocol::{Reply, Request};
use plait_model_overlay::{Application, Event};
use std::net::IpAddr;

impl Agent {
    /// Says how an application's packets travel.
    pub(super) fn set_application(
        &mut self,
        application: Application,
        config: ApplicationConfig,
    ) -> Result<Reply, AgentError> {
        config.check()?;
        let own = self.overlay.tables(application).map(|tables| &tables.locators);
        self.check_shared(application, &config, own.into_iter().flat_map(|own| own.keys().copied()))?;
        if let Some(evpn) = self.config.evpn.get(&application) {
            evpn.check(&config)?;
        }
        for device in self.config.devices.iter().filter(|device| device.application == application) {
            config.check_vni(device.vni)?;
        }
        let carries = self.config.applications.get(&application).map(|before| before.carries);
        if carries.is_some_and(|carries| carries != config.carries)
            && let Some(live) = self.devices.values().find(|live| live.config.application == application)
        {
            return Err(AgentError::InUse(live.config.name.clone()));
        }
        let before = self.config.applications.get(&application);
        if before == Some(&config) {
            return Ok(Reply::done(false));
        }
        self.compiler.set_kind(application, config.kind());
        let group_changed = before.is_none_or(|before| before.group != config.group);
        let line = Line::Request(Request::SetApplication { application, config: config.clone() });
        self.config.applications.insert(application, config);
        self.start_segmenter();
        let noted = self.note(&line);
        self.follow(vec![Event::Own { application }])?;
        noted?;
        if group_changed && let Some(control) = self.config.controls.get(&application).cloned() {
            self.drive(application, None)?;
            self.drive(application, Some(&control))?;
        }
        Ok(Reply::done(true))
    }

    /// Looks whether another application takes at some locators what this one is to take there.
    pub(super) fn check_shared(
        &self,
        application: Application,
        config: &ApplicationConfig,
        locators: impl IntoIterator<Item = IpAddr>,
    ) -> Result<(), AgentError> {
        let others = self.config.applications.iter().filter(|(other, _)| **other != application);
        let taken: Vec<(Application, Encapsulation)> =
            others.filter_map(|(other, theirs)| Some((*other, config.takes_as(theirs)?))).collect();
        for locator in locators {
            let has_it = |other: Application| {
                self.overlay.tables(other).is_some_and(|tables| tables.locators.contains_key(&locator))
            };
            if let Some((other, encapsulation)) = taken.iter().copied().find(|(other, _)| has_it(*other)) {
                return Err(AgentError::Shared { other, encapsulation, locator });
            }
        }
        Ok(())
    }

    /// Starts, changes or ends a control plane.
    pub(super) fn drive(
        &mut self,
        application: Application,
        control: Option<&Control>,
    ) -> Result<(), AgentError> {
        let group = self.config.applications.get(&application).and_then(|config| config.group);
        let tables = self.overlay.tables(application).cloned().unwrap_or_default();
        self.members.set(application, control, group, &tables, now())?;
        self.listen();
        Ok(())
    }

    /// Has an existing control plane fill an application's tables, or no more.
    pub(super) fn set_evpn(
        &mut self,
        application: Application,
        evpn: Option<Evpn>,
    ) -> Result<Reply, AgentError> {
        if self.config.evpn.get(&application) == evpn.as_ref() {
            return Ok(Reply::done(false));
        }
        if let Some(evpn) = &evpn {
            let control = self.config.controls.get(&application);
            if control.is_some_and(|control| control.plane.plane().is_some()) {
                return Err(AgentError::Driven(application));
            }
            evpn.check(self.application(application)?)?;
        }
        self.drive_feed(application, evpn.as_ref())?;
        match evpn {
            Some(evpn) => self.config.evpn.insert(application, evpn),
            None => self.config.evpn.remove(&application),
        };
        // Stations are learned no more, or again.
        self.write_tenants()?;
        Ok(Reply::done(true))
    }
}
