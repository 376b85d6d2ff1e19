//! The kernel's network emulator, for links that a file wants shaped `via: kernel`.
//!
//! It does what comes before the queue: delay, loss, duplication, corruption. Where a rate is asked as well, it and the
//! token bucket of [`crate::tbf`] belong on two devices that follow each other, never the bucket before the emulator on
//! one: packets then leave the bucket's limited queue for the emulator's, which fills without bound (VITO's experiment
//! E1 has twice the asked queueing delay).

use crate::netlink::{Message, Route};
use crate::sys::interface_index;
use crate::traffic_control::{KIND, OPTIONS, ROOT, request};
use plait_model_link::{Conditions, Distribution, GilbertElliott, Loss};
use plait_model_quantity::{Probability, TimeSpan};
use std::io;

const CORRUPT: u16 = 4;
const LOSS: u16 = 5;
const LATENCY64: u16 = 10;
const JITTER64: u16 = 11;
const SEED: u16 = 14;
const GILBERT_ELLIOTT: u16 = 2;
/// An attribute that holds others says so.
const NESTED: u16 = 1 << 15;
/// Packets that may be on their way. The emulator's own default of 1000 would drop from 12 Mbit/s on at a second.
const LIMIT: u32 = 1_000_000;

/// Whether netem does what these conditions say before the queue; otherwise, what it cannot do.
///
/// # Errors
/// What it cannot do, as the end of a sentence.
pub fn keeps(conditions: &Conditions) -> Result<(), &'static str> {
    match &conditions.jitter {
        Some(jitter) if !jitter.overtake => return Err("keep the order under jitter"),
        Some(jitter) if !matches!(jitter.distribution, Distribution::Uniform(_)) => {
            return Err("draw jitter from any distribution but `uniform`");
        }
        _ => {}
    }
    match conditions.loss {
        Loss::Packets(_) => Err("lose packets by number"),
        _ if conditions.reorder != Probability::ZERO => Err("let packets skip the delay"),
        _ => Ok(()),
    }
}

/// Lets the kernel delay, lose, duplicate and corrupt what a device of the calling thread's namespace sends. Replaces
/// an emulator that is there. Kernels before 6.6 draw without the seed.
///
/// # Errors
/// `NotFound` where the kernel has no netem; `Unsupported` for what [`keeps`] refuses.
pub fn attach(ifname: &str, conditions: &Conditions, seed: u64) -> io::Result<()> {
    keeps(conditions).map_err(|what| {
        io::Error::new(io::ErrorKind::Unsupported, format!("the kernel's netem cannot {what}"))
    })?;
    let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
    let message = request(libc::RTM_NEWQDISC, flags, interface_index(ifname)?, 0, ROOT, 0)
        .text(KIND, "netem")
        .nest(OPTIONS, |message| options(message, conditions, seed));
    Route::open()?.request(message)
}

fn options(message: Message, conditions: &Conditions, seed: u64) -> Message {
    let message = message
        .raw(&fixed(conditions))
        .attribute(LATENCY64, &conditions.delay.as_nanos().to_ne_bytes())
        .attribute(JITTER64, &spread(conditions).as_nanos().to_ne_bytes())
        .attribute(SEED, &seed.to_ne_bytes())
        .attribute(CORRUPT, &pair(share(conditions.corrupt), 0));
    match &conditions.loss {
        Loss::GilbertElliott(chain) => {
            message.nest(LOSS | NESTED, |loss| loss.attribute(GILBERT_ELLIOTT, &states(chain)))
        }
        _ => message,
    }
}

/// `struct tc_netem_qopt`: latency and jitter in ticks, both given in nanoseconds elsewhere; limit, loss, gap,
/// duplication.
fn fixed(conditions: &Conditions) -> [u8; 24] {
    let loss = match conditions.loss {
        Loss::Independent(loss) => share(loss),
        _ => 0,
    };
    let mut bytes = [0; 24];
    bytes[4..8].copy_from_slice(&LIMIT.to_ne_bytes());
    bytes[8..12].copy_from_slice(&loss.to_ne_bytes());
    bytes[16..20].copy_from_slice(&share(conditions.duplicate).to_ne_bytes());
    bytes
}

/// `struct tc_netem_gemodel`: from good to bad, from bad to good, survival while bad, loss while good.
fn states(chain: &GilbertElliott) -> [u8; 16] {
    let mut bytes = [0; 16];
    let kept = u32::MAX - share(chain.bad_loss);
    for (at, value) in [share(chain.p), share(chain.r), kept, share(chain.good_loss)].into_iter().enumerate()
    {
        bytes[4 * at..4 * at + 4].copy_from_slice(&value.to_ne_bytes());
    }
    bytes
}

fn spread(conditions: &Conditions) -> TimeSpan {
    match conditions.jitter.as_ref().map(|jitter| &jitter.distribution) {
        Some(Distribution::Uniform(spread)) => *spread,
        _ => TimeSpan::ZERO,
    }
}

fn pair(first: u32, second: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_ne_bytes());
    bytes[4..].copy_from_slice(&second.to_ne_bytes());
    bytes
}

/// A probability as a part of 2³².
fn share(probability: Probability) -> u32 {
    (probability.value() * f64::from(u32::MAX)).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_model_link::{Jitter, Queue, Rate};

    fn probability(share: f64) -> Probability {
        Probability::new(share).unwrap()
    }

    fn lossy(loss: Loss) -> Conditions {
        Conditions { loss, duplicate: probability(0.02), ..Conditions::default() }
    }

    /// The bytes that iproute2's `tc` sends for the same request.
    #[test]
    fn shares_and_states_are_written_as_tc_writes_them() {
        let sent = fixed(&lossy(Loss::Independent(probability(0.01))));
        assert_eq!(sent[8..12], 0x028f_5c29_u32.to_ne_bytes(), "loss 1%");
        assert_eq!(sent[16..20], 0x051e_b852_u32.to_ne_bytes(), "duplicate 2%");
        let chain = GilbertElliott {
            p: probability(0.01),
            r: probability(0.2),
            good_loss: probability(0.0),
            bad_loss: probability(1.0),
        };
        let mut expected = [0; 16];
        expected[..4].copy_from_slice(&0x028f_5c29_u32.to_ne_bytes());
        expected[4..8].copy_from_slice(&0x3333_3333_u32.to_ne_bytes());
        assert_eq!(states(&chain), expected, "gemodel 1% 20% 100% 0%");
    }

    /// The numbers of `linux/pkt_sched.h`: latency, jitter, seed, corruption, and a nest with the loss model.
    #[test]
    fn attributes_have_the_kernels_numbers() {
        let chain = GilbertElliott {
            p: probability(0.01),
            r: probability(0.2),
            good_loss: probability(0.0),
            bad_loss: probability(1.0),
        };
        let conditions =
            Conditions { delay: TimeSpan::from_millis(20), ..lossy(Loss::GilbertElliott(chain)) };
        let empty = Message::new(0, 0, &[]).into_bytes();
        let bytes = options(Message::new(0, 0, &[]), &conditions, 7).into_bytes();
        let mut rest = &bytes[empty.len() + 24..];
        let mut seen = Vec::new();
        while rest.len() >= 4 {
            let field = |at: usize| u16::from_ne_bytes([rest[at], rest[at + 1]]);
            let length = usize::from(field(0));
            seen.push((field(2), rest[4..length].to_vec()));
            rest = &rest[length.next_multiple_of(4)..];
        }
        let number = |at: usize| u64::from_ne_bytes(seen[at].1[..8].try_into().unwrap());
        assert_eq!(seen.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [10, 11, 14, 4, 0x8005]);
        assert_eq!((number(0), number(1), number(2)), (20_000_000, 0, 7));
        assert_eq!(seen[4].1[..4], [20, 0, 2, 0], "a Gilbert-Elliott chain of four numbers");
    }

    #[test]
    fn what_netem_would_do_otherwise_is_refused() {
        let jitter = |distribution, overtake| Conditions {
            jitter: Some(Jitter { distribution, overtake }),
            ..Conditions::default()
        };
        let spread = TimeSpan::from_millis(2);
        assert!(keeps(&jitter(Distribution::Uniform(spread), true)).is_ok());
        assert!(keeps(&jitter(Distribution::Uniform(spread), false)).unwrap_err().contains("order"));
        assert!(keeps(&jitter(Distribution::Normal(spread), true)).unwrap_err().contains("uniform"));
        assert!(keeps(&lossy(Loss::Packets(vec![3]))).unwrap_err().contains("number"));
        let reorder = Conditions { reorder: probability(0.1), ..Conditions::default() };
        assert!(keeps(&reorder).is_err());
        let delayed = Conditions {
            rate: Rate::Unlimited,
            queue: Queue::default(),
            delay: TimeSpan::from_millis(20),
            ..lossy(Loss::Independent(probability(0.01)))
        };
        assert!(keeps(&delayed).is_ok());
    }
}
