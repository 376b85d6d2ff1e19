//! A device on which packets leave, and what left on it.

use super::UNDERLAY;
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_links::tap;
use plait_model_wire::ethernet::Frame;
use std::fs::File;
use std::io::Read;
use std::time::Duration;

/// What stands before a frame that a TAP hands over: nothing is left to be computed of these.
const OFFLOAD_HEADER: usize = 10;

/// The device by which copies leave. What a program still has in its hands at its end does not.
pub struct Line {
    tap: File,
    /// The device's number.
    pub index: u32,
}

impl Line {
    /// One in a namespace, as long as it lives.
    pub fn new(namespace: &Namespace) -> Self {
        let tap = namespace.run(|| tap::create("line")).unwrap().unwrap();
        namespace.up("line").unwrap();
        let index = || {
            let socket =
                rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)?;
            rustix::net::netdevice::name_to_index(socket, "line")
        };
        let index = namespace.run(index).unwrap().unwrap();
        Self { tap: tap.into(), index }
    }

    /// The frames that left, of which there should be so many: a queue may be another processor's for a moment. The kernel's
    /// own are of another address.
    pub fn left(&self, count: usize) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        let mut frame = [0; 4096];
        for wait in [Duration::ZERO, Duration::from_millis(1), Duration::from_millis(100)] {
            if frames.len() < count {
                std::thread::sleep(wait);
            }
            while let Ok(length) = (&self.tap).read(&mut frame) {
                let frame = &frame[OFFLOAD_HEADER..length];
                if Frame::parse(frame).is_ok_and(|frame| frame.source() == UNDERLAY) {
                    frames.push(frame.to_vec());
                }
            }
        }
        frames
    }
}
