//! Control applications as WebAssembly components: in any language that compiles to WebAssembly, added while Plait
//! runs, with views of their own.
//!
//! A component exports one function, `run`, and imports nothing. The function's type is what the application reads and
//! writes: each parameter is the view of its name, and so is each field of the record that it gives.
//!
//! ```wit
//! package example:counting;
//!
//! world application {
//!     record links { up: list<tuple<u32, u32>> }
//!     record count { links: u32 }
//!     record outputs { count: count }
//!     export run: func(links: links) -> result<outputs, string>;
//! }
//! ```
//!
//! What is optional in its [`Manifest`](plait_control_runtime::Manifest) is an `option` there. The manifest says the
//! rest: versions, and which views are streams.
//!
//! 1. [`Loader`]: from bytes to an [`Application`](plait_control_runtime::Application), checked.
//! 2. [`Limits`]: what a run may use. Each run has an instance of its own, which ends with it: nothing is left over from
//!    one run to the next.
#![forbid(unsafe_code)]

mod application;
mod load;
mod schema;
mod value;

pub use load::{Limits, LoadFault, Loader};
