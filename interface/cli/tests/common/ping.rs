//! What `ping` says.

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

    /// Every packet came back.
    #[track_caller]
    pub fn whole(self) -> Self {
        assert!(self.sent > 0 && self.sent == self.received, "{self:?}");
        self
    }
}
