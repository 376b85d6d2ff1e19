//! Who cuts superpackets of UDP before they come up: a pair of devices beside those of tenants.
//!
//! Choice: there as soon as a device is, since a superpacket that came would wait for nobody.

use super::{Agent, Places};
use plait_dataplane_links::cutting::{self, Former, Mark, Pair};
use plait_dataplane_reference::tables::Segmenter;
use std::io;
use std::os::unix::ffi::OsStrExt;

/// The names of both ends, and the mark of whose they are: of who keeps programs at a place.
fn names(places: &Places) -> ([String; 2], Mark) {
    let mark = cutting::mark(places.pins.as_os_str().as_bytes());
    let [_, a, b, c, d, _] = mark;
    let front = format!("ovcut{:08x}", u32::from_be_bytes([a, b, c, d]));
    ([front.clone(), front + "e"], mark)
}

impl Agent {
    /// Has superpackets cut, as a former life did.
    pub(super) fn start_segmenter(&mut self) {
        if self.segmenter {
            return;
        }
        let (ends, mark) = names(&self.places);
        let started = Pair::make(ends, mark, Former::TakenOver).and_then(|mut pair| {
            pair.start()?;
            let [front, back] = pair.ends()?;
            pair.keep();
            Ok(Segmenter { front, back })
        });
        match started.map(|segmenter| self.tables.set_segmenter(segmenter)) {
            Ok(Ok(())) => self.segmenter = true,
            Ok(Err(error)) => tracing::warn!(%error, "superpackets of UDP are lost"),
            Err(error) => tracing::warn!(%error, "superpackets of UDP are lost"),
        }
    }

    /// Ends that, where no device is left.
    pub(super) fn end_segmenter(&mut self) {
        if !self.segmenter || !self.devices.is_empty() {
            return;
        }
        let ended =
            self.tables.set_segmenter(Segmenter { front: 0, back: 0 }).map_err(|error| error.to_string());
        if let Err(error) = ended.and_then(|()| remove(&self.places).map_err(|error| error.to_string())) {
            tracing::warn!(error, "the devices that cut superpackets stay");
        }
        self.segmenter = false;
    }
}

/// Takes the pair away, if there is one.
pub(super) fn remove(places: &Places) -> io::Result<()> {
    let ([front, _], mark) = names(places);
    cutting::remove(&front, mark)
}
