//! How long a worker asks again and again before it sleeps.

use std::time::Duration;

/// The longest that it asks for. Choice: 100 us, some times what it takes to wake a processor that sleeps, and less than
/// anybody notices of one that does not.
const MOST: Duration = Duration::from_micros(100);
/// What it begins with.
const LEAST: Duration = Duration::from_micros(10);
/// Between two questions at most, unless another thread had the processor.
const GAP: Duration = Duration::from_micros(25);

/// A wait that asks without sleeping, for as long as that has paid lately: who is asked one question after the other
/// answers each sooner by the time that it takes to fall asleep and to wake. It grows while waits are short, and is
/// nothing where they are long or others want the processor. Source: the Linux kernel's `halt_poll_ns`.
#[derive(Debug, Default)]
pub struct Spin {
    budget: Duration,
}

impl Spin {
    /// Asks `poll`, which waits as long as it is told, until it finds something or `wait` is over. None if it could not
    /// be asked. `clock` never goes back.
    pub fn wait(
        &mut self,
        wait: Duration,
        clock: impl Fn() -> Duration,
        mut poll: impl FnMut(Duration) -> Option<usize>,
    ) -> Option<usize> {
        let began = clock();
        let (mut before, until) = (began, began + self.budget.min(wait));
        while before < until {
            match poll(Duration::ZERO) {
                Some(0) => {}
                // Somebody else asks: whether that one waits, a poll that waits finds out.
                None => break,
                found => return found,
            }
            let now = clock();
            if now > before + GAP {
                self.budget = Duration::ZERO;
                break;
            }
            before = now;
            std::hint::spin_loop();
        }
        let found = poll(wait);
        self.budget = match clock().saturating_sub(began) {
            _ if found.is_none_or(|found| found == 0) => Duration::ZERO,
            waited if waited > MOST => Duration::ZERO,
            waited if waited > self.budget => (self.budget * 2).clamp(LEAST, MOST),
            _ => self.budget,
        };
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const MICROSECOND: Duration = Duration::from_micros(1);

    /// Waits for something that comes after `comes`, where a question takes a microsecond, or `question`. Whether it slept.
    fn sleeps(spin: &mut Spin, comes: Duration, question: Duration) -> bool {
        let (now, slept) = (Cell::new(Duration::ZERO), Cell::new(false));
        let found = spin.wait(
            Duration::from_millis(1),
            || now.get(),
            |wait| {
                slept.set(slept.get() | !wait.is_zero());
                let left = comes.saturating_sub(now.get());
                now.set(now.get() + left.min(wait).max(question));
                Some(usize::from(now.get() >= comes))
            },
        );
        assert_eq!(found, Some(usize::from(comes <= Duration::from_millis(1))));
        slept.get()
    }

    #[test]
    fn who_is_asked_often_stays_awake() {
        let (mut spin, often) = (Spin::default(), MICROSECOND * 70);
        let slept: Vec<bool> = (0..8).map(|_| sleeps(&mut spin, often, MICROSECOND)).collect();
        assert_eq!(slept, [true, true, true, true, false, false, false, false]);
    }

    #[test]
    fn who_is_asked_seldom_or_has_no_processor_of_its_own_sleeps() {
        for comes in [MOST * 2, MICROSECOND * 2000] {
            let mut spin = Spin { budget: MOST };
            sleeps(&mut spin, comes, MICROSECOND);
            assert_eq!(spin.budget, Duration::ZERO, "{comes:?}");
        }
        let mut spin = Spin { budget: MOST };
        assert!(sleeps(&mut spin, MOST, GAP * 2), "others had the processor");
    }

    #[test]
    fn who_may_not_ask_is_told_so() {
        assert_eq!(Spin::default().wait(MOST, || Duration::ZERO, |_| None), None);
    }
}
