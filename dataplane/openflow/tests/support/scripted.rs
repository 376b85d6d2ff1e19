//! A switch from memory, which says what was written for it.

use super::End;
use plait_model_wire::openflow::{BufferId, v10};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A switch of 1.0: says one thing at each read.
#[derive(Debug)]
pub struct Scripted {
    says: VecDeque<Vec<u8>>,
    /// Whether it is gone when it has said all.
    ends: bool,
    /// Whether it takes nothing for now.
    pub is_deaf: Arc<AtomicBool>,
    /// What it was told.
    pub told: Arc<Mutex<Vec<u8>>>,
}

impl Scripted {
    /// Says hello, what it is, and that it has a packet, and then nothing.
    pub fn new(datapath: u64) -> Self {
        let features = v10::Features {
            datapath,
            buffers: 256,
            tables: 1,
            capabilities: v10::switch::Capabilities(0),
            actions: v10::switch::ActionTypes::OUTPUT,
            ports: Vec::new(),
        };
        let packet = v10::PacketIn {
            buffer: BufferId::NO_BUFFER,
            total_length: 60,
            in_port: v10::PortNumber(1),
            reason: v10::packet_in::PacketInReason::NO_MATCH,
            data: vec![0; 60],
        };
        let says = [
            v10::Body::Hello(Default::default()),
            v10::Body::Features(features),
            v10::Body::PacketIn(packet),
        ];
        let says = says.map(|body| v10::Message { xid: 1, body }.emit().unwrap()).into();
        Self { says, ends: false, is_deaf: Arc::default(), told: Arc::default() }
    }

    /// And then is gone.
    pub fn that_ends(datapath: u64) -> Self {
        Self { ends: true, ..Self::new(datapath) }
    }
}

impl End for Scripted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(says) = self.says.pop_front() else {
            return if self.ends { Ok(0) } else { Err(ErrorKind::WouldBlock.into()) };
        };
        into[..says.len()].copy_from_slice(&says);
        Ok(says.len())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_deaf.load(Ordering::Acquire) {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.told.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
}
