//! What messages of both versions have: a transaction, and a body that the version's table chooses.

/// A message of the version whose `VERSION`, `NAME` and `Body` are in scope.
macro_rules! message {
    () => {
        /// A message.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Message {
            /// What a reply has from its request.
            pub xid: u32,
            /// What it says.
            pub body: Body,
        }

        impl Message {
            /// The message of exactly these bytes.
            ///
            /// # Errors
            /// Another version; bytes that contradict the lengths in them.
            pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
                Self::of(&Frame::parse(bytes)?)
            }

            /// What a message says.
            ///
            /// # Errors
            /// As of [`Message::parse`].
            pub fn of(frame: &Frame<'_>) -> Result<Self, Malformed> {
                if frame.version() != VERSION {
                    return Err(Fault::Version(frame.version()).of(NAME));
                }
                let mut from = Reader::new(frame.body(), NAME);
                let body = Body::read_as(frame.kind(), &mut from)?;
                from.finish()?;
                Ok(Self { xid: frame.xid(), body })
            }

            /// Writes the message behind what `bytes` holds.
            ///
            /// # Errors
            /// [`TooLong`]; `bytes` is as it was.
            pub fn emit_into(&self, bytes: &mut Vec<u8>) -> Result<(), TooLong> {
                Writer::message(bytes, VERSION, self.body.kind(), self.xid, |to| self.body.write_body(to))
            }

            /// The message's bytes.
            ///
            /// # Errors
            /// [`TooLong`].
            pub fn emit(&self) -> Result<Vec<u8>, TooLong> {
                let mut bytes = Vec::new();
                self.emit_into(&mut bytes).map(|()| bytes)
            }
        }

        /// The body of a message of one type, as its views ask for it.
        #[inline]
        pub(crate) fn body_of<'a>(
            frame: &Frame<'a>,
            kind: u8,
            name: &'static str,
        ) -> Result<&'a [u8], Malformed> {
            match (frame.version(), frame.kind()) {
                (VERSION, known) if known == kind => Ok(frame.body()),
                (VERSION, _) => Err(Fault::Field("type").of(name)),
                (version, _) => Err(Fault::Version(version).of(name)),
            }
        }
    };
}
pub(crate) use message;
