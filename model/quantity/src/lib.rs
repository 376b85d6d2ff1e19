//! Quantities and their written form.
//!
//! A network file says `10Mbit`, `20ms`, `1%` and `64KiB`. Each of these is a type here, so that no bare number
//! with an unspoken unit travels through the house:
//!
//! | type | written | holds |
//! |---|---|---|
//! | [`Bandwidth`] | `64kbit`, `10Mbit`, `1.5Gbit` | bits per second |
//! | [`ByteCount`] | `1500B`, `64KiB`, `10MB` | bytes |
//! | [`TimeSpan`] | `100us`, `20ms`, `1.5s`, `2min`, `1h` | nanoseconds |
//! | [`Probability`] | `1%`, `0.05%` | a share from 0 to 1 |
//!
//! Every type parses with [`std::str::FromStr`], prints the shortest form that parses back to the same value, and
//! (de)serialises as that string. A bare number is an error that says which unit to add.
#![forbid(unsafe_code)]

mod bandwidth;
mod byte_count;
mod number;
mod probability;
mod time_span;

pub use bandwidth::Bandwidth;
pub use byte_count::ByteCount;
pub use number::QuantityError;
pub use probability::Probability;
pub use time_span::TimeSpan;
