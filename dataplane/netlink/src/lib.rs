//! rtnetlink in batches: many messages a send, answered by errors and one last acknowledgement; [`Watch`], which hears
//! what changes; and [`Generic`], generic netlink.

#![forbid(unsafe_code)]

mod batch;
mod frame;
mod generic;
mod socket;
mod watch;

pub use batch::{Batch, Refused};
pub use generic::{Family, Generic, nest};
pub use socket::Netlink;
pub use watch::{Heard, Watch};
