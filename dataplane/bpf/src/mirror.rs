//! Where packets end that are measured, and what the relay in a driver is measured beside: in the kernel's test-run with live
//! frames, which go out by a device.

use crate::attachment::{Attachment, put_first};
use crate::clsact::Side;
use crate::object;
use crate::programs::{Error, Program, Programs, Ran, xdp_verdict};
use crate::table::names;
use libbpf_rs::{Object, ProgramInput, ProgramMut};
use libbpf_sys::{BPF_F_TEST_XDP_LIVE_FRAMES, xdp_md};
use plait_dataplane_reference::tables::{Sighting, size};
use std::time::Duration;

/// The compiled programs.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/mirror.bpf.o"));

/// Bytes of a packet that a relay writes: Ethernet, IPv4, UDP and ovstack.
pub const RELAYED: usize = size::RELAYED as usize;

const NOTHING: Sighting = Sighting { first: 0, last: 0, packets: 0 };

/// Programs for measurements: one sends a packet back by the device that it came by, one takes what comes, puts it as it was,
/// and lets go of it, both by XDP; of packets that a device has made, one lets go, one notes when they came, and one forwards them to another device.
pub struct Mirror {
    object: Object,
}

impl Mirror {
    /// Loads them, for packets that begin with these bytes.
    ///
    /// # Errors
    /// The kernel refuses: no permission, or too old.
    pub fn load(original: &[u8; RELAYED]) -> Result<Self, Error> {
        Ok(Self { object: object::open(OBJECT, "mirror", "original", original)?.load()? })
    }

    /// Sends a packet back, by no device.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn reflect(&self, packet: &[u8]) -> Result<Ran, Error> {
        object::run(&object::program(&self.object, "reflect")?, packet, xdp_verdict)
    }

    /// Puts a packet as it was, by no device.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn restore(&self, packet: &[u8]) -> Result<Ran, Error> {
        object::run(&object::program(&self.object, "restore")?, packet, xdp_verdict)
    }

    /// How long a packet takes that came by a device and is sent back by it, on the average of so many.
    ///
    /// # Errors
    /// The kernel has no live frames (before 5.18); no such device.
    pub fn reflect_live(&self, packet: &[u8], interface: u32, times: u32) -> Result<Duration, Error> {
        live(&object::program(&self.object, "reflect")?, packet, interface, times)
    }

    /// Has a device take what comes, put it as it was, and let go of it.
    ///
    /// # Errors
    /// No such device; a driver without XDP of its own.
    pub fn restore_on(&self, interface: u32) -> Result<Attachment, Error> {
        Attachment::in_driver(&object::program(&self.object, "restore")?, interface)
    }

    /// Has packets end that come in by a device, before all that is there sees them.
    ///
    /// # Errors
    /// No such device; the kernel's refusal.
    pub fn swallow_on(&self, interface: u32) -> Result<Attachment, Error> {
        put_first(&object::program(&self.object, "swallow")?, Side::Incoming, interface)
    }

    /// Has packets that come in by a device leave by another one, before all that is there sees them.
    ///
    /// # Errors
    /// No such device; the kernel's refusal.
    pub fn forward_on(&self, interface: u32, to: u32) -> Result<Attachment, Error> {
        object::table(&self.object, &names::FORWARDED_TO)?.set(&0, &to.into())?;
        put_first(&object::program(&self.object, "forward")?, Side::Incoming, interface)
    }

    /// Forwards a packet to a device, by none that it came by.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn forward(&self, packet: &[u8], to: u32) -> Result<Ran, Error> {
        object::table(&self.object, &names::FORWARDED_TO)?.set(&0, &to.into())?;
        object::run(&object::program(&self.object, "forward")?, packet, object::verdict)
    }

    /// How many were let go of there.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn swallowed(&self) -> Result<u64, Error> {
        Ok(object::table(&self.object, &names::SWALLOWED)?.get(&0)?.unwrap_or_default())
    }

    /// Has packets of UDP in IPv4 end that come in by a device, and notes when they do.
    ///
    /// # Errors
    /// No such device; the kernel's refusal.
    pub fn sight_on(&self, interface: u32) -> Result<Attachment, Error> {
        put_first(&object::program(&self.object, "sight")?, Side::Incoming, interface)
    }

    /// Notes a packet, by no device.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn sight(&self, packet: &[u8]) -> Result<Ran, Error> {
        object::run(&object::program(&self.object, "sight")?, packet, object::verdict)
    }

    /// What was noted of packets since they were forgotten: of those for the UDP port of the original, and of all others. Of
    /// each those for an address whose last five bytes are one even number, for one whose are one odd number, and for any
    /// other.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn sightings(&self) -> Result<[[Sighting; 3]; 2], Error> {
        let table = object::table(&self.object, &names::SIGHTINGS)?;
        let mut all = [[NOTHING; 3]; 2];
        for (kind, sighting) in (0..).zip(all.iter_mut().flatten()) {
            *sighting = table.get(&kind)?.unwrap_or(NOTHING);
        }
        Ok(all)
    }

    /// Forgets what was noted.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn forget_sightings(&self) -> Result<(), Error> {
        let table = object::table(&self.object, &names::SIGHTINGS)?;
        (0..size::SIGHTINGS).try_for_each(|kind| table.set(&kind, &NOTHING))
    }

    /// Lets go of a packet, by no device.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn swallow(&self, packet: &[u8]) -> Result<Ran, Error> {
        object::run(&object::program(&self.object, "swallow")?, packet, object::verdict)
    }
}

impl Programs {
    /// How long the relay takes for a packet that came by a device and goes on, on the average of so many.
    ///
    /// # Errors
    /// The kernel has no live frames (before 5.18); no such device.
    pub fn relay_live(&self, packet: &[u8], interface: u32, times: u32) -> Result<Duration, Error> {
        live(&self.program(Program::Relay)?, packet, interface, times)
    }
}

/// Runs a program on frames of the kernel's that are then sent, dropped or taken in as the program says.
fn live(program: &ProgramMut<'_>, packet: &[u8], interface: u32, times: u32) -> Result<Duration, Error> {
    // As in the kernel's structure: the packet is all there is, and it came by this device.
    let words = [0, packet.len() as u32, 0, interface, 0, 0];
    let mut context: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_ne_bytes()).collect();
    debug_assert_eq!(context.len(), size_of::<xdp_md>());
    let ran = program.test_run(ProgramInput {
        context_in: Some(&mut context),
        data_in: Some(packet),
        flags: BPF_F_TEST_XDP_LIVE_FRAMES,
        repeat: times,
        ..ProgramInput::default()
    })?;
    Ok(ran.duration)
}
