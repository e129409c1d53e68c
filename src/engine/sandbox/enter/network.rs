//! Addresses on the loopback interface of a new network namespace.

#![expect(unsafe_code, reason = "ioctl, in the child of a clone")]

use std::ffi::{c_char, c_int};
use std::net::IpAddr;

use rustix::io::Errno;

use super::last_error;

/// Brings the loopback interface up and assigns the addresses, if there are any.
pub(super) fn addresses(addresses: &[IpAddr]) -> Result<(), Errno> {
    if addresses.is_empty() {
        return Ok(());
    }
    for (number, address) in addresses.iter().enumerate() {
        match address {
            IpAddr::V4(address) => add_v4(number as u8, address.octets())?,
            IpAddr::V6(address) => add_v6(address.octets())?,
        }
    }
    Ok(())
}

fn request(alias: Option<u8>) -> libc::ifreq {
    // SAFETY: an interface request is plain data; all zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as c_char;
    }
    if let Some(alias) = alias {
        request.ifr_name[2] = b':' as c_char;
        request.ifr_name[3] = (b'a' + alias % 26) as c_char;
    }
    request
}

fn control(family: c_int, name: libc::c_ulong, request: *mut libc::c_void) -> Result<(), Errno> {
    // SAFETY: a new socket, closed below; the request has the type that the ioctl expects, and outlives the call.
    unsafe {
        let socket = libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(last_error());
        }
        let done = if libc::ioctl(socket, name as _, request) < 0 { Err(last_error()) } else { Ok(()) };
        libc::close(socket);
        done
    }
}

fn add_v4(alias: u8, octets: [u8; 4]) -> Result<(), Errno> {
    let mut up = request(None);
    up.ifr_ifru.ifru_flags = libc::IFF_UP as i16;
    control(libc::AF_INET, libc::SIOCSIFFLAGS, (&raw mut up).cast())?;
    let mut add = request(Some(alias));
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: 0,
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(octets) },
        sin_zero: [0; 8],
    };
    // SAFETY: both are 16 bytes of plain data.
    add.ifr_ifru.ifru_addr = unsafe { std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(address) };
    control(libc::AF_INET, libc::SIOCSIFADDR, (&raw mut add).cast())
}

fn add_v6(octets: [u8; 16]) -> Result<(), Errno> {
    #[repr(C)]
    struct Request {
        address: [u8; 16],
        prefix: u32,
        interface: c_int,
    }
    let mut up = request(None);
    up.ifr_ifru.ifru_flags = libc::IFF_UP as i16;
    control(libc::AF_INET, libc::SIOCSIFFLAGS, (&raw mut up).cast())?;
    // The loopback interface of a network namespace always has index 1.
    let mut add = Request { address: octets, prefix: 128, interface: 1 };
    control(libc::AF_INET6, libc::SIOCSIFADDR, (&raw mut add).cast())
}
