//! The format's tables, as they stand in the specification: [`codes!`] for numbers with names, [`flags!`] for bits with
//! names, [`record!`] for fields in a row, [`choice!`] for what a type number chooses.

/// Numbers with names. One without a name is kept as it is, and a number has one value only.
macro_rules! codes {
    ($(#[$doc:meta])* pub struct $name:ident($number:ty) { $($(#[$code_doc:meta])* $code:ident = $value:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $number);

        impl $name {
            $($(#[$code_doc])* pub const $code: Self = Self($value);)*

            /// Every number that has a name, in order of the specification.
            pub const NAMED: &'static [(Self, &'static str)] = &[$((Self::$code, stringify!($code)),)*];

            /// Its name, if it has one.
            pub fn name(self) -> Option<&'static str> {
                Self::NAMED.iter().find(|(code, _)| *code == self).map(|(_, name)| *name)
            }
        }

        /// The name, or the number.
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => f.pad(name),
                    None => std::fmt::Display::fmt(&self.0, f),
                }
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }

        impl $crate::openflow::codec::Wire for $name {
            fn read(from: &mut $crate::openflow::codec::Reader<'_>) -> Result<Self, $crate::Malformed> {
                <$number as $crate::openflow::codec::Wire>::read(from).map(Self)
            }

            fn write(&self, to: &mut $crate::openflow::codec::Writer<'_>) {
                <$number as $crate::openflow::codec::Wire>::write(&self.0, to);
            }
        }
    };
}
pub(crate) use codes;

/// Bits with names. Those without one are kept.
macro_rules! flags {
    ($(#[$doc:meta])* pub struct $name:ident($number:ty) { $($(#[$flag_doc:meta])* $flag:ident = $value:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $number);

        impl $name {
            $($(#[$flag_doc])* pub const $flag: Self = Self($value);)*

            /// Every bit that has a name.
            pub const NAMED: &'static [(Self, &'static str)] = &[$((Self::$flag, stringify!($flag)),)*];

            /// Whether all bits of `other` are set.
            pub fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }
        }

        impl std::ops::BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        /// Names with `|` between them, then what has none in hexadecimal; `0` if no bit is set.
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut left = self.0;
                let mut between = "";
                for (flag, name) in Self::NAMED.iter().filter(|(flag, _)| flag.0 != 0) {
                    if left & flag.0 == flag.0 {
                        write!(f, "{between}{name}")?;
                        (left, between) = (left & !flag.0, "|");
                    }
                }
                match (left, between) {
                    (0, "") => f.write_str("0"),
                    (0, _) => Ok(()),
                    _ => write!(f, "{between}{left:#x}"),
                }
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }

        impl $crate::openflow::codec::Wire for $name {
            fn read(from: &mut $crate::openflow::codec::Reader<'_>) -> Result<Self, $crate::Malformed> {
                <$number as $crate::openflow::codec::Wire>::read(from).map(Self)
            }

            fn write(&self, to: &mut $crate::openflow::codec::Writer<'_>) {
                <$number as $crate::openflow::codec::Wire>::write(&self.0, to);
            }
        }
    };
}
pub(crate) use flags;

/// Fields in the order of the wire; `pad N` are reserved bytes between them, zero when they are written. A `sized`
/// record begins with its own length, of two bytes, which is not a field.
macro_rules! record {
    ($(#[$doc:meta])* pub struct $name:ident {
        $($(#[$field_doc:meta])* pub $field:ident: $type:ty, $((pad $pad:literal))?)+
    }) => {
        $crate::openflow::tables::record!(@structure $(#[$doc])* $name { $($(#[$field_doc])* $field: $type,)+ });

        impl $crate::openflow::codec::Wire for $name {
            fn read(from: &mut $crate::openflow::codec::Reader<'_>) -> Result<Self, $crate::Malformed> {
                $(
                    let $field = <$type as $crate::openflow::codec::Wire>::read(from)?;
                    $(from.pad($pad)?;)?
                )+
                Ok(Self { $($field),+ })
            }

            fn write(&self, to: &mut $crate::openflow::codec::Writer<'_>) {
                $(
                    $crate::openflow::codec::Wire::write(&self.$field, to);
                    $(to.pad($pad);)?
                )+
            }
        }
    };
    (sized $(#[$doc:meta])* pub struct $name:ident {
        $((pad $first:literal))?
        $($(#[$field_doc:meta])* pub $field:ident: $type:ty, $((pad $pad:literal))?)+
    }) => {
        $crate::openflow::tables::record!(@structure $(#[$doc])* $name { $($(#[$field_doc])* $field: $type,)+ });

        impl $crate::openflow::codec::Wire for $name {
            fn read(from: &mut $crate::openflow::codec::Reader<'_>) -> Result<Self, $crate::Malformed> {
                let length = <u16 as $crate::openflow::codec::Wire>::read(from)?;
                let mut own = from.rest_of(length.into(), 2)?;
                $(own.pad($first)?;)?
                $(
                    let $field = <$type as $crate::openflow::codec::Wire>::read(&mut own)?;
                    $(own.pad($pad)?;)?
                )+
                own.finish()?;
                Ok(Self { $($field),+ })
            }

            fn write(&self, to: &mut $crate::openflow::codec::Writer<'_>) {
                let start = to.place();
                to.pad(2);
                $(to.pad($first);)?
                $(
                    $crate::openflow::codec::Wire::write(&self.$field, to);
                    $(to.pad($pad);)?
                )+
                to.length(start, start, 0);
            }
        }
    };
    (@structure $(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)+ }
    };
}
pub(crate) use record;

/// What a type number chooses. A type without an entry is kept as `Unknown`, with its bytes.
macro_rules! choice {
    ($(#[$doc:meta])* pub enum $name:ident: $number:ty {
        $(
            $(#[$variant_doc:meta])*
            $variant:ident
            $(($content:ty))?
            $({ $($(#[$field_doc:meta])* $field:ident: $type:ty, $((pad $pad:literal))?)+ })?
            = $value:literal $(, pad $last:literal)?;
        )+
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name {
            $(
                $(#[$variant_doc])*
                $variant $(($content))? $({ $($(#[$field_doc])* $field: $type,)+ })?,
            )+
            /// One of a type that stands in no table here. Of a type that does, it is written so and read as the other.
            Unknown {
                /// The type.
                kind: $number,
                /// Whatever follows the type and, where there is one, the length.
                body: Vec<u8>,
            },
        }

        impl $name {
            /// The number of its type.
            pub fn kind(&self) -> $number {
                match self {
                    $(Self::$variant { .. } => $value,)+
                    Self::Unknown { kind, .. } => *kind,
                }
            }

            /// The name of its type.
            pub fn name(&self) -> Option<&'static str> {
                Self::name_of(self.kind())
            }

            /// The name of a type.
            pub fn name_of(kind: $number) -> Option<&'static str> {
                match kind {
                    $($value => Some(stringify!($variant)),)+
                    _ => None,
                }
            }

            pub(crate) fn read_as(
                kind: $number,
                from: &mut $crate::openflow::codec::Reader<'_>,
            ) -> Result<Self, $crate::Malformed> {
                match kind {
                    $($value => {
                        $($(
                            let $field = <$type as $crate::openflow::codec::Wire>::read(from)?;
                            $(from.pad($pad)?;)?
                        )+)?
                        let chosen = Self::$variant
                            $((<$content as $crate::openflow::codec::Wire>::read(from)?))?
                            $({ $($field,)+ })?;
                        $(from.pad($last)?;)?
                        Ok(chosen)
                    })+
                    kind => Ok(Self::Unknown { kind, body: from.rest().to_vec() }),
                }
            }

            pub(crate) fn write_body(&self, to: &mut $crate::openflow::codec::Writer<'_>) {
                match self {
                    $(Self::$variant
                        $(($crate::openflow::tables::binding!(content, $content)))?
                        $({ $($field,)+ })?
                    => {
                        $(<$content as $crate::openflow::codec::Wire>::write(content, to);)?
                        $($(
                            <$type as $crate::openflow::codec::Wire>::write($field, to);
                            $(to.pad($pad);)?
                        )+)?
                        $(to.pad($last);)?
                    })+
                    Self::Unknown { body, .. } => to.put(body),
                }
            }
        }
    };
}
pub(crate) use choice;

/// A name for what a variant holds, where it holds something.
macro_rules! binding {
    ($name:ident, $type:ty) => {
        $name
    };
}
pub(crate) use binding;
