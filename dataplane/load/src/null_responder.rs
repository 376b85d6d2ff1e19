//! The ceiling: a controller that thinks nothing. It cuts the stream into messages and answers every packet-in with one
//! fixed flow-mod that has the packet's buffer; it parses no packet and keeps no table.

use plait_model_wire::openflow::v13::{GroupId, Instruction};
use plait_model_wire::openflow::{Frame, Hello, TooLong, chop, v10, v13};
use rustix::event::{Timespec, epoll};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

const PACKET_IN: u8 = 10;
const READ: usize = 256 * 1024;
/// Bytes that the kernel keeps of what it has not read, of each connection. Choice: a read. The kernel's own limit, tens of megabytes, is
/// hundreds of thousands of requests of a switch that asks more than its share, whose answers come too late to be told of.
const RECEIVE: usize = READ;
const LISTENER: u64 = u64::MAX;

/// One that runs, until it is dropped.
#[derive(Debug)]
pub struct NullResponder {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl NullResponder {
    /// Listens at an address, with threads that take connections in turn.
    ///
    /// # Errors
    /// The address cannot be listened at.
    pub fn start(address: SocketAddr, threads: usize) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        // Connections inherit it.
        rustix::net::sockopt::set_socket_recv_buffer_size(&listener, RECEIVE)?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let replies = Replies::new().map_err(|why| io::Error::other(why.to_string()))?;
        let epolls: Vec<Arc<rustix::fd::OwnedFd>> = (0..threads.max(1))
            .map(|_| epoll::create(epoll::CreateFlags::CLOEXEC).map(Arc::new))
            .collect::<Result<_, _>>()?;
        epoll::add(&*epolls[0], &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
        let mut senders = Vec::new();
        let mut running = Vec::new();
        for epoll in &epolls {
            let (sender, arrivals) = std::sync::mpsc::channel();
            senders.push(sender);
            running.push(Responder {
                epoll: epoll.clone(),
                arrivals,
                members: Vec::new(),
                replies: replies.clone(),
                stop: stop.clone(),
            });
        }
        let mut listener = Some((listener, senders));
        let threads = running
            .into_iter()
            .map(|responder| {
                let listener = listener.take();
                thread::spawn(move || responder.run(listener))
            })
            .collect();
        Ok(Self { address, stop, threads })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for NullResponder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // What panicked has said so.
            let _ = thread.join();
        }
    }
}

/// What it says, made once.
#[derive(Debug, Clone)]
pub struct Replies {
    flow10: Vec<u8>,
    flow13: Vec<u8>,
    greeting10: Vec<u8>,
    greeting13: Vec<u8>,
}

impl Replies {
    /// Makes them.
    ///
    /// # Errors
    /// Never for messages of these lengths.
    pub fn new() -> Result<Self, TooLong> {
        let output = v10::Action::Output { port: v10::PortNumber(1), max_length: 0 };
        let flow = v10::FlowMod::add(v10::Match::ANY, 1, vec![output]);
        let flow10 = v10::Message { xid: 0, body: v10::Body::FlowMod(flow) }.emit()?;
        let max_length = v13::action::ControllerLength(0);
        let output = v13::Action::Output { port: v13::PortNumber(1), max_length };
        let mut flow = v13::FlowMod::add(Vec::new(), 1, vec![Instruction::ApplyActions(vec![output])]);
        flow.out_group = GroupId::ANY;
        let flow13 = v13::Message { xid: 0, body: v13::Body::FlowMod(flow) }.emit()?;
        let mut greeting10 = v10::Message { xid: 1, body: v10::Body::Hello(Hello::default()) }.emit()?;
        greeting10.extend(v10::Message { xid: 2, body: v10::Body::FeaturesRequest }.emit()?);
        let hello = v13::Body::Hello(Hello::speaking(&[v13::VERSION]));
        let mut greeting13 = v13::Message { xid: 1, body: hello }.emit()?;
        greeting13.extend(v13::Message { xid: 2, body: v13::Body::FeaturesRequest }.emit()?);
        Ok(Self { flow10, flow13, greeting10, greeting13 })
    }
}

struct Responder {
    epoll: Arc<rustix::fd::OwnedFd>,
    arrivals: std::sync::mpsc::Receiver<TcpStream>,
    members: Vec<Option<Member>>,
    replies: Replies,
    stop: Arc<AtomicBool>,
}

struct Member {
    stream: TcpStream,
    input: Vec<u8>,
    filled: usize,
    output: Vec<u8>,
    written: usize,
}

type Listener = (TcpListener, Vec<std::sync::mpsc::Sender<TcpStream>>);

impl Responder {
    fn run(mut self, listener: Option<Listener>) {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(256);
        let mut accepted = 0;
        while !self.stop.load(Ordering::Relaxed) {
            events.clear();
            let timeout = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            match epoll::wait(&*self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            for event in &events {
                let place = event.data.u64();
                if place != LISTENER {
                    self.serve(place as usize);
                    continue;
                }
                while let Some((listener, senders)) = &listener
                    && let Ok((stream, _)) = listener.accept()
                {
                    // A thread that has ended takes none, and its connections end.
                    let _ = senders[accepted % senders.len()].send(stream);
                    accepted += 1;
                }
            }
            while let Ok(stream) = self.arrivals.try_recv() {
                let place = epoll::EventData::new_u64(self.members.len() as u64);
                let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
                let is_set = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
                if is_set.is_ok() && epoll::add(&*self.epoll, &stream, place, flags).is_ok() {
                    let (input, output) = (vec![0; READ], Vec::new());
                    self.members.push(Some(Member { stream, input, filled: 0, output, written: 0 }));
                }
            }
        }
    }

    fn serve(&mut self, place: usize) {
        let Some(slot) = self.members.get_mut(place) else { return };
        if let Some(member) = slot
            && !member.serve(&self.replies)
        {
            *slot = None;
        }
    }
}

impl Member {
    /// Reads while there is something, and answers; false when the connection is at its end. Edges tell of more, so it
    /// reads until there is nothing, and reads nothing while its answers are not taken.
    fn serve(&mut self, replies: &Replies) -> bool {
        loop {
            while self.written < self.output.len() {
                match self.stream.write(&self.output[self.written..]) {
                    Ok(0) => return false,
                    Ok(count) => self.written += count,
                    Err(why) if why.kind() == io::ErrorKind::WouldBlock => return true,
                    Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return false,
                }
            }
            self.output.clear();
            self.written = 0;
            match self.stream.read(&mut self.input[self.filled..]) {
                Ok(0) => return false,
                Ok(count) => self.filled += count,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return true,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return false,
            }
            let mut rest = &self.input[..self.filled];
            loop {
                match chop(rest) {
                    Ok(Some((frame, after))) => {
                        replies.answer(&frame, &mut self.output);
                        rest = after;
                    }
                    Ok(None) => break,
                    Err(_) => return false,
                }
            }
            let left = rest.len();
            self.input.copy_within(self.filled - left..self.filled, 0);
            self.filled = left;
        }
    }
}

impl Replies {
    /// Writes what a message is answered with behind what `output` holds; nothing, if it needs no answer.
    #[inline]
    pub fn answer(&self, frame: &Frame<'_>, output: &mut Vec<u8>) {
        let is_old = frame.version() == v10::VERSION;
        match frame.kind() {
            PACKET_IN => {
                let buffer = frame.body().get(..4).unwrap_or(&[0xff; 4]);
                let (flow, at) = if is_old { (&self.flow10, 64) } else { (&self.flow13, 32) };
                let start = output.len();
                output.extend_from_slice(flow);
                output[start + 4..start + 8].copy_from_slice(&frame.xid().to_be_bytes());
                output[start + at..start + at + 4].copy_from_slice(buffer);
            }
            0 => output.extend_from_slice(if is_old { &self.greeting10 } else { &self.greeting13 }),
            2 => {
                let start = output.len();
                output.extend_from_slice(&[frame.version(), 3, 0, 0]);
                output.extend_from_slice(&frame.xid().to_be_bytes());
                output.extend_from_slice(frame.body());
                let length = ((output.len() - start) as u16).to_be_bytes();
                output[start + 2..start + 4].copy_from_slice(&length);
            }
            _ => {}
        }
    }
}
