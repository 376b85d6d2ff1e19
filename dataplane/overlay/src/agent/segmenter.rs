//! Who cuts superpackets of UDP before they come up, and any that go on in a tunnel of another kind: a pair of devices beside those
//! of tenants.
//!
//! Choice: there from the first application on until the agent is removed, since a superpacket that came would wait for nobody.

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
    /// Has superpackets cut, as a former life did; once more where somebody took the pair away.
    pub(super) fn start_segmenter(&mut self) {
        let (ends, mark) = names(&self.places);
        let is_there = |known: &Segmenter| {
            [known.front, known.back] == ends.each_ref().map(|end| cutting::index(end).unwrap_or(0))
        };
        if self.config.applications.is_empty() || self.segmenter.as_ref().is_some_and(is_there) {
            return;
        }
        let started = Pair::make(ends, mark, Former::TakenOver).and_then(|mut pair| {
            pair.start()?;
            let [front, back] = pair.ends()?;
            pair.keep();
            Ok(Segmenter { front, back })
        });
        let told = started.map_err(|error| error.to_string()).and_then(|segmenter| {
            self.tables.set_segmenter(segmenter).map_err(|error| error.to_string()).map(|()| segmenter)
        });
        match told {
            Ok(segmenter) => self.segmenter = Some(segmenter),
            Err(error) => tracing::warn!(
                error,
                "superpackets of UDP are lost, as are those that change the kind of their tunnel: this host needs veth devices \
                 (`modprobe veth`), and none of somebody else's called {}",
                names(&self.places).0[0]
            ),
        }
    }

    /// Whether a device is one of the pair.
    pub(super) fn is_segmenter(&self, name: &str) -> bool {
        names(&self.places).0.iter().any(|end| end == name)
    }
}

/// Makes one that cuts, in the calling thread's network namespace, and takes it away.
pub(crate) fn makes_segmenter() -> io::Result<()> {
    let (ends, mark) = names(&Places::of("default"));
    Pair::make(ends, mark, Former::Refused)?.start()
}

/// Takes the pair away, if there is one.
pub(super) fn remove(places: &Places) -> io::Result<()> {
    let ([front, _], mark) = names(places);
    cutting::remove(&front, mark)
}
