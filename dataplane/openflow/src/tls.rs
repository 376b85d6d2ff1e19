//! TLS over a socket that does not block, of either side.
//!
//! Reading never waits for what is to be written, and writing reads nothing, as rustls' own stream does: both ends would wait for each
//! other where both sockets are full, and what is read where nobody asked for it is told by no event.

use rustls::{ConnectionCommon, SideData};
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// Reads what is decrypted, and from the socket only where nothing is.
///
/// # Errors
/// The connection ends; [`io::ErrorKind::WouldBlock`], there is nothing for now.
pub fn read<S: SideData>(
    connection: &mut ConnectionCommon<S>,
    socket: &mut TcpStream,
    into: &mut [u8],
) -> io::Result<usize> {
    let mut is_over = false;
    loop {
        match connection.reader().read(into) {
            Err(why) if why.kind() == io::ErrorKind::WouldBlock && is_over => return Ok(0),
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
            read => return read,
        }
        is_over = connection.read_tls(socket)? == 0;
        let processed = connection.process_new_packets();
        // An answer of the handshake, or why it is none.
        send(connection, socket)?;
        processed.map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
    }
}

/// Encrypts and sends as much as the socket takes; what is encrypted and not sent counts as taken. Where that is not all, the socket is
/// full, as with TCP alone: who waits for its room is told of it.
///
/// # Errors
/// The connection ends; [`io::ErrorKind::WouldBlock`], nothing was taken.
pub fn write<S: SideData>(
    connection: &mut ConnectionCommon<S>,
    socket: &mut TcpStream,
    bytes: &[u8],
) -> io::Result<usize> {
    let mut taken = 0;
    loop {
        // No more than may wait, and nothing where as much does: that is no end.
        let more = connection.writer().write(&bytes[taken..])?;
        taken += more;
        if more == 0 || !send(connection, socket)? || taken == bytes.len() {
            break;
        }
    }
    if taken == 0 && !bytes.is_empty() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(taken) }
}

/// Sends what is encrypted, as far as the socket takes it. Whether that is all.
///
/// # Errors
/// The connection ends.
pub fn send<S: SideData>(connection: &mut ConnectionCommon<S>, socket: &mut TcpStream) -> io::Result<bool> {
    while connection.wants_write() {
        match connection.write_tls(socket) {
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            sent => {
                sent?;
            }
        }
    }
    Ok(true)
}
