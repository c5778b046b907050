//! TLS with rustls. What rustls can't do is an error, never something else.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, SupportedKxGroup, ring};
use rustls::{ServerConfig, SupportedCipherSuite, SupportedProtocolVersion, version};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::client_certs;
use super::file::Tls;

/// The configuration of a TLS server. Relative paths are relative to `folder`; the files read are added
/// to `sources`.
pub(super) fn server_config(
    tls: Tls,
    folder: &Path,
    sources: &mut Vec<PathBuf>,
) -> Result<Arc<ServerConfig>, String> {
    let mut read = |inline: &Option<String>, file: &Option<PathBuf>, key: &str| {
        pem(inline, file, key, folder, sources)
    };
    let certificate = read(&tls.cert, &tls.cert_file, "cert")?
        .ok_or("tls_server_config: cert_file (or cert) is missing")?;
    let key = read(&tls.key, &tls.key_file, "key")?
        .ok_or("tls_server_config: key_file (or key) is missing")?;
    let client_ca = read(&tls.client_ca, &tls.client_ca_file, "client_ca")?;

    let chain = certificates(&certificate, "cert")?;
    let key = PrivateKeyDer::from_pem_slice(&key)
        .map_err(|_| "tls_server_config: key holds no private key")?;
    let provider = Arc::new(provider(&tls)?);
    let client_ca = client_ca
        .map(|pem| certificates(&pem, "client_ca"))
        .transpose()?;
    let clients = client_certs::verifier(
        tls.client_auth_type.as_deref(),
        client_ca,
        &tls.client_allowed_sans,
        &provider,
    )?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions(&tls)?)
        .map_err(|error| format!("tls_server_config: {error}"))?
        .with_client_cert_verifier(clients)
        .with_single_cert(chain, key)
        .map_err(|error| format!("tls_server_config: certificate and key: {error}"))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.ignore_client_order = tls.prefer_server_cipher_suites.unwrap_or(true);
    Ok(Arc::new(config))
}

fn pem(
    inline: &Option<String>,
    file: &Option<PathBuf>,
    key: &str,
    folder: &Path,
    sources: &mut Vec<PathBuf>,
) -> Result<Option<Vec<u8>>, String> {
    match (inline, file) {
        (Some(_), Some(_)) => Err(format!(
            "tls_server_config: give {key} or {key}_file, not both"
        )),
        (Some(text), None) => Ok(Some(text.clone().into_bytes())),
        (None, Some(file)) => {
            let path = folder.join(file);
            let content = fs::read(&path)
                .map_err(|error| format!("{key}_file {}: {error}", path.display()))?;
            sources.push(path);
            Ok(Some(content))
        }
        (None, None) => Ok(None),
    }
}

fn certificates(pem: &[u8], key: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let broken = || format!("tls_server_config: {key} holds no certificate");
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = all.map_err(|_| broken())?;
    if all.is_empty() {
        return Err(broken());
    }
    Ok(all)
}

fn versions(tls: &Tls) -> Result<Vec<&'static SupportedProtocolVersion>, String> {
    let number = |name: &Option<String>, default: u8| match name.as_deref() {
        None | Some("") => Ok(default),
        Some("TLS12") => Ok(12),
        Some("TLS13") => Ok(13),
        Some(other) => Err(format!(
            "tls_server_config: TLS version {other:?} is not supported (TLS12 and TLS13 are)"
        )),
    };
    let (min, max) = (number(&tls.min_version, 12)?, number(&tls.max_version, 13)?);
    let range = min..=max;
    let all = [(13, &version::TLS13), (12, &version::TLS12)];
    let versions: Vec<_> = all
        .into_iter()
        .filter(|(number, _)| range.contains(number))
        .map(|(_, version)| version)
        .collect();
    match versions.is_empty() {
        true => Err("tls_server_config: min_version is above max_version".to_owned()),
        false => Ok(versions),
    }
}

/// With the cipher suites and curves that are asked for, in that order. As in Go, the suites of TLS 1.3
/// can't be chosen: naming one is allowed and changes nothing.
fn provider(tls: &Tls) -> Result<CryptoProvider, String> {
    let mut provider = ring::default_provider();
    if !tls.cipher_suites.is_empty() {
        let (fixed, choice): (Vec<_>, Vec<_>) = provider
            .cipher_suites
            .into_iter()
            .partition(|suite| matches!(suite, SupportedCipherSuite::Tls13(_)));
        provider.cipher_suites = fixed.clone();
        for name in &tls.cipher_suites {
            let named = |suite: &&SupportedCipherSuite| suite_name(suite) == *name;
            match choice.iter().find(named) {
                Some(suite) => provider.cipher_suites.push(*suite),
                None if fixed.iter().any(|suite| suite_name(suite) == *name) => {}
                None => {
                    let known: Vec<_> = choice.iter().map(suite_name).collect();
                    return Err(format!(
                        "tls_server_config: the cipher suite {name:?} is not supported; {} are",
                        known.join(", ")
                    ));
                }
            }
        }
    }
    if !tls.curve_preferences.is_empty() {
        let groups = tls.curve_preferences.iter().map(|name| curve(name));
        provider.kx_groups = groups.collect::<Result<_, _>>()?;
    }
    Ok(provider)
}

/// The name in the IANA registry, which the file uses.
fn suite_name(suite: &SupportedCipherSuite) -> String {
    format!("{:?}", suite.suite()).replacen("TLS13_", "TLS_", 1)
}

fn curve(name: &str) -> Result<&'static dyn SupportedKxGroup, String> {
    match name {
        "X25519" => Ok(ring::kx_group::X25519),
        "CurveP256" => Ok(ring::kx_group::SECP256R1),
        "CurveP384" => Ok(ring::kx_group::SECP384R1),
        _ => Err(format!(
            "tls_server_config: the curve {name:?} is not supported; X25519, CurveP256 and CurveP384 are"
        )),
    }
}
