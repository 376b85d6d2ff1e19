//! A switch in memory: its handshake, each station once, and then the same requests again and again.

use plait_control_openflow::Version;
use plait_dataplane_load::request::{Template, datapath};
use plait_dataplane_load::switch::Switch;
use plait_dataplane_openflow::End;
use plait_model_wire::openflow::TooLong;
use std::io;

/// Ports of a switch.
const PORTS: u16 = 4;
/// Bytes of the controller that the switch listens to. What comes later answers requests, and is only taken.
const HEARD: usize = 64 << 10;

/// What a switch says, made before anything is measured.
#[derive(Debug)]
pub struct Tape {
    switch: Switch,
    said: Vec<u8>,
    at: usize,
    /// Where what is said again and again begins.
    again: usize,
    /// Bytes of each of its requests.
    request: usize,
    heard: usize,
}

impl Tape {
    /// Of a switch with an even number of stations.
    pub fn new(number: u16, stations: u16) -> Result<Self, TooLong> {
        let template = Template::new(Version::V10, 0, number, PORTS, true)?;
        let mut said = Vec::new();
        for station in 0..stations {
            template.stamp(station.into(), station, (station & 1) ^ 1, &mut said);
        }
        let again = said.len();
        let request = again / usize::from(stations);
        for station in 0..stations {
            template.stamp(station.into(), station, station ^ 1, &mut said);
        }
        let switch = Switch::new(Version::V10, datapath(0, number), PORTS);
        Ok(Self { switch, said, at: 0, again, request, heard: 0 })
    }
}

#[allow(dead_code, reason = "who lets a switch go after a while asks")]
impl Tape {
    /// Bytes of each of its requests.
    pub fn request(&self) -> usize {
        self.request
    }
}

impl End for Tape {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let output = self.switch.output();
        // An answer, to an echo after a pause for one, comes between two requests and not in the middle of one.
        if !output.is_empty() && self.at.is_multiple_of(self.request) {
            let count = output.len().min(into.len());
            into[..count].copy_from_slice(&output[..count]);
            output.drain(..count);
            return Ok(count);
        }
        if !self.switch.is_ready() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut filled = 0;
        while filled < into.len() {
            let count = (self.said.len() - self.at).min(into.len() - filled);
            into[filled..filled + count].copy_from_slice(&self.said[self.at..self.at + count]);
            filled += count;
            self.at += count;
            if self.at == self.said.len() {
                self.at = self.again;
            }
        }
        Ok(filled)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.heard < HEARD {
            self.heard += bytes.len();
            self.switch.handle_input(bytes, |_| {});
        }
        Ok(bytes.len())
    }
}
