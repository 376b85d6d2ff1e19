//! Holds packets of flows that move, until nothing that they sent before can be overtaken.
//!
//! ```text
//! steer ─► TAP ─► here, until their instant ─► TAP ─► release ─► the device, with a mark that steer knows
//! ```

use crate::device::Device;
use crate::error::Error;
use plait_dataplane_agent::now;
use plait_dataplane_bpf::{Attachment, PathProgram, PathPrograms, Table, path_names};
use plait_dataplane_links::tap;
use plait_dataplane_reference::paths::tables::{HoldTag, Holder as Row};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::netdevice;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::UdpSocket;
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use zerocopy::FromBytes;

/// Bytes of the offload header before each packet of a TAP, which has nothing to say here: the kernel finishes packets before
/// it hands them over.
const OFFLOAD: usize = 10;
const TAG: usize = size_of::<HoldTag>();
/// Bytes of the longest frame: the longest IP packet behind an Ethernet header.
const LONGEST: usize = 14 + 65_535;
/// Bytes of packets that are held at once. Choice: a flow of 10 Gbit/s for 25 ms; what comes beyond is lost.
const MOST: usize = 32 << 20;

/// Packets taken in one go, before those go that have waited long enough.
const AT_ONCE: usize = 256;

/// Holds packets for one device, in a thread of its own. When it is dropped, flows that have no gaps stay where they are.
pub struct Holder {
    table: Table<u32, Row>,
    waker: UnixStream,
    thread: Option<JoinHandle<()>>,
    _release: Attachment,
}

impl Holder {
    /// Begins to hold what the programs of a device give it.
    pub(crate) fn start(device: u32, programs: &PathPrograms) -> Result<Self, Error> {
        let failed = |error| Error::Device(device, error);
        let name = format!("hold{device}");
        let tap = File::from(tap::create(&name).map_err(failed)?);
        let socket = UdpSocket::bind((std::net::Ipv4Addr::UNSPECIFIED, 0)).map_err(failed)?;
        let index = netdevice::name_to_index(&socket, &name).map_err(|error| failed(error.into()))?;
        let release = programs.attach(PathProgram::Release, index)?;
        Device::open(index)?.bring_up_silent()?;
        let table = programs.table(&path_names::HOLDERS)?;
        let (waker, woken) = UnixStream::pair().map_err(failed)?;
        woken.set_nonblocking(true).map_err(failed)?;
        let held = Held { tap, packets: BinaryHeap::new(), bytes: 0, number: 0 };
        let thread = thread::Builder::new().name(name).spawn(move || held.serve(&woken)).map_err(failed)?;
        table.set(&0, &Row { tap: index, device })?;
        Ok(Self { table, waker, thread: Some(thread), _release: release })
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // Before the TAP goes, packets go by themselves.
        let _ = self.table.set(&0, &Row { tap: 0, device: 0 });
        let _ = self.waker.shutdown(std::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Packets by their instant, those of one in the order in which they came.
struct Held {
    tap: File,
    packets: BinaryHeap<Reverse<(u64, u64, Vec<u8>)>>,
    bytes: usize,
    number: u64,
}

impl Held {
    fn serve(mut self, woken: &UnixStream) {
        // Of no use without its TAP; flows then move at their longest hold.
        if let Err(error) = self.run(woken) {
            tracing::error!(%error, "packets of flows that move are no longer held");
        }
    }

    /// Until the other end of the stream is shut.
    fn run(&mut self, woken: &UnixStream) -> io::Result<()> {
        let mut buffer = vec![0; OFFLOAD + TAG + LONGEST];
        loop {
            let mut waited =
                [PollFd::new(&self.tap, PollFlags::IN), PollFd::new(woken, PollFlags::IN | PollFlags::HUP)];
            let until = self.packets.peek().map(|Reverse((until, ..))| Duration::from_nanos(*until));
            let timeout =
                until.map(|until| Timespec::try_from(until.saturating_sub(now())).unwrap_or_default());
            match poll(&mut waited, timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let is_over = !waited[1].revents().is_empty();
            // What comes without end must not keep what is there from going.
            for _ in 0..AT_ONCE {
                if !self.take(&mut buffer)? {
                    break;
                }
            }
            self.let_go(is_over)?;
            if is_over {
                return Ok(());
            }
        }
    }

    /// Takes in one packet, if there is one.
    fn take(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let length = match self.tap.read(buffer) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(error),
        };
        let Some(packet) = buffer.get(OFFLOAD..length) else { return Ok(true) };
        let Ok((tag, _)) = HoldTag::read_from_prefix(packet) else { return Ok(true) };
        // What the host itself sends by the TAP has no tag, and what stands there is no instant of these minutes.
        let latest = (now() + Duration::from_secs(60)).as_nanos() as u64;
        if tag.until > latest || self.bytes + length > MOST {
            return Ok(true);
        }
        // As it goes back: an offload header of noughts in the place of the tag's end.
        let mut packet = buffer[TAG..length].to_vec();
        packet[..OFFLOAD].fill(0);
        self.bytes += packet.len();
        self.number += 1;
        self.packets.push(Reverse((tag.until, self.number, packet)));
        Ok(true)
    }

    /// Sends on what has waited long enough, or all.
    fn let_go(&mut self, all: bool) -> io::Result<()> {
        let now = now().as_nanos() as u64;
        while let Some(Reverse((until, ..))) = self.packets.peek() {
            if *until > now && !all {
                break;
            }
            let Some(Reverse((_, _, packet))) = self.packets.pop() else { break };
            self.bytes -= packet.len();
            match self.tap.write(&packet) {
                // The device went, or has no room: it is lost as any packet may be.
                Ok(_) => {}
                Err(error) if matches!(error.raw_os_error(), Some(DOWN | NO_ROOM | AGAIN)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

const DOWN: i32 = rustix::io::Errno::IO.raw_os_error();
const NO_ROOM: i32 = rustix::io::Errno::NOBUFS.raw_os_error();
const AGAIN: i32 = rustix::io::Errno::AGAIN.raw_os_error();
