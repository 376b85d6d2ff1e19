//! Hosts that learn which paths there are: iplbd, once for all hosts behind a switch.

use super::KnownRoutes;
use ipnet::IpNet;
use plait_control_paths::{DaemonConfig, Iplbd, Method, Settings, Survey};
use plait_dataplane_paths::Encapsulation;
use plait_dataplane_paths::protocol::{Policies, Policy, Static};
use plait_model_topology::network::NodeIndex as Place;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

/// Who learns which paths there are, and what is done with them.
#[derive(Debug, Clone)]
pub struct LearningSpec {
    /// Hosts, by their places.
    pub hosts: BTreeSet<Place>,
    /// What is planned.
    pub settings: Settings,
    /// Whether relays are found by what switches are known to do, whatever the settings' method: by [`KnownRoutes`].
    pub knows_routes: bool,
    /// What stands between headers.
    pub encapsulation: Encapsulation,
    /// Which list a flow goes by.
    pub policy: Policy,
    /// Which it is instead, said of hosts by prefix.
    pub policies: BTreeMap<Place, Policies>,
}

pub(crate) struct Learning {
    spec: LearningSpec,
    /// The switch that each host was behind last.
    behind: BTreeMap<Place, Ipv4Addr>,
    daemons: BTreeMap<Ipv4Addr, Iplbd>,
    /// Whether a host has come behind another switch.
    is_moved: bool,
}

impl Learning {
    pub fn new(spec: LearningSpec) -> Self {
        Self { spec, behind: BTreeMap::new(), daemons: BTreeMap::new(), is_moved: false }
    }

    /// Whether who learns must [be told](Self::be_told) of routes, and what stands between headers.
    pub fn knows_routes(&self) -> Option<Encapsulation> {
        self.spec.knows_routes.then_some(self.spec.encapsulation)
    }

    /// Switches do that from now on: all is planned anew with the fabric that is [heard](Self::hear) of next.
    pub fn be_told(&mut self, routes: KnownRoutes) {
        self.spec.settings.method = Method::Known(Arc::new(routes));
        self.daemons.clear();
    }

    /// The fabric is this one. A host that is behind no switch now goes on as it did.
    pub fn hear(&mut self, survey: &Survey, now: Duration) {
        let Self { spec, behind, daemons, is_moved } = self;
        for host in &spec.hosts {
            let Some(access) = survey.access(*host) else { continue };
            *is_moved |= behind.insert(*host, access) != Some(access);
        }
        for access in behind.values() {
            daemons.entry(*access).or_insert_with(|| {
                let mut daemon =
                    Iplbd::new(spec.settings.clone(), DaemonConfig::PAUSE, false).settling(Iplbd::SETTLING);
                daemon.handle_access(*access, now);
                daemon
            });
        }
        daemons.values_mut().for_each(|daemon| daemon.handle_fabric(survey.fabric.clone(), now));
    }

    /// When [`run`](Self::run) has something to do.
    pub fn timeout(&self) -> Option<Duration> {
        self.daemons.values().filter_map(Iplbd::poll_timeout).min()
    }

    /// Lets time pass. Whether any host is to go by other lists.
    pub fn run(&mut self, now: Duration) -> bool {
        let mut is_changed = std::mem::take(&mut self.is_moved);
        for daemon in self.daemons.values_mut() {
            if daemon.poll_timeout().is_some_and(|due| due <= now) {
                daemon.handle_timeout(now);
            }
            while daemon.poll_operation().is_some() {
                is_changed = true;
            }
        }
        is_changed
    }

    /// Why lists stayed as they were.
    pub fn failures(&mut self) -> impl Iterator<Item = String> + '_ {
        self.daemons
            .values_mut()
            .flat_map(|daemon| std::iter::from_fn(|| daemon.poll_failure()).map(|why| why.to_string()))
    }

    /// Hosts that learn.
    pub fn hosts(&self) -> &BTreeSet<Place> {
        &self.spec.hosts
    }

    /// The switch that a host is behind.
    pub fn access(&self, host: Place) -> Option<Ipv4Addr> {
        self.behind.get(&host).copied()
    }

    /// By which policies a host's flows go, where that is said by prefix.
    pub fn policies(&self, host: Place) -> Option<&Policies> {
        self.spec.policies.get(&host)
    }

    /// What hosts behind a switch know, by these policies where they say another one.
    pub fn learnt(&self, access: Ipv4Addr, policies: Option<&Policies>) -> BTreeMap<IpNet, Static> {
        let LearningSpec { encapsulation, policy, .. } = self.spec;
        let Some(daemon) = self.daemons.get(&access) else { return BTreeMap::new() };
        let said = |(prefix, lists): (&IpNet, &[plait_control_paths::RelayList])| {
            let lists = lists.iter().map(|list| (list.clone(), 1)).collect();
            let said = policies.and_then(|policies| policies.of(*prefix));
            (*prefix, Static { lists, encapsulation, policy: said.unwrap_or(policy) })
        };
        daemon.in_force().sets().map(said).collect()
    }
}
