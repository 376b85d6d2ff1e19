//! The null responder over io_uring in the place of epoll: whether a ring would pay for a controller.
//!
//! ```text
//! null_over_io_uring ADDRESS [THREADS]
//! ```
//!
//! One receive that stays asked for on each connection, into buffers that the kernel chooses from a pool of 64 KiB each,
//! and one send for all that a receive is answered with: no call of the system but the one that waits. What is said is
//! the null responder's own.

use io_uring::{IoUring, cqueue, opcode, squeue, types};
use plait_dataplane_load::null_responder::Replies;
use plait_model_wire::openflow::chop;
use rustix::net::sockopt;
use std::mem::ManuallyDrop;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::{env, io, thread};

const BUFFERS: u16 = 256;
const SIZE: usize = 64 * 1024;
const POOL: u16 = 1;

/// What a completion is of, by its `user_data`: the pool, the listener, or a connection's receive or send.
const PROVIDED: u64 = u64::MAX;
const ACCEPTED: u64 = u64::MAX - 1;
const SENT: u64 = 1 << 32;

fn main() -> io::Result<()> {
    let mut words = env::args().skip(1);
    let Some(address) = words.next() else {
        return Err(io::Error::other("usage: null_over_io_uring ADDRESS [THREADS]"));
    };
    let threads = words.next().and_then(|word| word.parse().ok()).unwrap_or(2);
    let listener = TcpListener::bind(address)?;
    let replies = Replies::new().map_err(|why| io::Error::other(why.to_string()))?;
    let serve = || ManuallyDrop::new(Server::new(&listener, &replies)?).serve();
    thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(serve)).collect();
        all.into_iter()
            .try_for_each(|one| one.join().unwrap_or_else(|_| Err(io::Error::other("a thread died"))))
    })
}

struct Server<'a> {
    ring: IoUring,
    listener: &'a TcpListener,
    replies: &'a Replies,
    /// Of all buffers. The kernel has those that were provided and not completed, and may have them for a moment after the
    /// ring is closed: a fault ends the process, and nothing is freed before that.
    memory: Vec<u8>,
    members: Vec<Member>,
}

/// A connection. Those that end stay, so that numbers mean the same for ever: a bench has few.
struct Member {
    stream: OwnedFd,
    /// The beginning of a message whose end has not come.
    rest: Vec<u8>,
    /// Answers that wait until those under way are taken.
    next: Vec<u8>,
    /// Answers that the kernel reads: not touched until its completion.
    under_way: Vec<u8>,
    sent: usize,
    /// Its other end is gone.
    is_over: bool,
}

impl<'a> Server<'a> {
    fn new(listener: &'a TcpListener, replies: &'a Replies) -> io::Result<Self> {
        let ring =
            IoUring::builder().setup_single_issuer().setup_defer_taskrun().setup_cqsize(8192).build(1024)?;
        let memory = vec![0; SIZE * usize::from(BUFFERS)];
        Ok(Self { ring, listener, replies, memory, members: Vec::new() })
    }

    fn serve(&mut self) -> io::Result<()> {
        self.provide(0, BUFFERS)?;
        self.accept()?;
        loop {
            self.ring.submit_and_wait(1)?;
            let done: Vec<cqueue::Entry> = self.ring.completion().collect();
            for entry in done {
                match entry.user_data() {
                    PROVIDED => drop(outcome(entry.result())?),
                    ACCEPTED => self.accepted(&entry)?,
                    place if place & SENT != 0 => self.sent((place & !SENT) as usize, entry.result())?,
                    place => self.received(place as usize, &entry)?,
                }
            }
        }
    }

    fn ask(&mut self, entry: squeue::Entry) -> io::Result<()> {
        // SAFETY: buffers are those of `memory` and of a member's `under_way`, of which neither is moved, freed or written
        // while the kernel has it; descriptors are of members, which stay.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.ring.submit()?;
        }
        Ok(())
    }

    fn provide(&mut self, first: u16, count: u16) -> io::Result<()> {
        let at = self.memory[usize::from(first) * SIZE..].as_mut_ptr();
        self.ask(opcode::ProvideBuffers::new(at, SIZE as i32, count, POOL, first).build().user_data(PROVIDED))
    }

    fn accept(&mut self) -> io::Result<()> {
        let listener = types::Fd(self.listener.as_raw_fd());
        self.ask(opcode::AcceptMulti::new(listener).build().user_data(ACCEPTED))
    }

    fn accepted(&mut self, entry: &cqueue::Entry) -> io::Result<()> {
        let stream = outcome(entry.result())?;
        // SAFETY: the kernel made this descriptor for us just now, and nobody else has it.
        let stream = unsafe { OwnedFd::from_raw_fd(stream) };
        if !cqueue::more(entry.flags()) {
            self.accept()?;
        }
        sockopt::set_tcp_nodelay(&stream, true)?;
        self.members.push(Member {
            stream,
            rest: Vec::new(),
            next: Vec::new(),
            under_way: Vec::new(),
            sent: 0,
            is_over: false,
        });
        self.receive(self.members.len() - 1)
    }

    fn receive(&mut self, place: usize) -> io::Result<()> {
        let stream = types::Fd(self.members[place].stream.as_raw_fd());
        self.ask(opcode::RecvMulti::new(stream, POOL).build().user_data(place as u64))
    }

    fn received(&mut self, place: usize, entry: &cqueue::Entry) -> io::Result<()> {
        let member = &mut self.members[place];
        if let (Ok(length), Some(buffer)) =
            (usize::try_from(entry.result()), cqueue::buffer_select(entry.flags()))
        {
            let bytes = &self.memory[usize::from(buffer) * SIZE..][..if member.is_over { 0 } else { length }];
            let mut input = bytes;
            if !member.rest.is_empty() {
                member.rest.extend_from_slice(bytes);
                input = &member.rest;
            }
            let mut rest = input;
            while let Some((frame, behind)) = chop(rest).map_err(|why| io::Error::other(why.to_string()))? {
                self.replies.answer(&frame, &mut member.next);
                rest = behind;
            }
            member.rest = rest.to_vec();
            self.provide(buffer, 1)?;
            self.send(place)?;
        }
        // An end or a fault asks for nothing more; a pool without buffers does, since each was given back by now.
        let is_over = entry.result() <= 0 && entry.result() != -rustix::io::Errno::NOBUFS.raw_os_error();
        if !cqueue::more(entry.flags()) && !is_over {
            self.receive(place)?;
        }
        Ok(())
    }

    fn send(&mut self, place: usize) -> io::Result<()> {
        let member = &mut self.members[place];
        if member.sent == member.under_way.len() {
            member.under_way.clear();
            member.sent = 0;
            std::mem::swap(&mut member.under_way, &mut member.next);
            return self.send_rest(place);
        }
        Ok(())
    }

    fn send_rest(&mut self, place: usize) -> io::Result<()> {
        let member = &self.members[place];
        let rest = &member.under_way[member.sent..];
        if rest.is_empty() {
            return Ok(());
        }
        let stream = types::Fd(member.stream.as_raw_fd());
        let entry = opcode::Send::new(stream, rest.as_ptr(), rest.len() as u32).build();
        self.ask(entry.user_data(SENT | place as u64))
    }

    fn sent(&mut self, place: usize, result: i32) -> io::Result<()> {
        let member = &mut self.members[place];
        // Of one that is over nothing more is sent: what is under way ends with it.
        let Ok(count) = usize::try_from(result) else {
            member.is_over = true;
            return Ok(());
        };
        member.sent += count;
        if member.sent < member.under_way.len() { self.send_rest(place) } else { self.send(place) }
    }
}

/// What the kernel gave, or its refusal.
fn outcome(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(result) }
}
