//! Who had a datapath last, of switches that show who they are.
//!
//! Choice: who somebody is is the very certificate, not the name in it or its key: authorities may give one name to several, and
//! nothing is read of a certificate but that it is theirs. A switch with a new certificate waits until nothing is kept any more.

use std::collections::HashMap;
use std::time::Duration;

/// Who somebody is: a hash of a certificate that was shown, which nobody can make another have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity(pub [u8; 32]);

/// Who had each datapath last, and since when it is away.
#[derive(Debug, Default)]
pub(crate) struct Holders(HashMap<u64, Holder>);

#[derive(Debug)]
struct Holder {
    identity: Identity,
    gone: Option<Duration>,
}

impl Holders {
    /// Whether somebody may have a datapath: its last holder has gone longer ago than it is kept, or is the same.
    pub fn may_have(&self, datapath: u64, who: Option<Identity>, now: Duration, keep: Duration) -> bool {
        self.0.get(&datapath).is_none_or(|last| {
            who == Some(last.identity) || last.gone.is_some_and(|gone| now >= gone.saturating_add(keep))
        })
    }

    /// Somebody has it now. Of whoever shows nothing nothing is known.
    pub fn took(&mut self, datapath: u64, who: Option<Identity>) {
        match who {
            Some(identity) => self.0.insert(datapath, Holder { identity, gone: None }),
            None => self.0.remove(&datapath),
        };
    }

    /// Its holder has gone.
    pub fn went(&mut self, datapath: u64, now: Duration) {
        if let Some(holder) = self.0.get_mut(&datapath) {
            holder.gone = Some(now);
        }
    }

    /// Keeps it for nobody any more, if its holder has gone. Whether it was kept.
    pub fn release(&mut self, datapath: u64, now: Duration, keep: Duration) -> bool {
        let is_kept = |last: &Holder| last.gone.is_some_and(|gone| now < gone.saturating_add(keep));
        let was_kept = self.0.get(&datapath).is_some_and(is_kept);
        if was_kept {
            self.0.remove(&datapath);
        }
        was_kept
    }

    /// The switch is forgotten.
    pub fn forget(&mut self, datapath: u64) {
        self.0.remove(&datapath);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_datapath_that_is_away_is_its_last_holders_for_a_time_or_until_it_is_released() {
        let [one, other] = [1, 2].map(|byte| Some(Identity([byte; 32])));
        let mut holders = Holders::default();
        assert!(holders.may_have(7, one, SECOND, SECOND), "it was nobody's");
        holders.took(7, one);
        let may = |holders: &Holders, seconds| {
            [one, other, None].map(|who| holders.may_have(7, who, SECOND * seconds, SECOND * 3))
        };
        assert_eq!(may(&holders, 100), [true, false, false], "it is there");
        holders.went(7, SECOND * 100);
        assert_eq!(may(&holders, 102), [true, false, false]);
        assert_eq!(may(&holders, 103), [true; 3], "it was away for long enough");
        assert!(!holders.release(7, SECOND * 103, SECOND * 3) && !holders.release(8, SECOND, SECOND));
        assert!(holders.release(7, SECOND * 102, SECOND * 3));
        assert_eq!(may(&holders, 102), [true; 3]);
        holders.took(7, one);
        assert!(!holders.release(7, SECOND * 200, SECOND * 3), "it is there");
        holders.went(7, SECOND * 200);
        assert!(!holders.may_have(7, other, SECOND * 300, Duration::MAX), "it is kept for ever");
        // Who shows nothing has nothing kept, and who is forgotten neither.
        holders.took(7, None);
        holders.went(7, SECOND * 300);
        assert_eq!(may(&holders, 300), [true; 3]);
        holders.took(7, other);
        holders.forget(7);
        assert_eq!(may(&holders, 300), [true; 3]);
    }
}
