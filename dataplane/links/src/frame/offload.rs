//! The header with which kernels hand over packets that are not finished: `struct virtio_net_hdr`.

/// ```text
/// 0 flags  1 gso_type  2 hdr_len  4 gso_size  6 csum_start  8 csum_offset   (native byte order)
/// ```
pub(crate) const OFFLOAD_HEADER: usize = 10;

const NEEDS_CSUM: u8 = 1;

/// What is left to do to a packet: cut it into segments, complete its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offload {
    flags: u8,
    gso_type: u8,
    gso_size: u16,
    csum_start: u16,
    csum_offset: u16,
}

impl Offload {
    pub fn parse(header: &[u8]) -> Self {
        let native = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        Self {
            flags: header[0],
            gso_type: header[1],
            gso_size: native(4),
            csum_start: native(6),
            csum_offset: native(8),
        }
    }

    /// Where the checksum is to be completed: from where it is summed and where it goes.
    pub fn checksum(self) -> Option<(usize, usize)> {
        (self.flags & NEEDS_CSUM != 0).then(|| {
            (usize::from(self.csum_start), usize::from(self.csum_start) + usize::from(self.csum_offset))
        })
    }

    /// How many packets the frame is on the wire, and the bytes of headers that each of them has.
    pub fn segments(self, frame: &[u8]) -> (u16, u16) {
        const UDP_CHECKSUM: u16 = 6;
        if self.gso_type == 0 || self.gso_size == 0 {
            return (1, 0);
        }
        // The header's own hdr_len is only a hint: it may cover payload as well. A train always has its checksum
        // open, which tells where its transport header starts.
        let transport = usize::from(self.csum_start);
        let headers = match self.csum_offset {
            UDP_CHECKSUM => transport + 8,
            _ => transport + usize::from(frame.get(transport + 12).map_or(5, |offset| offset >> 4)) * 4,
        };
        let segments = frame.len().saturating_sub(headers).div_ceil(usize::from(self.gso_size)).max(1);
        (u16::try_from(segments).unwrap_or(u16::MAX), u16::try_from(headers).unwrap_or(0))
    }

    /// Moves the offsets by bytes put into the frame.
    pub fn shift(header: &mut [u8], by: u16) {
        for at in [2, 6] {
            let value = u16::from_ne_bytes([header[at], header[at + 1]]);
            if value != 0 {
                header[at..at + 2].copy_from_slice(&value.wrapping_add(by).to_ne_bytes());
            }
        }
    }

    /// Notes that the checksum is complete.
    pub fn clear_checksum(header: &mut [u8]) {
        header[0] &= !NEEDS_CSUM;
        header[6..OFFLOAD_HEADER].fill(0);
    }
}
