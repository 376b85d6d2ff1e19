//! Tenants with their devices, and the programs on those.

use super::error::doing;
use super::{Agent, AgentError, devices, now};
use crate::compile::Full;
use crate::config::{ApplicationConfig, BadConfig, DeviceConfig, Miss};
use crate::protocol::Reply;
use plait_control_overlay::evpn;
use plait_dataplane_bpf::{Attachment, Program, Programs};
use plait_dataplane_reference::tables::{Tenant, VniKey, WayOut, driver, size};
use plait_model_overlay::Application;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// A device of the agent's.
pub(super) struct Live {
    pub(super) config: DeviceConfig,
    pub(super) tenant: u32,
    pub(super) interface: u32,
    pub(super) mtu: u32,
    /// What stands in the table of tenants.
    pub(super) written: Option<Tenant>,
    /// The program that is on it lives in these.
    pub(super) _programs: Programs,
    pub(super) attachment: Attachment,
}

impl Agent {
    pub(super) fn application(&self, application: Application) -> Result<&ApplicationConfig, AgentError> {
        self.config.applications.get(&application).ok_or(AgentError::NoApplication(application))
    }

    /// What stands in the table of tenants for a device.
    pub(super) fn tenant(&self, device: &DeviceConfig, interface: u32) -> Result<Tenant, AgentError> {
        let DeviceConfig { application, vni, in_place, .. } = *device;
        let config = self.application(application)?;
        let is_fed = self.config.evpn.contains_key(&application);
        let group = if is_fed { Some(evpn::group_of(vni)) } else { config.group };
        let unknown = group
            .filter(|_| config.floods())
            .and_then(|group| Some((group.0, self.compiler.path(application, group)?)));
        let link = self.underlay.links.get(&interface);
        let address = link.map_or([0; 6], |link| link.address);
        let tenant = device.tenant(config.carries, interface, address, unknown);
        Ok(Tenant {
            // Where a feed says where stations are, what is heard teaches nothing, as bits do not.
            driver: if is_fed { driver::BITS } else { tenant.driver },
            // What a port takes in is its bridge's or its VRF's, and not the host's.
            in_place: (in_place && link.is_none_or(|link| link.master.is_none())).into(),
            way_out: if config.miss == Miss::Kernel { self.way_out.map_or(0, |(slot, _)| slot) } else { 0 },
            ..tenant
        })
    }

    /// Writes what changed of tenants, and of their devices' MTU; of all, also where one cannot be.
    pub(super) fn write_tenants(&mut self) -> Result<(), AgentError> {
        let former = self.find_way_out()?;
        let names: Vec<String> = self.devices.keys().cloned().collect();
        let mut all = Ok(());
        for name in names {
            all = all.and(self.write_tenant(&name));
        }
        // Where one could not be written, it may still point there.
        if all.is_ok() {
            former.into_iter().for_each(|slot| self.ways_out.give(slot, now()));
        }
        all
    }

    /// Where packets leave that nobody knows, if any may. Gives the slot of what was so before, to which tenants still point.
    fn find_way_out(&mut self) -> Result<Option<u32>, AgentError> {
        if self.config.applications.values().all(|config| config.miss != Miss::Kernel) {
            return Ok(None);
        }
        let (interfaces, gateway) = self.underlay.ways_out(&self.below());
        let way = WayOut { interfaces, gateway: gateway.map_or([0; 16], |gateway| gateway.octets()) };
        if self.way_out.is_some_and(|(_, known)| known == way) {
            return Ok(None);
        }
        let taken = self.ways_out.take(now()).map_err(|full| self.look_at(Err(full)));
        let slot = match taken {
            Ok(slot) => slot,
            // It stays as it was for a moment.
            Err(Ok(())) => return Ok(None),
            Err(Err(full)) => return Err(full.into()),
        };
        if let Err(error) = self.tables.set_way_out(slot, &way) {
            self.ways_out.give(slot, now());
            return Err(error.into());
        }
        Ok(self.way_out.replace((slot, way)).map(|(slot, _)| slot))
    }

    fn write_tenant(&mut self, name: &str) -> Result<(), AgentError> {
        let live = &self.devices[name];
        let tenant = self.tenant(&live.config, live.interface)?;
        let mtu = self.mtu(&live.config)?;
        if live.written != Some(tenant) {
            self.tables.set_tenant(live.tenant, &tenant)?;
        }
        let had = live.mtu;
        let live = self.devices.get_mut(name).expect("looked up above");
        // Noted before it is tried: what the kernel refuses once, it refuses each time.
        (live.written, live.mtu) = (Some(tenant), mtu);
        if had == mtu {
            return Ok(());
        }
        match devices::set_mtu(&self.underlay.netlink, name, mtu) {
            // Another tool took it away; what is left of it goes with its name.
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(()),
            set => set.map_err(doing(format!("the MTU of {name}"))),
        }
    }

    /// The largest packet of a device.
    pub(super) fn mtu(&self, config: &DeviceConfig) -> Result<u32, AgentError> {
        /// Before any next hop is known: what IPv6 needs at least.
        const UNKNOWN: u32 = 1280;
        let frames = self.application(config.application)?.carries.are_frames();
        let header = if frames { plait_model_wire::ethernet::Header::LENGTH as u32 } else { 0 };
        let room = self.compiler.room(config.application).map(|room| room.saturating_sub(header));
        Ok(config.mtu.unwrap_or(room.unwrap_or(UNKNOWN)).max(576))
    }

    /// Adds a device, takes over that of a former life, or changes one.
    pub(super) fn set_device(&mut self, config: &DeviceConfig) -> Result<(), AgentError> {
        config.check()?;
        let application = self.application(config.application)?;
        application.check_vni(config.vni)?;
        let carries = application.carries;
        if config.bits.is_some() && !carries.are_found_by_bits() {
            return Err(BadConfig::NoBits.into());
        }
        if config.in_place {
            self.check_reverse_paths()?;
        }
        let other = self.devices.values().find(|live| {
            live.config.name != config.name
                && (live.config.application, live.config.vni) == (config.application, config.vni)
        });
        if let Some(other) = other {
            return Err(AgentError::TenantTaken(other.config.name.clone()));
        }
        let mtu = self.mtu(config)?;
        if let Some(live) = self.devices.get_mut(&config.name) {
            let is = |of: &DeviceConfig| (of.application, of.vni, of.prefix, of.bits);
            if is(&live.config) != is(config) {
                return Err(AgentError::OtherDevice(config.name.clone()));
            }
            live.config = config.clone();
            return self.write_tenants();
        }
        let path = self.places.transmitter(&config.name);
        let is_new = match devices::create(&self.underlay.netlink, &config.name, mtu, carries) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // One that a former life made has its program on it.
                let index = self.underlay.index(&config.name);
                if index.is_none_or(|index| !Attachment::is_kept_on(Program::Transmit, index, &path)) {
                    return Err(AgentError::Foreign(config.name.clone()));
                }
                false
            }
            Err(error) => return Err(AgentError::Kernel(format!("device {}", config.name), error)),
        };
        self.starting = Some(config.name.clone());
        let made = self.start_device(config, &path);
        self.starting = None;
        if made.is_err() {
            let key = VniKey { application: config.application.0.into(), vni: config.vni };
            let _ = self.tables.set_vni(&key, None);
            if is_new {
                let _ = devices::remove(&self.underlay.netlink, &config.name);
            }
        }
        made
    }

    /// Whether the underlay's devices take in what is answered by another one.
    fn check_reverse_paths(&self) -> Result<(), AgentError> {
        /// As `rp_filter` says it: RFC 3704 section 2.2, of which a device and all of them may each be told.
        const STRICT: u8 = 1;
        let said = |of: &str| -> Option<u8> {
            let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/conf/{of}/rp_filter")).ok()?;
            text.trim().parse().ok()
        };
        // What was cut comes up by its own device, wherever others are taken in.
        let below = self.below().into_iter().filter_map(|index| self.underlay.links.get(&index));
        let below = below.filter(|link| !self.is_segmenter(&link.name));
        // The larger of both numbers counts.
        let strict = below.map(|link| &link.name).find(|name| said("all").max(said(name)) == Some(STRICT));
        strict.map_or(Ok(()), |name| Err(AgentError::StrictReversePath(name.clone())))
    }

    /// Puts a program on a device that is there.
    pub(super) fn start_device(&mut self, config: &DeviceConfig, path: &Path) -> Result<(), AgentError> {
        self.hear()?;
        let Some(interface) = self.underlay.index(&config.name) else {
            let what = format!("device {}", config.name);
            return Err(AgentError::Kernel(what, io::ErrorKind::NotFound.into()));
        };
        let mtu = self.underlay.links[&interface].mtu;
        let taken: BTreeSet<u32> = self.devices.values().map(|live| live.tenant).collect();
        let tenant = (1..size::TENANTS).find(|number| !taken.contains(number)).ok_or(Full {
            table: "tenants",
            size: size::TENANTS,
            is_busy: false,
        })?;
        let device = config.device(self.application(config.application)?.carries, tenant);
        let programs = self.tables.programs.share(&device)?;
        // Its tables are whole before its program reads them.
        self.write_tenants()?;
        let key = VniKey { application: config.application.0.into(), vni: config.vni };
        let written = self.tenant(config, interface)?;
        // What was counted by that number was another device's.
        self.tables.programs.forget_tenant_count(tenant)?;
        self.tables.set_tenant(tenant, &written)?;
        self.tables.set_vni(&key, Some(tenant))?;
        if let Err(error) = self.place_waiting(config, tenant) {
            tracing::warn!(device = config.name, %error, "not all identifiers that were said are known");
        }
        self.inherit(config, tenant);
        let live = Live {
            config: config.clone(),
            tenant,
            interface,
            mtu,
            written: Some(written),
            attachment: programs.succeed(Program::Transmit, interface, path)?,
            _programs: programs,
        };
        self.devices.insert(config.name.clone(), live);
        self.write_tenants()
    }

    pub(super) fn remove_device(&mut self, name: &str) -> Result<Reply, AgentError> {
        if !self.devices.contains_key(name) {
            return Err(AgentError::NoDevice(name.to_owned()));
        }
        self.forget_device(name)?;
        self.config.devices.retain(|known| known.name != name);
        self.identifiers.forget(name);
        Ok(Reply::done(true))
    }

    /// Takes a device away, with what the tables know of it.
    pub(super) fn forget_device(&mut self, name: &str) -> Result<(), AgentError> {
        let Some(live) = self.devices.remove(name) else { return Ok(()) };
        let key = VniKey { application: live.config.application.0.into(), vni: live.config.vni };
        self.tables.set_vni(&key, None)?;
        for key in self.tables.fib.keys().collect::<Vec<_>>() {
            if key.tenant == live.tenant {
                self.tables.remove_entry(&key)?;
            }
        }
        live.attachment.remove(&self.places.transmitter(name))?;
        match devices::remove(&self.underlay.netlink, name) {
            // Somebody took it away already.
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(()),
            removed => removed.map_err(doing(format!("device {name}"))),
        }
    }
}
