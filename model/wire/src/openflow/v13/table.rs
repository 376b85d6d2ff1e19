//! Tables of 1.3, what they can do and how they are set: sections 7.3.3 and 7.3.5.5.

use super::oxm;
use crate::Malformed;
use crate::openflow::Text;
use crate::openflow::codec::{Reader, Wire, Writer, padding};
use crate::openflow::tables::{choice, codes, flags, record};

codes! {
    /// A flow table: up to [`TableId::MAX`] one of the switch.
    pub struct TableId(u8) {
        /// No table has a higher number.
        MAX = 0xfe,
        /// Every table, in requests.
        ALL = 0xff,
    }
}

flags! {
    /// How a table is set: nothing is left to set since 1.3, but two bits of before are reserved.
    pub struct TableConfig(u32) {
        /// What was said there of packets without a flow.
        DEPRECATED_MASK = 3,
    }
}

record! {
    /// How a table is to be set.
    pub struct TableMod {
        /// Which.
        pub table: TableId, (pad 3)
        /// How.
        pub config: TableConfig,
    }
}

record! {
    /// What a table has counted.
    pub struct TableStatistics {
        /// Which.
        pub table: TableId, (pad 3)
        /// How many flows it holds.
        pub active: u32,
        /// Packets that were looked up.
        pub lookups: u64,
        /// Packets that a flow was found for.
        pub matched: u64,
    }
}

/// A type of actions or instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Id {
    /// The type.
    pub kind: u16,
    /// Of an experimenter's, who that is and more.
    pub data: Vec<u8>,
}

impl Wire for Id {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (kind, mut body) = from.tagged()?;
        Ok(Self { kind, data: body.rest().to_vec() })
    }

    fn write(&self, to: &mut Writer<'_>) {
        to.tagged(self.kind, |to| to.put(&self.data));
    }
}

choice! {
    /// Something that a table can do. What ends in `Miss` is said of packets without a flow; where it is not said, they are
    /// treated as others.
    pub enum Property: u16 {
        /// Instructions.
        Instructions(Vec<Id>) = 0;
        /// Instructions.
        InstructionsMiss(Vec<Id>) = 1;
        /// Tables that may go on.
        NextTables(Vec<TableId>) = 2;
        /// Tables that may go on.
        NextTablesMiss(Vec<TableId>) = 3;
        /// Actions for when the last table is through.
        WriteActions(Vec<Id>) = 4;
        /// Actions for when the last table is through.
        WriteActionsMiss(Vec<Id>) = 5;
        /// Actions at once.
        ApplyActions(Vec<Id>) = 6;
        /// Actions at once.
        ApplyActionsMiss(Vec<Id>) = 7;
        /// Fields that can be matched.
        Match(Vec<oxm::Id>) = 8;
        /// Fields that need not be matched.
        Wildcards(Vec<oxm::Id>) = 10;
        /// Fields that can be set when the last table is through.
        WriteSetField(Vec<oxm::Id>) = 12;
        /// Fields that can be set when the last table is through.
        WriteSetFieldMiss(Vec<oxm::Id>) = 13;
        /// Fields that can be set at once.
        ApplySetField(Vec<oxm::Id>) = 14;
        /// Fields that can be set at once.
        ApplySetFieldMiss(Vec<oxm::Id>) = 15;
        /// Somebody's own.
        Experimenter {
            /// Whose.
            experimenter: u32,
            /// Which of theirs.
            kind: u32,
            /// What only they know.
            data: Vec<u8>,
        } = 0xfffe;
        /// Somebody's own.
        ExperimenterMiss {
            /// Whose.
            experimenter: u32,
            /// Which of theirs.
            kind: u32,
            /// What only they know.
            data: Vec<u8>,
        } = 0xffff;
    }
}

impl Wire for Property {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let before = from.left();
        let (kind, mut body) = from.tagged()?;
        let property = Self::read_as(kind, &mut body)?;
        from.pad(padding(before - from.left()))?;
        Ok(property)
    }

    fn write(&self, to: &mut Writer<'_>) {
        let start = to.place();
        to.tagged(self.kind(), |to| self.write_body(to));
        to.align(start);
    }
}

record! {
    sized
    /// What a table is and can do.
    pub struct TableFeatures {
        /// Which.
        pub table: TableId, (pad 5)
        /// Its name.
        pub name: Text<32>,
        /// Bits of the metadata that can be matched.
        pub metadata_match: u64,
        /// Bits of the metadata that can be written.
        pub metadata_write: u64,
        /// How it is set.
        pub config: TableConfig,
        /// How many flows it can hold.
        pub max_entries: u32,
        /// What it can do.
        pub properties: Vec<Property>,
    }
}
