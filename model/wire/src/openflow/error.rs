//! Errors: the type and code, which each version has a table for, and the beginning of the message that was wrong.

/// The table of a version's errors: a type and its codes, each with its name in the specification.
macro_rules! errors {
    ($($(#[$type_doc:meta])* $type:literal = $type_value:literal { $($code:ident = $value:literal $name:literal $meaning:literal,)* })+) => {
        /// Why something was refused: a type, and a code of that type.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct Reason {
            /// What was wrong: a message, an action, a match…
            pub kind: u16,
            /// What was wrong with it.
            pub code: u16,
        }

        impl Reason {
            $($(
                #[doc = concat!($meaning, " (", $name, ")")]
                pub const $code: Self = Self { kind: $type_value, code: $value };
            )*)+

            /// Every reason that the specification names.
            pub const NAMED: &'static [(Self, &'static str)] = &[$($((Self::$code, $name),)*)+];

            /// Every type that the specification names.
            pub const TYPES: &'static [(u16, &'static str)] = &[$(($type_value, $type),)+];

            /// The specification's name of type and code.
            pub fn name(self) -> Option<&'static str> {
                Self::NAMED.iter().find(|(reason, _)| *reason == self).map(|(_, name)| *name)
            }

            /// The specification's name of the type.
            pub fn type_name(self) -> Option<&'static str> {
                Self::TYPES.iter().find(|(kind, _)| *kind == self.kind).map(|(_, name)| *name)
            }
        }

        /// The specification's name, or what is known of it and the numbers.
        impl std::fmt::Display for Reason {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match (self.name(), self.type_name()) {
                    (Some(name), _) => f.pad(name),
                    (None, Some(name)) => write!(f, "{name}, code {}", self.code),
                    (None, None) => write!(f, "type {}, code {}", self.kind, self.code),
                }
            }
        }

        impl std::fmt::Debug for Reason {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }

        impl $crate::openflow::codec::Wire for Reason {
            fn read(from: &mut $crate::openflow::codec::Reader<'_>) -> Result<Self, $crate::Malformed> {
                let kind = $crate::openflow::codec::Wire::read(from)?;
                Ok(Self { kind, code: $crate::openflow::codec::Wire::read(from)? })
            }

            fn write(&self, to: &mut $crate::openflow::codec::Writer<'_>) {
                $crate::openflow::codec::Wire::write(&self.kind, to);
                $crate::openflow::codec::Wire::write(&self.code, to);
            }
        }
    };
}
pub(crate) use errors;
