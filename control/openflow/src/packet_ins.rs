//! A batch of flow requests, where they were read.

use crate::{Hot, Port, Version};
use plait_control_runtime::{Kind, Mismatch, Type, Value, View, Wit, wit};
use plait_model_wire::Malformed;
use plait_model_wire::openflow::{BufferId, v10, v13};

/// Packet-ins of any switches, in the order in which they were read: the stream `packet-ins`.
///
/// The frames lie in one run of bytes, which a worker uses again: a frame is copied once, and no request costs an
/// allocation.
#[derive(Debug, Clone, Default)]
pub struct PacketIns {
    bytes: Vec<u8>,
    requests: Vec<Request>,
}

#[derive(Debug, Clone, Copy)]
struct Request {
    switch: u64,
    cookie: u64,
    /// Where the frame lies.
    start: u32,
    length: u16,
    total: u16,
    port: Port,
    buffer: u32,
    version: Version,
    reason: u8,
    table: u8,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketIn<'a> {
    /// The switch that has a packet.
    pub switch: u64,
    /// Its version.
    pub version: Version,
    /// The port that the packet came by.
    pub in_port: Port,
    /// Where the switch keeps it, if it does.
    pub buffer: Option<u32>,
    /// Why: 0 says that no flow matched, 1 that one said so.
    pub reason: u8,
    /// The table that sent it; 0 in 1.0.
    pub table: u8,
    /// The mark of the flow that sent it; all ones if there is none, or in 1.0.
    pub cookie: u64,
    /// Bytes that the whole packet has.
    pub total_length: u16,
    /// The packet, from its Ethernet header on; a beginning of it if the switch keeps it.
    pub frame: &'a [u8],
}

impl PacketIns {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Forgets all, and keeps the room.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.requests.clear();
    }

    /// Every one.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = PacketIn<'_>> {
        self.requests.iter().map(|request| self.at(request))
    }

    /// One of them, by its place.
    #[inline]
    pub fn get(&self, place: usize) -> Option<PacketIn<'_>> {
        self.requests.get(place).map(|request| self.at(request))
    }

    #[inline]
    fn at(&self, request: &Request) -> PacketIn<'_> {
        let Request { switch, cookie, start, length, total, port, buffer, version, reason, table } = *request;
        let (start, length) = (start as usize, usize::from(length));
        PacketIn {
            switch,
            version,
            in_port: port,
            buffer: (buffer != BufferId::NO_BUFFER.0).then_some(buffer),
            reason,
            table,
            cookie,
            total_length: total,
            frame: &self.bytes[start..start + length],
        }
    }

    /// Adds a request whose frame is copied.
    #[inline]
    pub fn push(&mut self, packet: &PacketIn<'_>) {
        // A batch is a part of what was read at once, far from four gigabytes; a frame is shorter than its message.
        let (Ok(start), Ok(length)) = (u32::try_from(self.bytes.len()), u16::try_from(packet.frame.len()))
        else {
            return;
        };
        self.bytes.extend_from_slice(packet.frame);
        self.requests.push(Request {
            switch: packet.switch,
            cookie: packet.cookie,
            start,
            length,
            total: packet.total_length,
            port: packet.in_port,
            buffer: packet.buffer.unwrap_or(BufferId::NO_BUFFER.0),
            version: packet.version,
            reason: packet.reason,
            table: packet.table,
        });
    }

    /// Moves all of another batch to this one's end. The other keeps its room.
    pub fn append(&mut self, other: &mut Self) {
        if self.is_empty() {
            return std::mem::swap(self, other);
        }
        let behind = self.bytes.len() as u64;
        self.bytes.extend_from_slice(&other.bytes);
        // As in `push`, batches are far from four gigabytes.
        let moved = other.requests.drain(..).filter_map(|request| {
            let start = u32::try_from(behind + u64::from(request.start)).ok()?;
            Some(Request { start, ..request })
        });
        self.requests.extend(moved);
        other.clear();
    }
}

impl<'a> PacketIn<'a> {
    /// What a packet-in of `switch` says.
    ///
    /// # Errors
    /// It is no packet-in of its version.
    #[inline]
    pub fn of(switch: u64, hot: &Hot<'a>) -> Result<Self, Malformed> {
        let kept = |buffer: BufferId| (buffer != BufferId::NO_BUFFER).then_some(buffer.0);
        if hot.frame.version() == v10::VERSION {
            let view = v10::packet_in::View::of(&hot.frame)?;
            return Ok(Self {
                switch,
                version: Version::V10,
                in_port: view.in_port().into(),
                buffer: kept(view.buffer()),
                reason: view.reason().0,
                table: 0,
                cookie: u64::MAX,
                total_length: view.total_length(),
                frame: view.data(),
            });
        }
        let view = v13::packet_in::View::of(&hot.frame)?;
        Ok(Self {
            switch,
            version: Version::V13,
            // A switch must say it (1.3.5 section 7.4.1); one that does not came by none.
            in_port: view.in_port().map_or(Port::ANY, Port::from),
            buffer: kept(view.buffer()),
            reason: view.reason().0,
            table: view.table().0,
            cookie: view.cookie(),
            total_length: view.total_length(),
            frame: view.data(),
        })
    }
}

/// A list of records, as a component sees them.
impl Wit for PacketIns {
    fn schema() -> Type {
        Vec::<Whole>::schema()
    }

    fn to_value(&self) -> Value {
        let whole = |packet: PacketIn<'_>| Whole {
            switch: packet.switch,
            version: packet.version.number(),
            in_port: packet.in_port,
            buffer: packet.buffer,
            reason: packet.reason,
            table: packet.table,
            cookie: packet.cookie,
            total_length: packet.total_length,
            frame: packet.frame.to_vec(),
        };
        self.iter().map(whole).collect::<Vec<_>>().to_value()
    }

    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        let mut all = Self::default();
        for whole in Vec::<Whole>::from_value(value)? {
            all.push(&PacketIn {
                switch: whole.switch,
                version: Version::of(whole.version).unwrap_or(Version::V13),
                in_port: whole.in_port,
                buffer: whole.buffer,
                reason: whole.reason,
                table: whole.table,
                cookie: whole.cookie,
                total_length: whole.total_length,
                frame: &whole.frame,
            });
        }
        Ok(all)
    }
}

impl View for PacketIns {
    const NAME: &'static str = "packet-ins";
    const KIND: Kind = Kind::Stream;
}

/// Packet-ins that hold link layer discovery (EtherType 0x88cc), which are not among the others: the stream `probes`.
///
/// Choice: a stream of their own, so that what finds links is set off by nothing else, and its single instance never
/// stands in the way of requests.
#[derive(Debug, Clone, Default)]
pub struct Probes(pub PacketIns);

impl Probes {
    /// Whether a packet-in is one.
    #[inline]
    pub fn includes(packet: &PacketIn<'_>) -> bool {
        matches!(packet.frame.get(12..14), Some([0x88, 0xcc]))
    }
}

/// As [`PacketIns`].
impl Wit for Probes {
    fn schema() -> Type {
        PacketIns::schema()
    }
    fn to_value(&self) -> Value {
        self.0.to_value()
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        PacketIns::from_value(value).map(Self)
    }
}

impl View for Probes {
    const NAME: &'static str = "probes";
    const KIND: Kind = Kind::Stream;
}

struct Whole {
    switch: u64,
    version: u8,
    in_port: Port,
    buffer: Option<u32>,
    reason: u8,
    table: u8,
    cookie: u64,
    total_length: u16,
    frame: Vec<u8>,
}
wit!(struct Whole { switch, version, in_port, buffer, reason, table, cookie, total_length, frame });
