//! Programs that say when packets pass where.

use crate::attachment::{Attachment, put_first};
use crate::clsact::Side;
use crate::object;
use crate::programs::Error;
use libbpf_rs::{
    Link, MapCore, NF_INET_LOCAL_OUT, NFPROTO_IPV4, NetfilterOpts, Object, OpenObject, ProgramType,
    RingBufferBuilder,
};
use plait_dataplane_reference::tables::{Journey, Traced};
use std::cell::RefCell;
use std::os::unix::fs::MetadataExt;
use zerocopy::{FromBytes, IntoBytes};

/// The compiled programs.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stamps.bpf.o"));

/// Which passages get stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probes {
    /// All.
    All,
    /// All, each twice: what lies between a stamp and its second is what stamps cost themselves.
    Twice,
    /// The call and the driver's end alone.
    Ends,
}

impl Probes {
    fn has(self, program: &str) -> bool {
        match self {
            Self::All => !program.ends_with("_again"),
            Self::Twice => true,
            Self::Ends => ["call", "back", "sent", "sink"].contains(&program),
        }
    }
}

/// Programs that give stamps to what the thread sends that loaded them. They end with this.
pub struct Stamps {
    object: Object,
    /// On tracepoints.
    #[allow(dead_code, reason = "they are held")]
    links: Vec<Link>,
}

impl Stamps {
    /// Loads the programs, for packets of the calling thread, and puts those on tracepoints there.
    ///
    /// # Errors
    /// The kernel refuses: no permission, no BTF, or no such tracepoints.
    pub fn start(probes: Probes) -> Result<Self, Error> {
        match Self::open(probes, true)?.load() {
            Ok(object) => Self::attach(object),
            // Before Linux 6.4 there are no programs among firewalls.
            Err(_) => Self::attach(Self::open(probes, false)?.load()?),
        }
    }

    fn open(probes: Probes, has_netfilter: bool) -> Result<OpenObject, Error> {
        let namespace =
            std::fs::metadata("/proc/thread-self/ns/pid").map_err(|error| Error::Bpf(error.into()))?;
        let traced = Traced {
            device: namespace.dev(),
            inode: namespace.ino(),
            thread: rustix::thread::gettid().as_raw_pid() as u32,
            call: libc::SYS_sendto as u32,
        };
        let mut open = object::open(OBJECT, "stamps", "traced", traced.as_bytes())?;
        for mut program in open.progs_mut() {
            let is_wanted = program.name().to_str().is_some_and(|name| probes.has(name));
            let is_known = has_netfilter || program.prog_type() != ProgramType::Netfilter;
            program.set_autoload(is_wanted && is_known);
        }
        Ok(open)
    }

    fn attach(object: Object) -> Result<Self, Error> {
        let loaded = object.progs_mut().filter(|program| program.autoload());
        let links = loaded
            .filter(|program| program.prog_type() == ProgramType::Tracing)
            .map(|program| program.attach())
            .collect::<Result<_, _>>()?;
        Ok(Self { object, links })
    }

    /// Has packets end that come in by a device, before all that is there sees them.
    ///
    /// # Errors
    /// No such device; the kernel's refusal.
    pub fn sink(&self, interface: u32) -> Result<Attachment, Error> {
        let program = self.loaded().find(|program| program.name() == "sink").ok_or(Error::Absent("sink"))?;
        put_first(&program, Side::Incoming, interface)
    }

    /// Gives stamps to packets that enter a device to leave by it, before all that is there.
    ///
    /// # Errors
    /// No such device; the kernel's refusal.
    pub fn enter(&self, interface: u32) -> Result<Vec<Attachment>, Error> {
        // Each comes before those that came earlier.
        ["enter_again", "enter"]
            .into_iter()
            .filter_map(|name| self.loaded().find(|program| program.name() == name))
            .map(|program| put_first(&program, Side::Outgoing, interface))
            .collect()
    }

    /// Gives stamps to packets of the calling thread's network namespace that have got their IPv4 header. Of kernels
    /// before 6.4, which cannot, none.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn out(&self) -> Result<Vec<Link>, Error> {
        let all = self.loaded().filter(|program| program.prog_type() == ProgramType::Netfilter);
        let priority = |name: &std::ffi::OsStr| if name == "out" { 1 } else { 2 };
        let attach = |program: libbpf_rs::ProgramMut<'_>| {
            program.attach_netfilter_with_opts(NetfilterOpts {
                protocol_family: NFPROTO_IPV4,
                hooknum: NF_INET_LOCAL_OUT,
                priority: priority(program.name()),
                ..NetfilterOpts::default()
            })
        };
        Ok(all.map(attach).collect::<Result<_, _>>()?)
    }

    /// Journeys that ended and were not taken before.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn take(&self) -> Result<Vec<Journey>, Error> {
        let taken = RefCell::new(Vec::new());
        let map = self.object.maps().find(|map| map.name() == "journeys").ok_or(Error::Absent("journeys"))?;
        let mut builder = RingBufferBuilder::new();
        builder.add(&map, |bytes| {
            taken.borrow_mut().extend(Journey::read_from_bytes(bytes));
            0
        })?;
        builder.build()?.consume()?;
        Ok(taken.into_inner())
    }

    fn loaded(&self) -> impl Iterator<Item = libbpf_rs::ProgramMut<'_>> {
        self.object.progs_mut().filter(|program| program.autoload())
    }
}
