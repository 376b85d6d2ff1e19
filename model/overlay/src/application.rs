//! The number that names what packets carry and whose tables they follow.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An application's number, 8 bits in the header. Two applications have nothing in common: neither identities nor
/// locators nor routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Application(pub u8);

impl Application {
    /// IPv4 packets. Choice: the numbers that the paper's authors use.
    pub const IPV4: Self = Self(4);
    /// IPv6 packets.
    pub const IPV6: Self = Self(6);
    /// Ethernet frames.
    pub const ETHERNET: Self = Self(7);
}

impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A number from 0 to 255, or `ipv4`, `ipv6`, `ethernet`.
impl FromStr for Application {
    type Err = NoApplication;

    fn from_str(text: &str) -> Result<Self, NoApplication> {
        match text {
            "ipv4" => Ok(Self::IPV4),
            "ipv6" => Ok(Self::IPV6),
            "ethernet" => Ok(Self::ETHERNET),
            _ => text.parse().map(Self).map_err(|_| NoApplication(text.to_owned())),
        }
    }
}

/// A text that is no application's number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no application: write a number from 0 to 255, `ipv4`, `ipv6` or `ethernet`")]
pub struct NoApplication(String);
