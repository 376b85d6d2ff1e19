//! Instructions of 1.3, what a table does with the packets of a flow: section 7.2.4.

use super::{Action, MeterId, TableId};
use crate::Malformed;
use crate::openflow::Tagged;
use crate::openflow::codec::{Reader, Wire, Writer};
use crate::openflow::tables::choice;

choice! {
    /// What a table does with a packet.
    pub enum Instruction: u16 {
        /// Another table goes on.
        GotoTable { /** Which. */ table: TableId, } = 1, pad 3;
        /// Later tables can read this.
        WriteMetadata {
            /// The bits.
            metadata: u64,
            /// Which of them are written.
            mask: u64,
        } = 2;
        /// To be done when the last table is through.
        WriteActions(Vec<Action>) = 3;
        /// To be done at once.
        ApplyActions(Vec<Action>) = 4;
        /// Nothing of what earlier tables said is to be done.
        ClearActions = 5;
        /// A meter counts it, and may drop it.
        Meter { /** Which. */ meter: MeterId, } = 6;
        /// Somebody's own.
        Experimenter {
            /// Whose.
            experimenter: u32,
            /// What only they know.
            data: Vec<u8>,
        } = 0xffff;
    }
}

/// Types that have four reserved bytes before what they say.
const PADDED: std::ops::RangeInclusive<u16> = 2..=5;

impl Instruction {
    /// What an instruction says that a view found.
    ///
    /// # Errors
    /// A length that is not that of its type; actions that do not fit.
    pub fn of(tagged: Tagged<'_>) -> Result<Self, Malformed> {
        let mut body = Reader::new(tagged.body, "OpenFlow 1.3 instruction");
        if PADDED.contains(&tagged.kind) {
            body.pad(4)?;
        }
        let instruction = Self::read_as(tagged.kind, &mut body)?;
        body.finish().map(|()| instruction)
    }
}

impl Wire for Instruction {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (kind, mut body) = from.tagged()?;
        Self::of(Tagged { kind, body: body.rest() })
    }

    fn write(&self, to: &mut Writer<'_>) {
        to.tagged(self.kind(), |to| {
            if PADDED.contains(&self.kind()) && !matches!(self, Self::Unknown { .. }) {
                to.pad(4);
            }
            self.write_body(to);
        });
    }
}
