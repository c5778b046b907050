//! Accepting connections and running each to its end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::address::{Listener, Origin};
use super::answer::Desk;
use super::connection::{Progress, Watched};
use super::{Limits, Server};

/// A request's head must fit; it is also all that a connection may make us keep of what it sends.
const HEAD_BYTES: usize = 16 * 1024;
/// How long answers that have begun may go on when the server ends.
const FAREWELL: Duration = Duration::from_secs(3);

impl Server {
    /// Serves until `shutdown` is ready, then ends the answers that have begun and closes everything.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        let (end, ending) = watch::channel(false);
        let mut accepting = JoinSet::new();
        accepting.spawn(self.desk.renderer.clone().follow(self.snapshots));
        let mut socket_files = Vec::new();
        for listener in self.listeners {
            let door = Arc::new(Door {
                origin: listener.origin(),
                desk: self.desk.clone(),
                limits: self.limits,
                seen: self.seen.clone(),
                ending: ending.clone(),
            });
            match listener {
                Listener::Tcp(listener) => {
                    let listener = tokio::net::TcpListener::from_std(listener)?;
                    accepting.spawn(door.keep(listener));
                }
                #[cfg(unix)]
                Listener::Unix(listener, path) => {
                    let listener = tokio::net::UnixListener::from_std(listener)?;
                    socket_files.extend(path);
                    accepting.spawn(door.keep(listener));
                }
            }
        }
        shutdown.await;
        let _ = end.send(true);
        accepting.shutdown().await;
        for file in socket_files {
            let _ = std::fs::remove_file(file);
        }
        let left = async {
            while self.desk.crowd.len() > 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let _ = tokio::time::timeout(FAREWELL, left).await;
        Ok(())
    }
}

/// A listening socket of either kind.
trait Accept: Send + Sync + 'static {
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;

    fn accept(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

impl Accept for tokio::net::TcpListener {
    type Stream = tokio::net::TcpStream;

    async fn accept(&self) -> io::Result<Self::Stream> {
        let (stream, _) = self.accept().await?;
        // An answer is written whole; waiting to fill a packet only delays its end.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }
}

#[cfg(unix)]
impl Accept for tokio::net::UnixListener {
    type Stream = tokio::net::UnixStream;

    async fn accept(&self) -> io::Result<Self::Stream> {
        Ok(self.accept().await?.0)
    }
}

/// What connections come in by.
struct Door {
    desk: Arc<Desk>,
    limits: Limits,
    seen: Arc<Notify>,
    ending: watch::Receiver<bool>,
    origin: Origin,
}

impl Door {
    /// Accepts for ever.
    async fn keep(self: Arc<Self>, listener: impl Accept) {
        const PAUSES: std::ops::RangeInclusive<Duration> =
            Duration::from_millis(10)..=Duration::from_secs(1);
        let mut pause = *PAUSES.start();
        loop {
            match listener.accept().await {
                Ok(stream) => {
                    pause = *PAUSES.start();
                    let progress = Arc::new(Progress::new(self.seen.clone()));
                    let place = self.desk.crowd.admit(&progress).await;
                    let door = self.clone();
                    tokio::spawn(async move {
                        tokio::select! {
                            () = door.serve(stream, &progress) => {}
                            () = progress.overdue(&door.limits) => {}
                        }
                        drop(place);
                    });
                }
                // Of the connection, not of the socket.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot accept connections for the moment");
                    self.desk.crowd.shed_one();
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(*PAUSES.end());
                }
            }
        }
    }

    async fn serve<S>(&self, stream: S, progress: &Arc<Progress>)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let tls = self.desk.web_config.settings().tls.clone();
        let result = match tls {
            None => self.speak(stream, progress).await,
            Some(config) => match TlsAcceptor::from(config).accept(stream).await {
                Ok(stream) => self.speak(stream, progress).await,
                Err(error) => {
                    tracing::debug!(%error, "a TLS handshake failed");
                    return;
                }
            },
        };
        if let Err(error) = result {
            tracing::debug!(%error, "a connection ended early");
        }
    }

    async fn speak<S>(&self, stream: S, progress: &Arc<Progress>) -> hyper::Result<()>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let stream = Watched {
            stream,
            progress: progress.clone(),
        };
        let service = service_fn(async |request| {
            let answer = self.desk.answer(request, progress, self.origin).await;
            Ok::<_, std::convert::Infallible>(answer)
        });
        // Time limits are those of `Progress`, which know a slow head from an idle connection.
        let connection = http1::Builder::new()
            .half_close(true)
            .header_read_timeout(None)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let mut ending = self.ending.clone();
        tokio::select! {
            result = connection.as_mut() => return result,
            _ = ending.wait_for(|ending| *ending) => {}
        }
        connection.as_mut().graceful_shutdown();
        connection.await
    }
}
