//! A socket that asks and tells.

use crate::batch::{Batch, Refused};
use crate::frame::frames;
use netlink_packet_core::{NLM_F_DUMP, NLM_F_DUMP_INTR, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, LinkAttribute, LinkFlags, LinkMessage,
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// How often all objects of a kind are asked for where they change meanwhile. Choice: then what was told last has to do, since
/// whoever wants to know what changes listens for it.
const LOOKS: usize = 16;

/// A netlink socket in the namespace it was opened in. One thread asks at a time.
pub struct Netlink {
    socket: Socket,
    /// The number of the next request. Answers bear their request's: what is left of an exchange that failed is nobody's.
    next: AtomicU32,
}

impl Netlink {
    /// Opens a socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// Too many open files.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // A batch that fails throughout must not overflow the answers. Refused for users; the default then serves.
        let _ = socket.set_rx_buf_sz(1 << 20);
        let _ = socket.set_ext_ack(true);
        let _ = socket.set_cap_ack(true);
        Ok(Self { socket, next: AtomicU32::new(1) })
    }

    /// Has a device carry packets and say nothing by itself: it gets no address of its own.
    ///
    /// # Errors
    /// No such device; the kernel's refusal.
    pub fn bring_up_silent(&self, index: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        let silent = AfSpecInet6::AddrGenMode(In6AddrGenMode::None);
        link.attributes.push(LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(vec![silent])]));
        self.request(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Sends a batch and waits until the kernel has done all of it. Returns every request it refused.
    ///
    /// # Errors
    /// The socket fails.
    pub fn send(&self, batch: &mut Batch) -> io::Result<Vec<Refused>> {
        let mut refused = Vec::new();
        let base = self.number(batch);
        let mut sent = 0;
        while let Some(messages) = batch.next_send(sent) {
            sent = messages.end;
            // Only the last of a send is acknowledged; the kernel works in order, so all before it are done too.
            batch.acknowledge(sent - 1);
            self.socket.send(batch.bytes(messages), 0)?;
            self.answers(base, sent, &mut refused)?;
        }
        batch.clear();
        Ok(refused)
    }

    /// Numbers a batch's messages. The first's.
    fn number(&self, batch: &mut Batch) -> u32 {
        let base = self.next.fetch_add(batch.len() as u32, Ordering::Relaxed);
        batch.number(base);
        base
    }

    /// Waits for the answer to the last of the messages so far of a batch whose first has the number `base`.
    fn answers(&self, base: u32, sent: usize, refused: &mut Vec<Refused>) -> io::Result<()> {
        loop {
            for frame in frames(&self.receive()?) {
                let index = frame.sequence.wrapping_sub(base) as usize;
                let Some(answer) = frame.acknowledges().filter(|_| index < sent) else { continue };
                refused.extend(answer.map(|error| Refused { index, error }));
                if index + 1 == sent {
                    return Ok(());
                }
            }
        }
    }

    fn receive(&self) -> io::Result<Vec<u8>> {
        loop {
            match self.socket.recv_from_full() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                received => return received.map(|(bytes, _)| bytes),
            }
        }
    }

    /// Sends one request and waits for its end.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn request(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut batch = Batch::default();
        batch.push(message, flags);
        self.send_whole(&mut batch)
    }

    /// Sends messages of which none may be refused.
    ///
    /// # Errors
    /// The first refusal.
    pub fn send_whole(&self, batch: &mut Batch) -> io::Result<()> {
        self.send(batch)?.into_iter().next().map_or(Ok(()), |refused| Err(refused.error))
    }

    /// Asks for one object.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn get(&self, message: RouteNetlinkMessage) -> io::Result<RouteNetlinkMessage> {
        let sequence = self.ask(message, 0)?;
        loop {
            let bytes = self.receive()?;
            let Some(frame) = frames(&bytes).find(|frame| frame.sequence == sequence) else { continue };
            return match (frame.acknowledges(), frame.payload()) {
                (Some(Some(refusal)), _) => Err(refusal),
                (None, Some(NetlinkPayload::InnerMessage(inner))) => Ok(inner),
                _ => Err(io::Error::other("the kernel answers something that cannot be read")),
            };
        }
    }

    /// Asks for all objects of a kind.
    ///
    /// # Errors
    /// As of [`dump_as`](Self::dump_as); `InvalidData` where this version of the library cannot read one of them.
    pub fn dump(&self, message: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
        let told = self.dump_as(message, |told| [told])?;
        let unreadable =
            || io::Error::new(io::ErrorKind::InvalidData, "the kernel tells what cannot be read");
        told.into_iter().map(|told| told.ok_or_else(unreadable)).collect()
    }

    /// Asks for all objects of a kind, and keeps what `take` makes of each; it is given none for one that this version of the
    /// library cannot read. What changes while the kernel tells them may be missing or there twice: they are asked for once more
    /// then, up to sixteen times.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn dump_as<I: IntoIterator>(
        &self,
        message: RouteNetlinkMessage,
        mut take: impl FnMut(Option<RouteNetlinkMessage>) -> I,
    ) -> io::Result<Vec<I::Item>> {
        settled(|| {
            let mut look = Look { sequence: self.ask(message.clone(), NLM_F_DUMP)?, ..Look::default() };
            while !look.hear(&self.receive()?, &mut take)? {}
            Ok(look)
        })
    }

    /// Sends a question. The number of its answers.
    fn ask(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<u32> {
        let mut batch = Batch::default();
        batch.push(message, flags);
        let sequence = self.number(&mut batch);
        self.socket.send(batch.bytes(0..1), 0)?;
        Ok(sequence)
    }
}

/// What is told by the first look during which nothing changes, or by the last.
fn settled<T>(mut look: impl FnMut() -> io::Result<Look<T>>) -> io::Result<Vec<T>> {
    for _ in 1..LOOKS {
        let look = look()?;
        if !look.is_torn {
            return Ok(look.found);
        }
    }
    Ok(look()?.found)
}

/// All objects of a kind, as far as they were told.
struct Look<T> {
    sequence: u32,
    found: Vec<T>,
    /// Whether something changed meanwhile.
    is_torn: bool,
}

impl<T> Default for Look<T> {
    fn default() -> Self {
        Self { sequence: 0, found: Vec::new(), is_torn: false }
    }
}

impl<T> Look<T> {
    /// Takes what was read in. Whether that was all.
    fn hear<I: IntoIterator<Item = T>>(
        &mut self,
        bytes: &[u8],
        take: &mut impl FnMut(Option<RouteNetlinkMessage>) -> I,
    ) -> io::Result<bool> {
        for frame in frames(bytes).filter(|frame| frame.sequence == self.sequence) {
            self.is_torn |= frame.flags & NLM_F_DUMP_INTR != 0;
            if let Some(answer) = frame.acknowledges() {
                return answer.map_or(Ok(true), Err);
            }
            match frame.payload() {
                Some(NetlinkPayload::Done(done)) if done.code < 0 => {
                    return Err(io::Error::from_raw_os_error(done.code.wrapping_neg()));
                }
                _ if frame.kind == libc::NLMSG_DONE as u16 => return Ok(true),
                Some(NetlinkPayload::InnerMessage(inner)) => self.found.extend(take(Some(inner))),
                Some(_) => {}
                None => self.found.extend(take(None)),
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message of a kind with a number, flags and what it says.
    fn message(kind: i32, flags: u16, sequence: u32, says: &[u8]) -> Vec<u8> {
        let mut bytes = (16 + says.len() as u32).to_ne_bytes().to_vec();
        bytes.extend((kind as u16).to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend(sequence.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes.extend(says);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    const NEW_LINK: i32 = libc::RTM_NEWLINK as i32;
    /// A device without attributes.
    const LINK: [u8; 16] = [0; 16];

    fn look() -> Look<bool> {
        Look { sequence: 7, ..Look::default() }
    }

    /// Whether an object could be read.
    fn is_read(told: Option<RouteNetlinkMessage>) -> [bool; 1] {
        [told.is_some()]
    }

    #[test]
    fn an_answer_is_what_bears_the_questions_number_and_what_cannot_be_read_is_told_as_that() {
        let mut look = look();
        // An attribute that says that it is longer than what there is.
        let unreadable = [&LINK[..], &[200, 0, 3, 0]].concat();
        let told = [
            message(NEW_LINK, 0, 6, &LINK),
            message(libc::NLMSG_DONE, 0, 6, &0i32.to_ne_bytes()),
            message(NEW_LINK, 0, 7, &LINK),
            message(NEW_LINK, 0, 7, &unreadable),
            message(NEW_LINK, 0, 7, &LINK),
        ];
        assert!(!look.hear(&told.concat(), &mut is_read).unwrap(), "more is to come");
        assert!(look.hear(&message(libc::NLMSG_DONE, 0, 7, &0i32.to_ne_bytes()), &mut is_read).unwrap());
        assert_eq!((look.found, look.is_torn), (vec![true, false, true], false));
    }

    #[test]
    fn a_look_is_torn_where_the_kernel_says_so_and_fails_where_it_does() {
        let mut torn = look();
        torn.hear(&message(NEW_LINK, NLM_F_DUMP_INTR, 7, &LINK), &mut is_read).unwrap();
        assert!(torn.is_torn);
        let done = message(libc::NLMSG_DONE, 0, 7, &(-libc::EMSGSIZE).to_ne_bytes());
        let error = look().hear(&done, &mut is_read).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EMSGSIZE));
        let refusal = [&(-libc::EPERM).to_ne_bytes()[..], &[0; 16]].concat();
        let error = look().hear(&message(libc::NLMSG_ERROR, 0, 7, &refusal), &mut is_read).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
    }

    #[test]
    fn what_changes_meanwhile_is_asked_for_once_more_and_not_without_end() {
        let after = |torn: usize| {
            let mut looks = 0;
            let found = settled(|| {
                looks += 1;
                Ok(Look { sequence: 0, found: vec![looks], is_torn: looks <= torn })
            });
            (found.unwrap(), looks)
        };
        assert_eq!(after(0), (vec![1], 1));
        assert_eq!(after(2), (vec![3], 3), "nothing of a torn look is kept");
        assert_eq!(after(usize::MAX), (vec![LOOKS], LOOKS));
    }
}
