//! How much of the processors the host gave to others while the load ran.

use std::fs;

/// Ticks of all processors so far: stolen, idle, and all.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ticks {
    stolen: u64,
    idle: u64,
    all: u64,
}

impl Ticks {
    pub fn now() -> Self {
        fs::read_to_string("/proc/stat").map_or_else(|_| Self::default(), |text| Self::parse(&text))
    }

    /// proc(5): user, nice, system, idle, iowait, irq, softirq, steal; guests' are in the first two.
    fn parse(text: &str) -> Self {
        let line = text.lines().find(|line| line.starts_with("cpu ")).unwrap_or_default();
        let ticks: Vec<u64> = line.split_whitespace().skip(1).take(8).flat_map(str::parse).collect();
        match ticks[..] {
            [.., idle, wait, _, _, stolen] => Self { stolen, idle: idle + wait, all: ticks.iter().sum() },
            _ => Self::default(),
        }
    }

    /// Shares that were stolen and busy since then.
    pub fn since(self, then: Self) -> (f64, f64) {
        let all = self.all.saturating_sub(then.all).max(1) as f64;
        let share = |part: u64| part as f64 / all;
        (share(self.stolen.saturating_sub(then.stolen)), 1.0 - share(self.idle.saturating_sub(then.idle)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_the_eighth_number() {
        let then = Ticks::parse("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 1\n");
        let now = Ticks::parse("cpu  10 0 20 50 0 0 0 20 9 9\n");
        assert_eq!(now.since(then), (0.2, 0.5));
    }
}
