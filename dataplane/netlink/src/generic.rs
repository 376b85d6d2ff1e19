//! Generic netlink: families by the numbers that the kernel gave them when they were loaded, and requests to them.

use netlink_packet_core::{
    DefaultNla, Emitable, NLA_F_NESTED, NLM_F_ACK, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_generic::ctrl::nlas::{GenlCtrlAttrs, McastGrpAttrs};
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_packet_generic::{GenlFamily, GenlMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_GENERIC};
use std::fmt::Debug;
use std::io;

/// A socket for requests, in the namespace it was opened in.
pub struct Generic {
    socket: Socket,
}

/// A family and its groups, by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    id: u16,
    groups: Vec<(String, u32)>,
}

impl Family {
    /// The number of a group, whose members hear what the family tells.
    pub fn group(&self, name: &str) -> Option<u32> {
        self.groups.iter().find(|(known, _)| known == name).map(|(_, number)| *number)
    }
}

impl Generic {
    /// Opens a socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// Too many open files.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_GENERIC)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // Of a refusal only its number is of use.
        let _ = socket.set_cap_ack(true);
        Ok(Self { socket })
    }

    /// A family by its name, for which the kernel loads a module, if there is one. None where it has no such family.
    ///
    /// # Errors
    /// The socket fails, or the kernel refuses or answers something else.
    pub fn family(&self, name: &str) -> io::Result<Option<Family>> {
        let ask =
            GenlCtrl { cmd: GenlCtrlCmd::GetFamily, nlas: vec![GenlCtrlAttrs::FamilyName(name.to_owned())] };
        let attributes = match self.exchange(GenlMessage::from_payload(ask), NLM_F_REQUEST)? {
            NetlinkPayload::InnerMessage(answer) => answer.payload.nlas,
            NetlinkPayload::Error(error) => {
                let error = error.to_io();
                return if error.kind() == io::ErrorKind::NotFound { Ok(None) } else { Err(error) };
            }
            _ => return Err(unexpected()),
        };
        let (mut id, mut groups) = (None, Vec::new());
        for attribute in attributes {
            match attribute {
                GenlCtrlAttrs::FamilyId(is) => id = Some(is),
                GenlCtrlAttrs::McastGroups(told) => groups = told.iter().filter_map(|of| named(of)).collect(),
                _ => {}
            }
        }
        Ok(Some(Family { id: id.ok_or_else(unexpected)?, groups }))
    }

    /// Has a family do something. The kernel's reason if it refuses.
    ///
    /// # Errors
    /// The socket fails, or the kernel answers something else.
    pub fn request<F>(&self, family: &Family, asked: F) -> io::Result<Option<io::Error>>
    where
        F: GenlFamily + Emitable + Debug,
    {
        let mut message = GenlMessage::from_payload(asked);
        message.set_resolved_family_id(family.id);
        match self.exchange(message, NLM_F_REQUEST | NLM_F_ACK)? {
            NetlinkPayload::Error(answer) => Ok(answer.code.is_some().then(|| answer.to_io())),
            _ => Err(unexpected()),
        }
    }

    /// Says something, and hears what the kernel answers first.
    fn exchange<F>(
        &self,
        message: GenlMessage<F>,
        flags: u16,
    ) -> io::Result<NetlinkPayload<GenlMessage<GenlCtrl>>>
    where
        F: GenlFamily + Emitable + Debug,
    {
        let mut message = NetlinkMessage::from(message);
        message.header.flags = flags;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let (answer, _) = self.socket.recv_from_full()?;
        NetlinkMessage::deserialize(&answer)
            .map(|answer| answer.payload)
            .map_err(|error| io::Error::other(error.to_string()))
    }
}

/// An attribute that holds others.
pub fn nest(kind: u16, attributes: &[DefaultNla]) -> DefaultNla {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    DefaultNla::new(kind | NLA_F_NESTED, bytes)
}

fn unexpected() -> io::Error {
    io::Error::other("the kernel answers something else")
}

/// A group's name and number.
fn named(attributes: &[McastGrpAttrs]) -> Option<(String, u32)> {
    let (mut name, mut number) = (None, None);
    for attribute in attributes {
        match attribute {
            McastGrpAttrs::Name(is) => name = Some(is.clone()),
            McastGrpAttrs::Id(is) => number = Some(*is),
        }
    }
    name.zip(number)
}
