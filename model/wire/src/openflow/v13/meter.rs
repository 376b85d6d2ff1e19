//! Meters of 1.3, what a flow may use: sections 7.3.4.5 and 7.3.5.11 to 7.3.5.13.

use crate::Malformed;
use crate::openflow::Age;
use crate::openflow::codec::{Reader, Wire, Writer};
use crate::openflow::tables::{choice, codes, flags, record};

codes! {
    /// A meter: up to [`MeterId::MAX`] one that flows may use.
    pub struct MeterId(u32) {
        /// No meter that flows may use has a higher number.
        MAX = 0xffff_0000,
        /// What the switch forwards in software.
        SLOWPATH = 0xffff_fffd,
        /// What the switch sends to the controller.
        CONTROLLER = 0xffff_fffe,
        /// Every meter, in requests.
        ALL = 0xffff_ffff,
    }
}

codes! {
    /// What happens to a meter.
    pub struct MeterModCommand(u16) {
        /// It is added.
        ADD = 0,
        /// It gets other bands.
        MODIFY = 1,
        /// It is deleted.
        DELETE = 2,
    }
}

flags! {
    /// How a meter counts.
    pub struct MeterFlags(u16) {
        /// Rates are kbit/s.
        KBPS = 1,
        /// Rates are packets a second.
        PKTPS = 1 << 1,
        /// Bursts are heeded.
        BURST = 1 << 2,
        /// It keeps statistics.
        STATS = 1 << 3,
    }
}

choice! {
    /// From which rate on something is done.
    pub enum Band: u16 {
        /// Packets are dropped.
        Drop {
            /// From this rate on.
            rate: u32,
            /// So much at once is borne.
            burst: u32,
        } = 1, pad 4;
        /// Packets are more likely to be dropped later: their DSCP changes.
        DscpRemark {
            /// From this rate on.
            rate: u32,
            /// So much at once is borne.
            burst: u32,
            /// By how much the drop precedence of DSCP grows.
            precedence: u8,
        } = 2, pad 3;
        /// Somebody's own.
        Experimenter {
            /// From this rate on.
            rate: u32,
            /// So much at once is borne.
            burst: u32,
            /// Whose.
            experimenter: u32,
            /// What only they know.
            data: Vec<u8>,
        } = 0xffff;
    }
}

impl Wire for Band {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (kind, mut body) = from.tagged()?;
        let band = Self::read_as(kind, &mut body)?;
        body.finish().map(|()| band)
    }

    fn write(&self, to: &mut Writer<'_>) {
        to.tagged(self.kind(), |to| self.write_body(to));
    }
}

record! {
    /// A change of meters.
    pub struct MeterMod {
        /// What happens.
        pub command: MeterModCommand,
        /// How it counts.
        pub flags: MeterFlags,
        /// To which meter.
        pub meter: MeterId,
        /// Its bands.
        pub bands: Vec<Band>,
    }
}

record! {
    sized
    /// A meter as it is.
    pub struct MeterConfig {
        /// How it counts.
        pub flags: MeterFlags,
        /// Which meter.
        pub meter: MeterId,
        /// Its bands.
        pub bands: Vec<Band>,
    }
}

/// What a meter has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeterStatistics {
    /// Which meter.
    pub meter: MeterId,
    /// How many flows use it.
    pub flows: u32,
    /// Packets that came to it.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How long it has been there.
    pub age: Age,
    /// What each band has seen.
    pub bands: Vec<BandStatistics>,
}

record! {
    /// What a band has seen.
    pub struct BandStatistics {
        /// Packets that were above its rate.
        pub packets: u64,
        /// Their bytes.
        pub bytes: u64,
    }
}

impl Wire for MeterStatistics {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let meter = MeterId::read(from)?;
        let length = u16::read(from)?;
        let mut own = from.rest_of(length.into(), 6)?;
        own.pad(6)?;
        Ok(Self {
            meter,
            flows: u32::read(&mut own)?,
            packets: u64::read(&mut own)?,
            bytes: u64::read(&mut own)?,
            age: Age::read(&mut own)?,
            bands: Vec::read(&mut own)?,
        })
    }

    fn write(&self, to: &mut Writer<'_>) {
        let start = to.place();
        self.meter.write(to);
        to.pad(8);
        self.flows.write(to);
        self.packets.write(to);
        self.bytes.write(to);
        self.age.write(to);
        self.bands.write(to);
        to.length(start + 4, start, 0);
    }
}

flags! {
    /// Types of bands that a switch knows: bit `n` stands for type `n`.
    pub struct BandTypes(u32) {
        /// [`Band::Drop`].
        DROP = 1 << 1,
        /// [`Band::DscpRemark`].
        DSCP_REMARK = 1 << 2,
    }
}

flags! {
    /// What a switch can do with meters, by the bits of [`MeterFlags`].
    pub struct MeterCapabilities(u32) {
        /// Rates in kbit/s.
        KBPS = 1,
        /// Rates in packets a second.
        PKTPS = 1 << 1,
        /// Bursts.
        BURST = 1 << 2,
        /// Statistics.
        STATS = 1 << 3,
    }
}

record! {
    /// What a switch can do with meters.
    pub struct MeterFeatures {
        /// How many there may be.
        pub max_meters: u32,
        /// Which bands they may have.
        pub band_types: BandTypes,
        /// What it can do with them.
        pub capabilities: MeterCapabilities,
        /// How many bands a meter may have.
        pub max_bands: u8,
        /// How many colours it knows.
        pub max_colors: u8, (pad 2)
    }
}
