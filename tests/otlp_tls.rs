//! OTLP over TLS, both protocols: the receiver's certificate must be of the named authority, and the
//! receiver asks for the exporter's own.

mod support;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use copilot_exporter::config::{OtlpConfig, OtlpProtocol};
use copilot_exporter::ledger::Snapshot;
use copilot_exporter::metrics::{ConstantLabels, Recorder, families};
use copilot_exporter::outlets::otlp::{Pusher, Settings, Stats};
use copilot_exporter::usage::Timestamp;
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::HeaderMap;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use prost::Message;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use support::wait::eventually;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// A certification authority, and what it signed.
struct Authority {
    folder: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { folder, issuer }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Certificate and key, in files.
    fn issue(&self, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let files = (
            self.path(&format!("{name}.pem")),
            self.path(&format!("{name}.key")),
        );
        std::fs::write(&files.0, certificate.pem()).unwrap();
        std::fs::write(&files.1, key.serialize_pem()).unwrap();
        files
    }

    /// What a receiver of this authority is: it lets in only clients that the authority signed.
    fn acceptor(&self) -> TlsAcceptor {
        let (certificate, key) = self.issue("localhost");
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_file(self.path("ca.pem")).unwrap())
            .unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .build()
                .unwrap();
        let chain = vec![CertificateDer::from_pem_file(certificate).unwrap()];
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, PrivateKeyDer::from_pem_file(key).unwrap())
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }
}

/// Metrics that arrived.
static ARRIVED: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// Takes OTLP over HTTP/1.1 and gRPC over HTTP/2, as far as a push goes.
async fn answer(request: Request<Incoming>) -> Result<Response<Frames>, Infallible> {
    let grpc = request.version() == Version::HTTP_2;
    let body = request.into_body().collect().await.unwrap().to_bytes();
    // A gRPC message begins with a flag and its length.
    let message = if grpc { body.slice(5..) } else { body };
    let request = ExportMetricsServiceRequest::decode(message).unwrap();
    let metrics = request
        .resource_metrics
        .iter()
        .flat_map(|resource| &resource.scope_metrics);
    let count = metrics.map(|scope| scope.metrics.len()).sum();
    ARRIVED[usize::from(grpc)].fetch_add(count, Ordering::Relaxed);
    let mut frames = VecDeque::new();
    if grpc {
        frames.push_back(Frame::data(Bytes::from_static(&[0; 5])));
        let trailers =
            HeaderMap::from_iter([("grpc-status".parse().unwrap(), "0".parse().unwrap())]);
        frames.push_back(Frame::trailers(trailers));
    }
    let content_type = if grpc {
        "application/grpc"
    } else {
        "application/x-protobuf"
    };
    Ok(Response::builder()
        .header("content-type", content_type)
        .body(Frames(frames))
        .unwrap())
}

/// A body whose frames are there already.
struct Frames(VecDeque<Frame<Bytes>>);

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

async fn receive(acceptor: TlsAcceptor) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                let io = TokioIo::new(stream);
                let service = hyper::service::service_fn(answer);
                if h2 {
                    let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                        .serve_connection(io, service)
                        .await;
                } else {
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(io, service)
                        .await;
                }
            });
        }
    });
    port
}

/// Pushes until it worked or failed once; whether it worked.
async fn push(config: OtlpConfig) -> bool {
    let config = OtlpConfig {
        interval_seconds: Some(1),
        timeout_seconds: Some(5),
        ..config
    };
    let settings = Settings::resolve(&config, &|_| None).unwrap().unwrap();
    let stats = Arc::new(Stats::default());
    let recorder = Recorder::new();
    let render = Arc::new(move |snapshot: &Snapshot| {
        families(
            snapshot,
            &ConstantLabels::default(),
            Some(&recorder.exporter()),
        )
    });
    let pusher = Pusher::new(settings, "instance-1", None, Arc::clone(&stats), render).unwrap();
    let snapshot = Snapshot {
        taken: Timestamp::now(),
        ready: true,
        ..Snapshot::default()
    };
    let (_publish, snapshots) = watch::channel(Arc::new(snapshot));
    let (_stop, stopping) = watch::channel(false);
    let running = tokio::spawn(pusher.run(snapshots, stopping, Arc::default()));
    let worked = eventually("the end of a push", || {
        let status = stats.status();
        (status.succeeded + status.failed > 0).then_some(status.succeeded > 0)
    });
    running.abort();
    worked
}

#[tokio::test(flavor = "multi_thread")]
async fn both_protocols_know_whom_they_talk_to() {
    let authority = Authority::new();
    let port = receive(authority.acceptor()).await;
    let (certificate, key) = authority.issue("exporter");
    let stranger = Authority::new();
    for (at, protocol) in [OtlpProtocol::HttpProtobuf, OtlpProtocol::Grpc]
        .into_iter()
        .enumerate()
    {
        let good = OtlpConfig {
            endpoint: Some(format!("https://localhost:{port}")),
            protocol: Some(protocol),
            ca_file: Some(authority.path("ca.pem")),
            client_certificate_file: Some(certificate.clone()),
            client_key_file: Some(key.clone()),
            ..OtlpConfig::default()
        };
        assert!(push(good.clone()).await, "{protocol:?}");
        assert!(ARRIVED[at].load(Ordering::Relaxed) > 5, "{protocol:?}");

        let untrusted = OtlpConfig {
            ca_file: Some(stranger.path("ca.pem")),
            ..good.clone()
        };
        assert!(
            !push(untrusted).await,
            "{protocol:?}: a receiver of another authority"
        );
        let anonymous = OtlpConfig {
            client_certificate_file: None,
            client_key_file: None,
            ..good.clone()
        };
        assert!(
            !push(anonymous).await,
            "{protocol:?}: no client certificate"
        );
    }
}
