//! Headers whose layout is written once: [`header!`] makes the Rust structure and the C one of the same field list, so
//! that eBPF programs and this room cannot disagree.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// 24 bits in network order, as VNIs and NSH's path identifiers are.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(transparent)]
pub struct U24([u8; 3]);

impl U24 {
    /// The lower 24 bits of a number; the upper eight are cut off.
    pub fn new(value: u32) -> Self {
        let [_, a, b, c] = value.to_be_bytes();
        Self([a, b, c])
    }

    /// The number.
    pub fn get(self) -> u32 {
        let [a, b, c] = self.0;
        u32::from_be_bytes([0, a, b, c])
    }
}

impl std::fmt::Debug for U24 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

/// How a field's type is written in C, where all numbers stay in network order.
pub trait InC {
    /// The type's name.
    const TYPE: &'static str;
    /// What stands behind the field's name.
    const SUFFIX: &'static str = "";
}

impl InC for u8 {
    const TYPE: &'static str = "__u8";
}

impl InC for U16 {
    const TYPE: &'static str = "__be16";
}

impl InC for U24 {
    const TYPE: &'static str = "__u8";
    const SUFFIX: &'static str = "[3]";
}

impl InC for U32 {
    const TYPE: &'static str = "__be32";
}

macro_rules! array_in_c {
    ($($count:literal)*) => {$(
        impl InC for [u8; $count] {
            const TYPE: &'static str = "__u8";
            const SUFFIX: &'static str = concat!("[", $count, "]");
        }
    )*};
}
array_in_c!(2 3 4 6 16);

pub use zerocopy::big_endian::{U16, U32};

/// A header of fixed size: the structure, and its twin in C.
pub trait Layout {
    /// The structure's name in C.
    const NAME: &'static str;

    /// The structure in C.
    fn in_c() -> String;
}

/// All headers in C.
pub fn headers_in_c() -> String {
    use crate::*;
    [
        ethernet::Header::in_c(),
        arp::Header::in_c(),
        ipv4::Header::in_c(),
        ipv6::Header::in_c(),
        udp::Header::in_c(),
        gre::Header::in_c(),
        nvgre::Key::in_c(),
        vxlan::Header::in_c(),
        vxlan_gpe::Header::in_c(),
        nsh::Header::in_c(),
        geneve::Header::in_c(),
        gue::Header::in_c(),
        mpls::Header::in_c(),
        ovstack::Header::in_c(),
        icmp::Header::in_c(),
        neighbor::Header::in_c(),
        too_big::Header::in_c(),
        relay_list::Header::in_c(),
        segment_routing::Header::in_c(),
    ]
    .join("\n")
}

/// Declares a header of fixed size, its fields in the order of the wire.
macro_rules! header {
    ($(#[$doc:meta])* pub struct $name:ident as $c:literal { $($(#[$field_doc:meta])* pub $field:ident: $type:ty,)+ }) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Default,
            zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout, zerocopy::Unaligned,
        )]
        #[repr(C)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)+ }

        impl $name {
            /// Bytes on the wire.
            pub const LENGTH: usize = std::mem::size_of::<Self>();
        }

        impl $crate::layout::Layout for $name {
            const NAME: &'static str = $c;

            fn in_c() -> String {
                let mut text = format!("struct {} {{\n", $c);
                $(
                    text += &format!(
                        "\t{} {}{};\n",
                        <$type as $crate::layout::InC>::TYPE,
                        stringify!($field),
                        <$type as $crate::layout::InC>::SUFFIX,
                    );
                )+
                // Not packed, since of packed structures a compiler reads single bytes: nature lays them out the same.
                let (name, size) = ($c, std::mem::size_of::<$name>());
                text += &format!("}};\n_Static_assert(sizeof(struct {name}) == {size}, \"as Rust lays it out\");\n");
                $(
                    text += &format!(
                        "_Static_assert(__builtin_offsetof(struct {name}, {0}) == {1}, \"as Rust lays it out\");\n",
                        stringify!($field),
                        std::mem::offset_of!($name, $field),
                    );
                )+
                text
            }
        }
    };
}
pub(crate) use header;
