//! A connection with one deadline. Whoever sends a byte now and then never runs into the timeout between two bytes.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Connected, until the time is up.
pub(super) struct TimedStream {
    stream: TcpStream,
    end: Instant,
}

impl TimedStream {
    /// Connects; everything together ends within this time.
    pub(super) fn connect(to: &SocketAddr, within: Duration) -> io::Result<Self> {
        let end = Instant::now() + within;
        Ok(Self { stream: TcpStream::connect_timeout(to, within)?, end })
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        match self.end.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(Some(left)),
        }
    }
}

/// A socket's timeout comes as `WouldBlock`.
fn late(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { io::ErrorKind::TimedOut.into() } else { error }
}

impl Read for TimedStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer).map_err(late)
    }
}

impl Write for TimedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes).map_err(late)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_byte_now_and_then_extends_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let drip = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut sent = 0;
            while sent < 1000 && stream.write_all(&[0]).is_ok() {
                sent += 1;
                std::thread::sleep(Duration::from_millis(20));
            }
            sent
        });
        let mut stream = TimedStream::connect(&at, Duration::from_millis(400)).unwrap();
        let error = stream.read_exact(&mut [0; 1000]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(stream);
        assert!(drip.join().unwrap() < 1000);
    }
}
