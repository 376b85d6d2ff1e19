//! A YAML document as values that remember where they stood.
//!
//! [`parse`] turns text into a [`Value`] tree with a [`Span`] at every node, and [`decode`] turns a value into any
//! [`serde::Deserialize`] type, with errors that point at the value (or key) at fault; [`decode_parts`] finds all of
//! them at once. Keys nobody asked for are kept by [`decode_open`], so that the room which gives them meaning can read
//! them later.

mod decode;
mod fill;
mod parse;
mod spanned;
mod value;

pub use decode::{DecodeError, Decoded, decode, decode_open, decode_parts};
pub use parse::parse;
pub use spanned::Spanned;
pub use value::{Entry, Map, Scalar, Source, Span, Value};
