//! Requests that wait for an answer.

use crate::request::NUMBERS;

const FREE: u64 = u64::MAX;
/// Requests of one switch that can wait. Choice: what a controller owes that is a quarter of a second late with a million a
/// second; of a request that is overtaken by so many later ones the answer is lost.
const MOST: usize = 1 << 18;

/// When each request that waits was due, found by its number. Nothing is allocated but to grow.
#[derive(Debug, Clone)]
pub struct Outstanding {
    slots: Vec<(u32, u64)>,
    oldest: u32,
    next: u32,
    count: usize,
}

impl Default for Outstanding {
    fn default() -> Self {
        Self { slots: vec![(0, FREE); 64], oldest: 0, next: 0, count: 0 }
    }
}

impl Outstanding {
    /// How many wait.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The number that the next request will have.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// A request is sent; how many others are lost by it (none or one).
    pub fn send(&mut self, due: u64) -> u64 {
        let number = self.next;
        self.next = number.wrapping_add(1) % NUMBERS;
        self.again(number, due)
    }

    /// A request that was lost is sent again, by its old number.
    pub fn again(&mut self, number: u32, due: u64) -> u64 {
        while self.slots[self.place(number)].1 != FREE && self.slots.len() < MOST {
            let wider = vec![(0, FREE); self.slots.len() * 2];
            for (number, due) in std::mem::replace(&mut self.slots, wider) {
                if due != FREE {
                    let place = self.place(number);
                    self.slots[place] = (number, due);
                }
            }
        }
        let place = self.place(number);
        let lost = u64::from(self.slots[place].1 != FREE);
        self.slots[place] = (number, due);
        self.count += 1 - lost as usize;
        lost
    }

    /// A request is answered: when it was due, if it waited.
    #[inline]
    pub fn take(&mut self, number: u32) -> Option<u64> {
        let place = self.place(number);
        let (held, due) = self.slots[place];
        if held != number || due == FREE {
            return None;
        }
        self.slots[place].1 = FREE;
        self.count -= 1;
        Some(due)
    }

    /// The oldest request that waits of those whose number modulo `modulus` is `rest`.
    pub fn oldest_of(&mut self, modulus: u32, rest: u32) -> Option<u32> {
        self.advance();
        let span = self.next.wrapping_sub(self.oldest) % NUMBERS;
        let first = (rest + modulus - self.oldest % modulus) % modulus;
        (first..span).step_by(modulus.max(1) as usize).find_map(|ahead| {
            let number = self.oldest.wrapping_add(ahead) % NUMBERS;
            let (held, due) = self.slots[self.place(number)];
            (held == number && due != FREE).then_some(number)
        })
    }

    /// Lets go of requests that were due before; calls with each number.
    pub fn expire(&mut self, before: u64, mut lost: impl FnMut(u32)) {
        for slot in &mut self.slots {
            if slot.1 < before {
                slot.1 = FREE;
                self.count -= 1;
                lost(slot.0);
            }
        }
    }

    fn advance(&mut self) {
        let reach = self.slots.len() as u32;
        if self.next.wrapping_sub(self.oldest) % NUMBERS > reach {
            self.oldest = self.next.wrapping_sub(reach) % NUMBERS;
        }
        while self.oldest != self.next {
            let (held, due) = self.slots[self.place(self.oldest)];
            if held == self.oldest && due != FREE {
                break;
            }
            self.oldest = self.oldest.wrapping_add(1) % NUMBERS;
        }
    }

    #[inline]
    fn place(&self, number: u32) -> usize {
        number as usize & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_is_answered_once_in_any_order() {
        let mut waiting = Outstanding::default();
        for due in 0..1000 {
            assert_eq!(waiting.send(due), 0);
        }
        for number in (0..1000).rev() {
            assert_eq!(waiting.take(number), Some(u64::from(number)));
            assert_eq!(waiting.take(number), None);
        }
        assert_eq!(waiting.count(), 0);
    }

    #[test]
    fn a_request_that_is_overtaken_by_too_many_is_lost_and_its_number_means_nothing() {
        let mut waiting = Outstanding::default();
        let lost: u64 = (0..MOST as u64 + 10).map(|due| waiting.send(due)).sum();
        assert_eq!((lost, waiting.count(), waiting.take(3)), (10, MOST, None));
    }

    #[test]
    fn addresses_name_the_oldest_request_that_has_them() {
        let mut waiting = Outstanding::default();
        for due in 0..30 {
            assert_eq!(waiting.send(due), 0);
        }
        assert_eq!(waiting.oldest_of(8, 5), Some(5));
        for number in 0..6 {
            assert!(waiting.take(number).is_some());
        }
        assert_eq!(waiting.oldest_of(8, 5), Some(13));
        waiting.expire(30, drop);
        assert_eq!((waiting.oldest_of(8, 5), waiting.count()), (None, 0));
    }
}
