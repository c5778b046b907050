//! The web configuration file: TLS, client certificates, basic auth, headers, rate limit.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use copilot_exporter::serve::{Limits, ServeError};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tempfile::TempDir;

use crate::server::{Client, TestServer};
use crate::snapshots::full;
use crate::support::http;
use crate::support::wait::eventually;

/// bcrypt of `sesame`, cost 4.
const SESAME: &str = "$2b$04$2Q3VTTudnNA8ALNojiLvp..vtNxxLQ7Y6Zstqmka8wfnPOcFK4PGS";

/// A folder with a certification authority, certificates of it, and others.
struct Certificates {
    folder: TempDir,
}

impl Certificates {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let certificates = Self { folder };
        let ca = authority();
        certificates.write("ca.pem", &ca.pem());
        certificates.issue(&ca, "server", "localhost");
        certificates.issue(&ca, "client", "scraper.example");
        let stranger = authority();
        certificates.write("stranger-ca.pem", &stranger.pem());
        certificates.issue(&stranger, "stranger", "scraper.example");
        certificates.write("empty.pem", "");
        certificates.write("broken.pem", "-----BEGIN CERTIFICATE-----\nxxxx\n");
        certificates
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    fn issue(&self, ca: &CertifiedIssuer<'static, KeyPair>, file: &str, name: &str) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, ca).unwrap();
        self.write(&format!("{file}.pem"), &certificate.pem());
        self.write(&format!("{file}.key"), &key.serialize_pem());
    }

    fn chain(&self, file: &str) -> Vec<CertificateDer<'static>> {
        let path = self.path().join(format!("{file}.pem"));
        CertificateDer::pem_file_iter(path)
            .unwrap()
            .map(Result::unwrap)
            .collect()
    }

    fn serve(&self, config: &str) -> Result<TestServer, ServeError> {
        let file = self.path().join("web.yml");
        fs::write(&file, config.replace("SESAME", SESAME)).unwrap();
        TestServer::with(full(1), Limits::default(), |web| {
            web.config_file = Some(file);
        })
    }

    /// A client that trusts `ca` and shows the certificate `own`.
    fn connect(
        &self,
        port: u16,
        own: Option<&str>,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> Client<StreamOwned<ClientConnection, TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.chain("ca").remove(0)).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots);
        let config = match own {
            None => config.with_no_client_auth(),
            Some(name) => {
                let key = self.path().join(format!("{name}.key"));
                let key = PrivateKeyDer::from_pem_file(key).unwrap();
                config.with_client_auth_cert(self.chain(name), key).unwrap()
            }
        };
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        Client::on(StreamOwned::new(connection, stream))
    }

    /// The status of a scrape over TLS; `None` if the connection fails.
    fn scrape(&self, port: u16, own: Option<&str>) -> Option<u16> {
        let mut client = self.connect(port, own, rustls::ALL_VERSIONS);
        client.get("/metrics").ok().map(|answer| answer.status)
    }
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

const TLS: &str = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n";

#[test]
fn good_files() {
    let certificates = Certificates::new();
    for (what, more) in [
        ("as short as can be", ""),
        ("versions", "  min_version: TLS12\n  max_version: TLS13\n"),
        ("only 1.3", "  min_version: TLS13\n"),
        ("only 1.2", "  max_version: TLS12\n"),
        (
            "suites",
            "  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_AES_128_GCM_SHA256]\n",
        ),
        ("curves", "  curve_preferences: [CurveP256, X25519]\n"),
        ("order", "  prefer_server_cipher_suites: false\n"),
        (
            "no client certificates",
            "  client_auth_type: NoClientCert\n",
        ),
        ("HTTP/2", "http_server_config:\n  http2: true\n"),
        (
            "headers",
            "http_server_config:\n  headers:\n    X-Frame-Options: deny\n    Strict-Transport-Security: max-age=1\n",
        ),
        (
            "a generous rate",
            "rate_limit:\n  interval: 1ms\n  burst: 100\n",
        ),
        ("no users", "basic_auth_users: {}\n"),
    ] {
        let server = certificates.serve(&format!("{TLS}{more}"));
        let server = server.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(certificates.scrape(server.port, None), Some(200), "{what}");
    }
}

#[test]
fn bad_files() {
    let certificates = Certificates::new();
    for (config, want) in [
        ("nonsense", "web.yml"),
        ("[1, 2]", "web.yml"),
        ("tls_server_config: 5", "web.yml"),
        ("tls_config: {}", "tls_config"),
        ("basic_auth_user: {}", "basic_auth_user"),
        ("tls_server_config:\n  cert_fil: x\n", "cert_fil"),
        ("tls_server_config:\n  cert_file: server.pem\n", "key_file"),
        ("tls_server_config:\n  key_file: server.key\n", "cert_file"),
        ("tls_server_config:\n  min_version: TLS13\n", "cert_file"),
        (
            "tls_server_config:\n  cert_file: absent.pem\n  key_file: server.key\n",
            "absent.pem",
        ),
        (
            "tls_server_config:\n  cert_file: server.pem\n  key_file: absent.key\n",
            "absent.key",
        ),
        (
            "tls_server_config:\n  cert_file: empty.pem\n  key_file: server.key\n",
            "no certificate",
        ),
        (
            "tls_server_config:\n  cert_file: broken.pem\n  key_file: server.key\n",
            "no certificate",
        ),
        (
            "tls_server_config:\n  cert_file: server.pem\n  key_file: server.pem\n",
            "no private key",
        ),
        (
            "tls_server_config:\n  cert_file: server.pem\n  key_file: client.key\n",
            "certificate and key",
        ),
        (
            "tls_server_config:\n  cert_file: server.pem\n  cert: x\n  key_file: server.key\n",
            "not both",
        ),
        ("TLS  min_version: TLS10\n", "TLS10"),
        ("TLS  min_version: TLS11\n", "TLS11"),
        ("TLS  max_version: SSL3\n", "SSL3"),
        ("TLS  min_version: TLS13\n  max_version: TLS12\n", "above"),
        (
            "TLS  cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]\n",
            "TLS_RSA_WITH_RC4_128_SHA",
        ),
        ("TLS  curve_preferences: [CurveP521]\n", "CurveP521"),
        ("TLS  client_auth_type: Maybe\n", "Maybe"),
        ("TLS  client_ca_file: ca.pem\n", "client_auth_type"),
        (
            "TLS  client_auth_type: NoClientCert\n  client_ca_file: ca.pem\n",
            "client_auth_type",
        ),
        (
            "TLS  client_auth_type: RequireAndVerifyClientCert\n",
            "client_ca_file",
        ),
        (
            "TLS  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: empty.pem\n",
            "client_ca",
        ),
        (
            "TLS  client_auth_type: RequireAnyClientCert\n  client_allowed_sans: [a.example]\n",
            "client_allowed_sans",
        ),
        (
            "TLS  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n  client_allowed_sans: ['a@b']\n",
            "a@b",
        ),
        ("basic_auth_users:\n  ann: secret\n", "ann"),
        ("basic_auth_users:\n  ann: '$2y$04$tooshort'\n", "ann"),
        ("http_server_config:\n  headers:\n    Server: x\n", "Server"),
        (
            "http_server_config:\n  headers:\n    X-Frame-Options: maybe\n",
            "X-Frame-Options",
        ),
        (
            "http_server_config:\n  headers:\n    X-Content-Type-Options: sniff\n",
            "X-Content-Type-Options",
        ),
        ("http_server_config:\n  http3: true\n", "http3"),
        ("rate_limit:\n  interval: soon\n  burst: 1\n", "soon"),
        ("rate_limit:\n  interval: 1s\n", "burst"),
    ] {
        let config = config.replace("TLS  ", &format!("{TLS}  "));
        match certificates.serve(&config) {
            Ok(_) => panic!("accepted: {config}"),
            Err(error) => assert!(error.to_string().contains(want), "{error}\n{config}"),
        }
    }
    let absent = TestServer::with(full(1), Limits::default(), |web| {
        web.config_file = Some(certificates.path().join("absent.yml"));
    });
    assert!(absent.err().unwrap().to_string().contains("absent.yml"));
}

#[test]
fn versions_are_those_of_the_file() {
    let certificates = Certificates::new();
    for (limit, old, new) in [
        ("  min_version: TLS13\n", false, true),
        ("  max_version: TLS12\n", true, false),
        ("", true, true),
    ] {
        let server = certificates.serve(&format!("{TLS}{limit}")).unwrap();
        for (version, want) in [
            (&rustls::version::TLS12, old),
            (&rustls::version::TLS13, new),
        ] {
            let mut client = certificates.connect(server.port, None, &[version]);
            assert_eq!(client.get("/metrics").is_ok(), want, "{limit} {version:?}");
        }
    }
}

#[test]
fn plain_http_and_garbage_don_t_disturb_tls() {
    let certificates = Certificates::new();
    let server = certificates.serve(TLS).unwrap();
    assert!(http::get(server.port, "/metrics").is_err());
    let _ = Client::connect(server.port).send(&"\0".repeat(100));
    assert_eq!(certificates.scrape(server.port, None), Some(200));
}

#[test]
fn client_certificates() {
    let certificates = Certificates::new();
    let verify = "RequireAndVerifyClientCert\n  client_ca_file: ca.pem";
    let allowed = |san: &str| format!("{verify}\n  client_allowed_sans: [{san}]");
    for (policy, none, client, stranger) in [
        ("NoClientCert", true, true, true),
        ("RequestClientCert", true, true, true),
        ("RequireAnyClientCert", false, true, true),
        (
            "VerifyClientCertIfGiven\n  client_ca_file: ca.pem",
            true,
            true,
            false,
        ),
        (verify, false, true, false),
        (&allowed("scraper.example"), false, true, false),
        (&allowed("'other.example', '10.0.0.1'"), false, false, false),
    ] {
        let config = format!("{TLS}  client_auth_type: {policy}\n");
        let server = certificates.serve(&config).unwrap();
        for (own, want) in [
            (None, none),
            (Some("client"), client),
            (Some("stranger"), stranger),
        ] {
            let got = certificates.scrape(server.port, own);
            assert_eq!(got.is_some(), want, "{policy}: {own:?}");
        }
    }
}

#[test]
fn basic_auth_covers_every_path() {
    let certificates = Certificates::new();
    let server = certificates
        .serve("basic_auth_users:\n  ann: SESAME\n")
        .unwrap();
    let ask = |path: &str, credentials: &str| {
        let header = match credentials {
            "" => String::new(),
            text => format!("Authorization: Basic {text}\r\n"),
        };
        Client::connect(server.port)
            .ask("GET", path, &header)
            .unwrap()
    };
    // ann:sesame, ann:wrong, bob:sesame
    let (right, wrong, nobody) = ("YW5uOnNlc2FtZQ==", "YW5uOndyb25n", "Ym9iOnNlc2FtZQ==");
    for path in ["/metrics", "/", "/-/healthy", "/-/ready"] {
        for credentials in ["", wrong, nobody, "%%%"] {
            let answer = ask(path, credentials);
            assert_eq!(answer.status, 401, "{path} {credentials}");
            assert!(
                answer
                    .header("www-authenticate")
                    .unwrap()
                    .starts_with("Basic")
            );
            assert!(!answer.text().contains("copilot_"));
        }
        assert_eq!(ask(path, right).status, 200, "{path}");
    }
    assert_eq!(ask("/nowhere", "").status, 401);
    assert_eq!(ask("/nowhere", right).status, 404);
}

#[test]
fn the_rate_limit_answers_429() {
    let certificates = Certificates::new();
    let config = "rate_limit:\n  interval: 1h\n  burst: 2\n";
    let server = certificates.serve(config).unwrap();
    let mut client = Client::connect(server.port);
    let statuses = [0; 3].map(|_| client.get("/-/healthy").unwrap().status);
    assert_eq!(statuses, [200, 200, 429]);
}

#[test]
fn headers_are_on_every_answer() {
    let certificates = Certificates::new();
    let config = "http_server_config:\n  headers:\n    X-Frame-Options: sameorigin\n";
    let server = certificates.serve(config).unwrap();
    let mut client = Client::connect(server.port);
    for path in ["/metrics", "/", "/nowhere"] {
        let answer = client.get(path).unwrap();
        assert_eq!(answer.header("x-frame-options"), Some("sameorigin"));
    }
}

#[test]
fn certificates_and_users_are_read_again_when_they_change() {
    let certificates = Certificates::new();
    let server = certificates.serve(TLS).unwrap();
    assert_eq!(certificates.scrape(server.port, None), Some(200));
    let mut kept = certificates.connect(server.port, None, rustls::ALL_VERSIONS);
    kept.get("/metrics").unwrap();

    // Of an authority that the client doesn't trust yet.
    let renewed = authority();
    certificates.issue(&renewed, "server", "localhost");
    eventually("the new certificate to be shown", || {
        certificates
            .scrape(server.port, None)
            .is_none()
            .then_some(())
    });
    certificates.write("ca.pem", &renewed.pem());
    assert_eq!(certificates.scrape(server.port, None), Some(200));
    assert_eq!(kept.get("/metrics").unwrap().status, 200);

    // What can't be loaded changes nothing.
    certificates.write("server.key", "half a k");
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(certificates.scrape(server.port, None), Some(200));

    // A whole pair and users.
    certificates.issue(&renewed, "server", "localhost");
    let config = format!("{TLS}basic_auth_users:\n  ann: {SESAME}\n");
    certificates.write("web.yml", &config);
    eventually("the users to count", || {
        (certificates.scrape(server.port, None) == Some(401)).then_some(())
    });
}
