//! Roles in OpenFlow 1.0: Nicira's extension, as Open vSwitch has it (`nicira-ext.h`: `NXT_ROLE_REQUEST`).

use plait_model_wire::openflow::v10;
use plait_model_wire::openflow::v13::role::ControllerRole;

const VENDOR: u32 = 0x0000_2320;
const ROLE_REQUEST: u32 = 10;
const ROLE_REPLY: u32 = 11;
/// Its roles, by their numbers.
const ROLES: [ControllerRole; 3] = [ControllerRole::EQUAL, ControllerRole::MASTER, ControllerRole::SLAVE];

/// Asks for a role. Elections have no numbers.
pub fn role_request(role: ControllerRole) -> v10::Body {
    let number = ROLES.iter().position(|known| *known == role).unwrap_or_default() as u32;
    let data = [ROLE_REQUEST.to_be_bytes(), number.to_be_bytes()].concat();
    v10::Body::Vendor { vendor: VENDOR, data }
}

/// The role that a vendor's message says that this controller has, if it says that.
pub fn role_reply(vendor: u32, data: &[u8]) -> Option<ControllerRole> {
    let (kind, rest) = data.split_first_chunk()?;
    let (number, _) = rest.split_first_chunk()?;
    let is_reply = vendor == VENDOR && u32::from_be_bytes(*kind) == ROLE_REPLY;
    ROLES.get(u32::from_be_bytes(*number) as usize).copied().filter(|_| is_reply)
}

/// Whether something was refused since this controller is slave, if it was master: 1.0 has no word for it but that it is
/// not permitted (`ofp-errors.h`: `OFPBRC_IS_SECONDARY`).
pub fn is_slave(error: &v10::Error) -> bool {
    error.reason == v10::Reason::REQUEST_EPERM
}
