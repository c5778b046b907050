//! Where the server listens.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

/// A listen address: `host:port`, `[::1]:port`, `:port` (every interface) or `unix:/path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

/// A text that is no listen address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no listen address (host:port, [::1]:port, :port or unix:/path)")]
pub struct AddressError(String);

impl FromStr for ListenAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let error = || AddressError(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            return match path.is_absolute() {
                true => Ok(Self::Unix(path)),
                false => Err(error()),
            };
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(error)?;
        let port = port.parse().map_err(|_| error())?;
        let host = match host.strip_prefix('[') {
            Some(rest) => {
                let host = rest.strip_suffix(']').ok_or_else(error)?;
                host.parse::<Ipv6Addr>().map_err(|_| error())?;
                host
            }
            None => host,
        };
        // An IPv6 address without brackets could have swallowed the port.
        let brackets = text.starts_with('[');
        if !brackets && (host.contains([':', '/']) || host.chars().any(char::is_whitespace)) {
            return Err(error());
        }
        Ok(Self::Tcp {
            host: host.to_owned(),
            port,
        })
    }
}

/// A bound socket.
#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    /// With its file, if that was made here and goes with the server.
    #[cfg(unix)]
    Unix(std::os::unix::net::UnixListener, Option<PathBuf>),
}

/// The sockets that systemd (or whoever started this process) passed on, by the `LISTEN_FDS` protocol.
#[cfg(unix)]
pub(super) fn inherited() -> io::Result<Vec<Listener>> {
    let mut passed = listenfd::ListenFd::from_env();
    let mut listeners = Vec::new();
    for at in 0..passed.len() {
        // A socket of the other kind is an error, and stays where it is.
        let listener = match passed.take_tcp_listener(at) {
            Ok(Some(tcp)) => Listener::Tcp(tcp),
            Ok(None) => continue,
            Err(_) => match passed.take_unix_listener(at)? {
                Some(unix) => Listener::Unix(unix, None),
                None => continue,
            },
        };
        listener.set_nonblocking()?;
        listeners.push(listener);
    }
    match listeners.is_empty() {
        true => Err(io::Error::new(
            io::ErrorKind::NotFound,
            "systemd passed no socket (LISTEN_FDS)",
        )),
        false => Ok(listeners),
    }
}

#[cfg(not(unix))]
pub(super) fn inherited() -> io::Result<Vec<Listener>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Who can connect to a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// This machine, web pages in its browsers among it.
    Loopback,
    /// Who may open a file of this machine.
    Socket,
    /// Anybody.
    Network,
}

impl Origin {
    pub(super) fn is_local(self) -> bool {
        self != Self::Network
    }
}

impl ListenAddress {
    pub(super) fn bind(&self) -> io::Result<Listener> {
        let listener = match self {
            Self::Tcp { host, port } => Listener::Tcp(bind_tcp(host, *port)?),
            #[cfg(unix)]
            Self::Unix(path) => Listener::Unix(bind_unix(path)?, Some(path.clone())),
            #[cfg(not(unix))]
            Self::Unix(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        listener.set_nonblocking()?;
        Ok(listener)
    }
}

fn bind_tcp(host: &str, port: u16) -> io::Result<TcpListener> {
    let listener = if host.is_empty() {
        // The IPv6 wildcard takes IPv4 as well; a system without IPv6 has only the other.
        TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).or_else(|error| match error.kind() {
            io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied => Err(error),
            _ => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)),
        })
    } else {
        let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
        TcpListener::bind(addresses.as_slice())
    }?;
    // A connection that finds the queue full is tried again only after a second; 128 are soon there.
    #[cfg(unix)]
    rustix::net::listen(&listener, 4_096)?;
    Ok(listener)
}

/// A socket file that nobody listens on any more is replaced.
#[cfg(unix)]
fn bind_unix(path: &std::path::Path) -> io::Result<std::os::unix::net::UnixListener> {
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::{UnixListener, UnixStream};

    let left_behind = std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket())
        && UnixStream::connect(path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    if left_behind {
        std::fs::remove_file(path)?;
    }
    UnixListener::bind(path)
}

impl Listener {
    fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Tcp(listener) => listener.set_nonblocking(true),
            #[cfg(unix)]
            Self::Unix(listener, _) => listener.set_nonblocking(true),
        }
    }

    pub(super) fn origin(&self) -> Origin {
        match self {
            Self::Tcp(listener) => match listener.local_addr() {
                Ok(address) if is_loopback(address.ip()) => Origin::Loopback,
                _ => Origin::Network,
            },
            #[cfg(unix)]
            Self::Unix(..) => Origin::Socket,
        }
    }
}

pub(super) fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(listener) => match listener.local_addr() {
                Ok(address) => write!(f, "{address}"),
                Err(error) => write!(f, "an unknown address ({error})"),
            },
            #[cfg(unix)]
            Self::Unix(listener, _) => match listener.local_addr() {
                Ok(address) => match address.as_pathname() {
                    Some(path) => write!(f, "unix:{}", path.display()),
                    None => f.write_str("a unix socket without a name"),
                },
                Err(error) => write!(f, "an unknown address ({error})"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        let tcp = |host: &str, port| ListenAddress::Tcp {
            host: host.to_owned(),
            port,
        };
        for (text, want) in [
            ("127.0.0.1:19850", tcp("127.0.0.1", 19850)),
            ("[::1]:19850", tcp("::1", 19850)),
            (":19850", tcp("", 19850)),
            ("localhost:0", tcp("localhost", 0)),
            (
                "unix:/run/x.sock",
                ListenAddress::Unix("/run/x.sock".into()),
            ),
        ] {
            assert_eq!(text.parse(), Ok(want), "{text}");
        }
        for text in [
            "",
            "19850",
            "localhost",
            "::1:19850",
            "[::1]",
            "[x]:1",
            "[::1:1",
            "a:b",
            "a:65536",
            "http://a:1",
            "a b:1",
            "unix:",
            "unix:relative",
        ] {
            assert!(text.parse::<ListenAddress>().is_err(), "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_socket_file_that_was_left_behind_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let address = ListenAddress::Unix(folder.path().join("s"));
        drop(address.bind().unwrap());
        let listening = address.bind().unwrap();
        assert!(address.bind().is_err(), "somebody listens");
        assert_eq!(listening.origin(), Origin::Socket);
        let file = folder.path().join("f");
        std::fs::write(&file, "precious").unwrap();
        assert!(ListenAddress::Unix(file.clone()).bind().is_err());
        assert_eq!(std::fs::read(file).unwrap(), b"precious");
    }
}
