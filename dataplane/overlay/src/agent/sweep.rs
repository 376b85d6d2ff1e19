//! Looks for silent stations.

use super::{Agent, AgentError, heard_at, now};
use crate::Identifier;
use crate::config::DeviceConfig;
use crate::protocol::Change;
use plait_dataplane_reference::tables::FibKey;
use std::collections::BTreeMap;
use std::time::Duration;

/// From one look to the next.
const PAUSE: Duration = Duration::from_secs(10);

/// Stations that are looked at before others are heard again. Choice: as many as take about a millisecond.
const AT_ONCE: usize = 1000;

/// When stations were looked at, and where a look is.
pub(super) struct Sweep {
    began: Duration,
    /// Of a look that is under way: behind this one, or at the first.
    behind: Option<Option<FibKey>>,
}

impl Sweep {
    /// Nobody has looked yet, nor will for a while.
    pub fn new(now: Duration) -> Self {
        Self { began: now, behind: None }
    }
}

impl Agent {
    /// Looks whether it is time, then forgets stations that were silent for long, and tells those who watch which were learned: some at
    /// a time, so that what the kernel says is heard between.
    pub(super) fn sweep(&mut self) -> Result<(), AgentError> {
        if self.sweep.behind.is_none() && now() >= self.sweep_due() {
            self.sweep = Sweep { began: now(), behind: Some(None) };
            self.learned.begin_look(self.untold.is_watched);
        }
        let Some(mut kept) = self.sweep.behind.take() else { return Ok(()) };
        let devices: BTreeMap<u32, &DeviceConfig> =
            self.devices.values().map(|live| (live.tenant, &live.config)).collect();
        let second = heard_at(now());
        for _ in 0..AT_ONCE {
            // Behind one that is gone the kernel begins anew: so it is the last that stays.
            let Some(key) = self.tables.fib.after(kept.as_ref())? else {
                self.learned.end_look();
                return Ok(());
            };
            // It may be gone by now.
            let Some(entry) = self.tables.fib.get(&key)? else { continue };
            self.learned.meet();
            let device = devices.get(&key.tenant);
            let age = device.map_or(0, |device| device.ageing);
            let is_old = entry.heard != 0 && second.saturating_sub(entry.heard) > age;
            if is_old {
                self.tables.remove_entry(&key)?;
            } else {
                kept = Some(key);
            }
            if is_old || entry.heard != 0 && self.learned.find(key, entry.node) {
                let [a, b, c, d, e, f, ..] = key.identifier;
                let identifier = Identifier::Station([a, b, c, d, e, f]);
                let told =
                    |device: &&DeviceConfig| Change::Identifier { device: device.name.clone(), identifier };
                self.untold.add(device.map(told));
            }
        }
        self.sweep.behind = Some(kept);
        Ok(())
    }

    /// When [`sweep`](Self::sweep) has something to do: it finds those that were learned as well.
    pub(super) fn sweep_due(&self) -> Duration {
        match self.sweep.behind {
            Some(_) => Duration::ZERO,
            None => self.sweep.began + self.learned.pause(self.untold.is_watched, PAUSE),
        }
    }
}
