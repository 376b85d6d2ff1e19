//! What a controller is to a switch beside other controllers, and how it asks for it.
//!
//! ```text
//!   equal   nothing is asked
//!   master  ── master, number of its election ──►  granted, or refused as stale
//!   slave   ── no change ──► the switch's election ── slave, that number ──► granted
//! ```
//!
//! Choice: a slave takes the number of the election that the switch knows, which it asks for first. A newer one would make the
//! master's stale: at its next connection it would be refused, and there would be no master.
//!
//! Choice: whoever is a switch's slave tells it nothing but questions, whether the switch knows of roles or not, and takes no
//! packet of it. Commands of applications for it are refused here.

use crate::{Refusal, Version};
use plait_model_wire::openflow::v13::role::ControllerRole;
use std::fmt;

/// How often a slave asks for the switch's election before it is content without an answer: each time a master was elected
/// between both of its questions.
pub(crate) const TRIES: u8 = 3;

/// What a controller is to a switch (1.3.5 section 6.3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// May do everything, as others may; what every controller is until it asks for something else.
    #[default]
    Equal,
    /// May do everything, and is the only one; who was master before is slave.
    Master,
    /// May ask, and is told of ports only.
    Slave,
}

impl Role {
    pub(crate) fn wire(self) -> ControllerRole {
        match self {
            Self::Equal => ControllerRole::EQUAL,
            Self::Master => ControllerRole::MASTER,
            Self::Slave => ControllerRole::SLAVE,
        }
    }

    pub(crate) fn of(role: ControllerRole) -> Option<Self> {
        [Self::Equal, Self::Master, Self::Slave].into_iter().find(|known| known.wire() == role)
    }
}

/// The specification's name.
impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "equal",
            Self::Master => "master",
            Self::Slave => "slave",
        })
    }
}

/// What a controller wants to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Candidacy {
    /// Which role.
    pub role: Role,
    /// The number of the election of a master. To a switch it is newer than another if it is less than 2⁶³ ahead of it.
    pub generation: u64,
}

/// Why a controller is not what it wants to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotGranted {
    /// The number of its election is older than one that the switch knows.
    #[error(
        "the election is stale: the switch knows a newer one, in which another controller was made master; `plait controller role master` begins one that is newer"
    )]
    Stale,
    /// Nobody asked it, and it told this controller that it is slave.
    #[error("another controller was made its master: this one is its slave now")]
    Superseded,
    /// It has no roles, or none for this controller.
    #[error("the switch gives no roles: {0}")]
    Refused(Refusal),
}

/// A question for a role that is not answered yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub xid: u32,
    pub question: Question,
    /// How often it was asked.
    pub tries: u8,
    /// Whether it is the connection's first word about roles.
    pub first: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// For the number of the election, of who wants to be slave in it.
    Election,
    Role(Role),
}

impl Question {
    /// The first question of who wants a role. 1.0 numbers no elections.
    pub fn of(role: Role, version: Version) -> Self {
        if role == Role::Slave && version == Version::V13 { Self::Election } else { Self::Role(role) }
    }
}
