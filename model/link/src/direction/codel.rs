//! CoDel, RFC 8289: judge packets as they leave the queue, by how long they stood in it.

/// What a network file asks of CoDel, times in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameters {
    pub target: u64,
    pub interval: u64,
    /// Bytes of the largest frame of the link, section 5.6's `maxpacket`: a backlog of one is no queue.
    pub frame: u64,
}

/// The state of CoDel, section 5 of RFC 8289 (`codel_queue_t`). Times are in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct CodelState {
    first_above_time: Option<u64>,
    drop_next: u64,
    count: u64,
    last_count: u64,
    dropping: bool,
    /// The last drop was the first of a dropping state: the packet after it is sent, whatever its delay.
    entered: bool,
}

impl CodelState {
    /// Section 5.6, `dodequeue`: whether the delay has been above target for an interval when a packet leaves at
    /// `now` after `sojourn`, with `backlog` bytes left behind it.
    fn ok_to_drop(&mut self, parameters: Parameters, now: u64, sojourn: u64, backlog: u64) -> bool {
        if sojourn < parameters.target || backlog <= parameters.frame {
            self.first_above_time = None;
            return false;
        }
        match self.first_above_time {
            None => {
                self.first_above_time = Some(now.saturating_add(parameters.interval));
                false
            }
            Some(at) => now >= at,
        }
    }

    /// Whether the packet at the head must go. After a drop, ask for the one behind it with `again`; if a packet is
    /// marked instead, call [`marked`](Self::marked). This is section 5.5, `dequeue`, turned inside out.
    pub fn drops(
        &mut self,
        parameters: Parameters,
        now: u64,
        sojourn: u64,
        backlog: u64,
        again: bool,
    ) -> bool {
        let interval = parameters.interval;
        let ok_to_drop = self.ok_to_drop(parameters, now, sojourn, backlog);
        if std::mem::take(&mut self.entered) && again {
            return false;
        }
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
                return false;
            }
            if again {
                self.drop_next = control_law(self.drop_next, interval, self.count);
            }
            let due = now >= self.drop_next;
            self.count += u64::from(due);
            return due;
        }
        if !ok_to_drop {
            return false;
        }
        // If the last dropping state ended a short while ago, its drop rate is a good start.
        let delta = self.count - self.last_count;
        let recent = now.saturating_sub(self.drop_next) < interval.saturating_mul(16);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.drop_next = control_law(now, interval, self.count);
        self.dropping = true;
        self.entered = true;
        true
    }

    /// The queue ran empty.
    pub fn emptied(&mut self) {
        self.first_above_time = None;
        self.dropping = false;
        self.entered = false;
    }

    /// The packet was marked and goes out, so that no packet is asked about `again`.
    pub fn marked(&mut self, interval: u64) {
        if !std::mem::take(&mut self.entered) {
            self.drop_next = control_law(self.drop_next, interval, self.count);
        }
    }
}

/// Section 5.4: the next drop comes after `interval / sqrt(count)`.
fn control_law(at: u64, interval: u64, count: u64) -> u64 {
    at.saturating_add((interval as f64 / libm::sqrt(count as f64)) as u64)
}
