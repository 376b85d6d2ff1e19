//! What a probe says, and that it was this controller who said it.

use hmac::{Hmac, Mac as _};
use plait_control_openflow::Port;
use plait_model_wire::{Malformed, ethernet, lldp, number::ether_type, push};
use sha2::Sha256;

/// Whose part of LLDP it is. Choice: a number of the range that nobody is assigned ("locally administered").
const ORGANISATION: [u8; 3] = [0x02, b'P', b'L'];
const SUBTYPE: u8 = 1;
/// Bytes of the authenticator. Choice: 16 of SHA-256's 32, which nobody guesses (RFC 2104 section 5).
const AUTHENTICATOR: usize = 16;

/// From where a probe comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Probe {
    pub switch: u64,
    pub port: Port,
    /// In which round it was sent, so that a recording is of no use for long.
    pub round: u64,
}

impl Probe {
    /// The frame: LLDP, with its round and an authenticator in a part of our own.
    pub fn frame(&self, key: &[u8], source: ethernet::Mac) -> Vec<u8> {
        let mut own = self.round.to_be_bytes().to_vec();
        own.extend_from_slice(&self.authenticator(key)[..AUTHENTICATOR]);
        let repr = lldp::Repr {
            chassis: (lldp::LOCAL, self.switch.to_be_bytes().to_vec()),
            port: (lldp::LOCAL, self.port.0.to_be_bytes().to_vec()),
            // Choice: the two minutes that neighbours are used to (IEEE 802.1AB section 9.2.5.22).
            time_to_live: 120,
            organisational: vec![(ORGANISATION, SUBTYPE, own)],
        };
        let mut frame = Vec::new();
        push(&mut frame, &repr);
        let (destination, ether_type) = (lldp::NEAREST_BRIDGE, ether_type::LLDP);
        push(&mut frame, &ethernet::Repr { destination, source, ether_type });
        frame
    }

    /// The probe that a frame is, if it is one and authentic.
    pub fn of(frame: &[u8], key: &[u8]) -> Result<Option<Self>, Malformed> {
        let frame = ethernet::Frame::parse(frame)?;
        if frame.ether_type() != ether_type::LLDP {
            return Ok(None);
        }
        let packet = lldp::Packet::parse(frame.payload())?;
        let ((lldp::LOCAL, chassis), (lldp::LOCAL, port)) = (packet.chassis(), packet.port()) else {
            return Ok(None);
        };
        let (Ok(chassis), Ok(port)) = (chassis.try_into(), port.try_into()) else { return Ok(None) };
        let own =
            packet.organisational().find(|(whose, subtype, _)| (*whose, *subtype) == (ORGANISATION, SUBTYPE));
        let Some((round, authenticator)) = own.and_then(|(_, _, value)| value.split_first_chunk()) else {
            return Ok(None);
        };
        let probe = Self {
            switch: u64::from_be_bytes(chassis),
            port: Port(u32::from_be_bytes(port)),
            round: u64::from_be_bytes(*round),
        };
        let authentic = authenticator.len() == AUTHENTICATOR
            && probe.mac(key).is_some_and(|mac| mac.verify_truncated_left(authenticator).is_ok());
        Ok(authentic.then_some(probe))
    }

    fn mac(&self, key: &[u8]) -> Option<Hmac<Sha256>> {
        // Every length of a key is one.
        let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
        mac.update(b"plait link probe");
        mac.update(&self.switch.to_be_bytes());
        mac.update(&self.port.0.to_be_bytes());
        mac.update(&self.round.to_be_bytes());
        Some(mac)
    }

    fn authenticator(&self, key: &[u8]) -> [u8; 32] {
        self.mac(key).map_or([0; 32], |mac| mac.finalize().into_bytes().into())
    }
}
