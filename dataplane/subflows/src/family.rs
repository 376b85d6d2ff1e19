//! The numbers that the kernel gave to a family of generic netlink and to its groups when it started.

use crate::SubflowsError;
use netlink_packet_core::{NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_generic::GenlMessage;
use netlink_packet_generic::ctrl::nlas::{GenlCtrlAttrs, McastGrpAttrs};
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_sys::Socket;

/// A family of generic netlink, and the number of one of its groups.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    pub id: u16,
    pub group: u32,
}

impl Family {
    /// Asks the kernel.
    pub fn find(socket: &Socket, name: &str, group: &str) -> Result<Self, SubflowsError> {
        let ask =
            GenlCtrl { cmd: GenlCtrlCmd::GetFamily, nlas: vec![GenlCtrlAttrs::FamilyName(name.to_owned())] };
        let mut message = NetlinkMessage::from(GenlMessage::from_payload(ask));
        message.header.flags = NLM_F_REQUEST;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        socket.send(&bytes, 0).map_err(SubflowsError::of("asking for the kernel's path manager"))?;
        let (answer, _) =
            socket.recv_from_full().map_err(SubflowsError::of("asking for the kernel's path manager"))?;
        let answer = NetlinkMessage::<GenlMessage<GenlCtrl>>::deserialize(&answer)
            .map_err(|_| SubflowsError::Missing)?;
        // Where there is no such family the answer is an error.
        let NetlinkPayload::InnerMessage(answer) = answer.payload else { return Err(SubflowsError::Missing) };
        let (mut id, mut number) = (None, None);
        for attribute in answer.payload.nlas {
            match attribute {
                GenlCtrlAttrs::FamilyId(is) => id = Some(is),
                GenlCtrlAttrs::McastGroups(groups) => {
                    number = groups.into_iter().find_map(|of| numbered(&of, group));
                }
                _ => {}
            }
        }
        Ok(Self { id: id.ok_or(SubflowsError::Missing)?, group: number.ok_or(SubflowsError::Missing)? })
    }
}

/// A group's number, if it has that name.
fn numbered(attributes: &[McastGrpAttrs], name: &str) -> Option<u32> {
    let is_named = attributes.iter().any(|attribute| *attribute == McastGrpAttrs::Name(name.to_owned()));
    attributes.iter().find_map(|attribute| match attribute {
        McastGrpAttrs::Id(id) if is_named => Some(*id),
        _ => None,
    })
}
