//! Stand-ins for nodes: their addresses in the cluster's network, which answer on ports, from a network namespace behind the
//! bridge, as machines do.

use std::fs::File;
use std::io::Read as _;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::Libvirt;

/// Addresses in the cluster's network.
pub(crate) struct Nodes<'a> {
    libvirt: &'a Libvirt,
}

impl<'a> Nodes<'a> {
    /// These; the bridge must be there.
    pub(crate) fn join(libvirt: &'a Libvirt, ips: &[&str]) -> Self {
        let ips: String =
            ips.iter().map(|ip| format!("ip -n nodes address add {ip}/24 dev eth0 &&")).collect();
        libvirt.sh(&format!(
            "ip netns add nodes && ip link add nodes0 type veth peer name eth0 netns nodes &&
             ip link set nodes0 master virbr-ocp4 up && {ips}
             ip -n nodes link set eth0 up"
        ));
        Self { libvirt }
    }

    /// The addresses, for who opens doors.
    pub(crate) fn network(&self) -> Network {
        Network { path: self.libvirt.namespace("nodes") }
    }
}

/// The network namespace of the stand-ins.
#[derive(Clone)]
pub(crate) struct Network {
    path: String,
}

impl Network {
    /// The one at this path, such as `/proc/PID/ns/net`.
    pub(crate) fn of(path: String) -> Self {
        Self { path }
    }

    /// A port of one of them that leads to a port of this machine's loopback.
    pub(crate) fn door(&self, at: &str, to: u16) -> Door {
        let (path, at) = (self.path.clone(), at.parse::<SocketAddr>().unwrap());
        // Only this thread moves; a socket stays in the network where it was made.
        let bind = move || {
            let namespace = File::open(path).unwrap();
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            TcpListener::bind(at).unwrap()
        };
        Door::open(std::thread::spawn(bind).join().unwrap(), to)
    }
}

impl Drop for Nodes<'_> {
    fn drop(&mut self) {
        self.libvirt.sh("ip netns delete nodes");
    }
}

/// A port that leads somewhere. Closed when dropped, and so is everything that went through.
pub(crate) struct Door {
    closed: Arc<AtomicBool>,
    through: Arc<Mutex<Vec<TcpStream>>>,
    keeper: Option<std::thread::JoinHandle<()>>,
}

impl Door {
    fn open(listener: TcpListener, to: u16) -> Self {
        let (closed, through) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        listener.set_nonblocking(true).unwrap();
        let (end, passed) = (closed.clone(), through.clone());
        let keeper = std::thread::spawn(move || {
            while !end.load(Ordering::SeqCst) {
                match listener.accept() {
                    Ok((outside, _)) => lead(outside, to, &passed),
                    Err(_) => std::thread::sleep(Duration::from_millis(5)), // nobody there; look again
                }
            }
        });
        Self { closed, through, keeper: Some(keeper) }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::SeqCst);
        self.keeper.take().unwrap().join().unwrap();
        for stream in self.through.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both); // it may be closed already
        }
    }
}

/// Both ways, until one side ends.
fn lead(outside: TcpStream, to: u16, passed: &Mutex<Vec<TcpStream>>) {
    outside.set_nonblocking(false).unwrap();
    let Ok(inside) = TcpStream::connect(("127.0.0.1", to)) else { return };
    passed.lock().unwrap().extend([outside.try_clone().unwrap(), inside.try_clone().unwrap()]);
    for (mut from, mut into) in
        [(outside.try_clone().unwrap(), inside.try_clone().unwrap()), (inside, outside)]
    {
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = from.read(&mut buffer) {
                if std::io::Write::write_all(&mut into, &buffer[..read]).is_err() {
                    break;
                }
            }
            let _ = into.shutdown(Shutdown::Both);
        });
    }
}
