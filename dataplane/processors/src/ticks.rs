//! How much of the processors a hypervisor gave to others.

use rustix::process::getpriority_process;
use std::fs;
use std::time::Duration;

/// Milliseconds of a tick of `USER_HZ`, in which the kernel tells programs of time (proc(5)).
const TICK: u64 = 10;

/// Ticks of all processors together since the machine began.
///
/// Choice: what nice programs ran counts as spare, since they give way, a [`Waker`](crate::Waker) among them; but not for who is
/// nice as well, whose own time it may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ticks {
    stolen: u64,
    spare: u64,
    all: u64,
}

impl Ticks {
    /// Until now; none if the kernel does not tell.
    pub fn now() -> Self {
        let nice = getpriority_process(None).is_ok_and(|own| own > 0);
        fs::read_to_string("/proc/stat").map_or_else(|_| Self::default(), |text| Self::parse(&text, nice))
    }

    /// proc(5): user, nice, system, idle, iowait, irq, softirq, steal; guests' are in the first two.
    fn parse(text: &str, is_nice: bool) -> Self {
        let line = text.lines().find(|line| line.starts_with("cpu ")).unwrap_or_default();
        let ticks: Vec<u64> = line.split_whitespace().skip(1).take(8).flat_map(str::parse).collect();
        match ticks[..] {
            [_, nice, _, idle, wait, _, _, stolen] => {
                let given_way = if is_nice { 0 } else { nice };
                Self { stolen, spare: given_way + idle + wait, all: ticks.iter().sum() }
            }
            _ => Self::default(),
        }
    }

    /// How long all processors together stood still, because the hypervisor ran others.
    pub fn stolen(self) -> Duration {
        Duration::from_millis(self.stolen.saturating_mul(TICK))
    }

    /// Shares of all time since then: stolen, and busy, in which what was stolen counts: it is not there for anybody. None while
    /// no time has passed.
    pub fn since(self, then: Self) -> Option<(f64, f64)> {
        let all = self.all.checked_sub(then.all).filter(|ticks| *ticks > 0)? as f64;
        let share = |now: u64, before: u64| now.saturating_sub(before) as f64 / all;
        Some((share(self.stolen, then.stolen), 1.0 - share(self.spare, then.spare)))
    }
}

/// Whether a hypervisor is under this machine: the processor (x86), the firmware (ARM) or Xen says so, or something was stolen
/// already.
pub fn is_virtual() -> bool {
    let says_so = |text: String| {
        let flags = text.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
        flags.split_whitespace().any(|flag| flag == "hypervisor")
    };
    let told = |place: &&str| fs::exists(place).unwrap_or(false);
    fs::read_to_string("/proc/cpuinfo").is_ok_and(says_so)
        || ["/proc/device-tree/hypervisor", "/sys/hypervisor/type"].iter().any(told)
        || Ticks::now().stolen > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_the_eighth_number_and_nice_programs_leave_room() {
        let then = Ticks::parse("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 1\n", false);
        let at = |nice| Ticks::parse("cpu  10 30 20 20 0 0 0 20 9 9\n", nice);
        let now = at(false);
        assert_eq!(now.since(then), Some((0.2, 0.5)));
        assert_eq!(at(true).since(then), Some((0.2, 0.8)), "it may be the reader's own");
        assert_eq!(now.since(now), None);
        assert_eq!(then.since(now), None);
        assert_eq!(now.stolen(), Duration::from_millis(200));
        assert_eq!(Ticks::parse("cpu  10 0 20\n", false), Ticks::default());
        assert_eq!(Ticks::parse("", false), Ticks::default());
    }
}
