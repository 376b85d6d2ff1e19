//! What `ping` says.

use super::running::Running;
use rustix::process::Signal;

/// What `ping` says: sent, received, and the mean round trip in milliseconds.
#[derive(Debug)]
pub struct Pinged {
    pub sent: u32,
    pub received: u32,
    pub mean: f64,
    /// Numbers of the answers that came.
    pub answered: Vec<u32>,
}

impl Pinged {
    /// Reads it.
    pub fn read(text: &str) -> Self {
        let summary = text.lines().find(|line| line.contains("packets transmitted")).expect(text);
        let mut numbers = summary.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok());
        let (sent, received) = (numbers.next().unwrap(), numbers.next().unwrap());
        let mean = text
            .lines()
            .find_map(|line| line.strip_prefix("rtt ")?.split(" = ").nth(1)?.split('/').nth(1)?.parse().ok());
        let answered = text
            .lines()
            .filter(|line| !line.contains("DUP"))
            .filter_map(|line| line.split("icmp_seq=").nth(1)?.split(' ').next()?.parse().ok())
            .collect();
        Self { sent, received, mean: mean.unwrap_or(f64::NAN), answered }
    }

    /// Ends one that goes on. Every packet came back but the last, so many at most, which may have been on their way.
    #[track_caller]
    pub fn unbroken(ping: Running, on_their_way: u32) -> Self {
        ping.signal(Signal::INT);
        let pinged = Self::read(&ping.wait().stdout);
        let last = pinged.answered.iter().max().copied().unwrap_or_default();
        let lost: Vec<u32> = (1..last).filter(|number| !pinged.answered.contains(number)).collect();
        assert!(
            lost.is_empty() && last + on_their_way >= pinged.sent,
            "of {} to {last}: {lost:?}",
            pinged.sent
        );
        pinged
    }

    /// Every packet came back.
    #[track_caller]
    pub fn whole(self) -> Self {
        assert!(self.sent > 0 && self.sent == self.received, "{self:?}");
        self
    }
}
