//! How tables, numbers and reasons are declared once for both sides: Rust's types, and text that C's compiler reads.

/// How a field's type is written in C.
pub(crate) trait InC {
    /// The type's name.
    const TYPE: &'static str;
    /// What stands behind the field's name.
    fn suffix() -> String {
        String::new()
    }
}

macro_rules! number_in_c {
    ($($type:ty = $name:literal),*) => {$(
        impl InC for $type {
            const TYPE: &'static str = $name;
        }
    )*};
}
number_in_c!(u8 = "__u8", u16 = "__u16", u32 = "__u32", u64 = "__u64");

impl<T: InC, const COUNT: usize> InC for [T; COUNT] {
    const TYPE: &'static str = T::TYPE;
    fn suffix() -> String {
        format!("[{COUNT}]{}", T::suffix())
    }
}

/// A structure of the tables, and its twin in C.
pub(crate) trait Twin {
    /// The structure in C.
    fn in_c() -> String;
}

/// Declares keys and values of tables. All padding is written out, since what a key has between its fields counts.
macro_rules! tables {
    ($($(#[$doc:meta])* pub struct $name:ident as $c:literal { $($(#[$field_doc:meta])* pub $field:ident: $type:ty,)+ })+) => {
        $(
            $(#[$doc])*
            #[derive(
                Debug, Clone, Copy, PartialEq, Eq, Hash,
                zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout,
            )]
            #[repr(C)]
            pub struct $name { $($(#[$field_doc])* pub $field: $type,)+ }

            impl $crate::declare::InC for $name {
                const TYPE: &'static str = concat!("struct ", $c);
            }

            impl $crate::declare::Twin for $name {
                fn in_c() -> String {
                    let mut text = format!("struct {} {{\n", $c);
                    $(text += &format!(
                        "\t{} {}{};\n", <$type as $crate::declare::InC>::TYPE, stringify!($field), <$type as $crate::declare::InC>::suffix(),
                    );)+
                    let size = std::mem::size_of::<$name>();
                    text + &format!("}};\n_Static_assert(sizeof(struct {}) == {size}, \"as Rust lays it out\");\n", $c)
                }
            }
        )+

        fn structures_in_c() -> String {
            [$(<$name as $crate::declare::Twin>::in_c()),+].join("\n")
        }
    };
}

/// Declares numbers that both sides know by one name.
macro_rules! numbers {
    ($($(#[$doc:meta])* pub mod $module:ident as $c:literal { $($(#[$number_doc:meta])* pub const $name:ident = $value:literal;)+ })+) => {
        $(
            $(#[$doc])*
            pub mod $module {
                $($(#[$number_doc])* pub const $name: u32 = $value;)+
            }
        )+

        fn numbers_in_c() -> String {
            let mut text = String::new();
            $($(text += &format!("#define {}_{} {}\n", $c, stringify!($name), $module::$name);)+)+
            text
        }
    };
}

/// Declares reasons, each with a counter, and the prefix of their numbers in C.
macro_rules! reasons {
    ($(#[$enum_doc:meta])* pub enum $enum:ident as $prefix:literal {$($(#[$doc:meta])* $name:ident as $text:literal = $c:literal,)+}) => {
        $(#[$enum_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u32)]
        pub enum $enum { $($(#[$doc])* $name,)+ }

        impl $enum {
            /// All reasons, in the order of their counters.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The index of its counter; nought is no reason.
            pub fn counter(self) -> u32 {
                self as u32 + 1
            }

            /// Its name in tables and metrics.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }

        fn reasons_in_c() -> String {
            let mut text = String::new();
            $(text += &format!("#define {}_{} {}\n", $prefix, $c, $enum::$name.counter());)+
            text + &format!("#define {}_REASONS {}\n", $prefix, $enum::ALL.len() + 1)
        }
    };
}

pub(crate) use {numbers, reasons, tables};
