//! What a queue promises: OpenFlow 1.0.0 section 5.2.2, 1.3.5 section 7.2.2. The versions differ in the queue only.

use super::codec::{Reader, Wire, Writer};
use super::tables::{choice, codes};
use crate::Malformed;

codes! {
    /// A rate in tenths of a percent of the port's.
    pub struct Rate(u16) {
        /// Every number above 1000 stands for no limit.
        DISABLED = 0xffff,
    }
}

choice! {
    /// A property of a queue.
    pub enum Property: u16 {
        /// No property; of 1.0 only.
        None = 0, pad 4;
        /// The rate that it gets at least.
        MinRate { /** How much. */ rate: Rate, } = 1, pad 6;
        /// The rate that it gets at most; not of 1.0, where Open vSwitch says it nevertheless.
        MaxRate { /** How much. */ rate: Rate, } = 2, pad 6;
        /// Somebody's own.
        Experimenter {
            /// Whose.
            experimenter: u32, (pad 4)
            /// What only they know.
            data: Vec<u8>,
        } = 0xffff;
    }
}

impl Wire for Property {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (kind, mut body) = from.tagged()?;
        if !matches!(Self::name_of(kind), None | Some("None")) {
            body.pad(4)?;
        }
        let property = Self::read_as(kind, &mut body)?;
        body.finish()?;
        Ok(property)
    }

    fn write(&self, to: &mut Writer<'_>) {
        to.tagged(self.kind(), |to| {
            if !matches!(self, Self::None | Self::Unknown { .. }) {
                to.pad(4);
            }
            self.write_body(to);
        });
    }
}
