//! Client certificates, by the five policies that Go's TLS knows.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{self, CryptoProvider};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore,
    SignatureScheme,
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// The verifier for `client_auth_type`.
pub(super) fn verifier(
    policy: Option<&str>,
    ca: Option<Vec<CertificateDer<'static>>>,
    allowed_sans: &[String],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let verifies = matches!(
        policy,
        Some("VerifyClientCertIfGiven" | "RequireAndVerifyClientCert")
    );
    if !allowed_sans.is_empty() && !verifies {
        return Err(
            "tls_server_config: client_allowed_sans needs a client_auth_type that verifies"
                .to_owned(),
        );
    }
    let mandatory = match policy.unwrap_or_default() {
        "" | "NoClientCert" if ca.is_some() => {
            return Err(
                "tls_server_config: client_ca is given, but no client_auth_type".to_owned(),
            );
        }
        "" | "NoClientCert" => return Ok(WebPkiClientVerifier::no_client_auth()),
        "RequestClientCert" | "VerifyClientCertIfGiven" => false,
        "RequireAnyClientCert" | "RequireAndVerifyClientCert" => true,
        other => {
            return Err(format!(
                "tls_server_config: client_auth_type {other:?} is not known"
            ));
        }
    };
    let chain = match (verifies, ca) {
        (false, _) => None,
        (true, Some(ca)) => Some(chain_verifier(ca, provider)?),
        (true, None) => {
            return Err("tls_server_config: this client_auth_type needs client_ca_file".to_owned());
        }
    };
    Ok(Arc::new(Clients {
        mandatory,
        chain,
        allowed_sans: allowed_names(allowed_sans)?,
        provider: provider.clone(),
    }))
}

fn chain_verifier(
    ca: Vec<CertificateDer<'static>>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let mut roots = RootCertStore::empty();
    for certificate in ca {
        roots
            .add(certificate)
            .map_err(|error| format!("tls_server_config: client_ca: {error}"))?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|error| format!("tls_server_config: client_ca: {error}"))
}

fn allowed_names(sans: &[String]) -> Result<Vec<ServerName<'static>>, String> {
    let name = |san: &String| {
        ServerName::try_from(san.clone()).map_err(|_| {
            format!(
                "tls_server_config: client_allowed_sans: {san:?} is neither a DNS name nor an IP address"
            )
        })
    };
    sans.iter().map(name).collect()
}

#[derive(Debug)]
struct Clients {
    mandatory: bool,
    /// `None`: any certificate will do.
    chain: Option<Arc<dyn ClientCertVerifier>>,
    /// Empty: whatever name.
    allowed_sans: Vec<ServerName<'static>>,
    provider: Arc<CryptoProvider>,
}

impl Clients {
    fn name_is_allowed(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        if self.allowed_sans.is_empty() {
            return Ok(());
        }
        let bad = |_| Error::InvalidCertificate(CertificateError::BadEncoding);
        let certificate = webpki::EndEntityCert::try_from(certificate).map_err(bad)?;
        let carries = |allowed: &ServerName<'_>| match allowed {
            // Exactly, so that a certificate for `*.x` isn't one for each `y.x`.
            ServerName::DnsName(name) => certificate
                .valid_dns_names()
                .any(|san| san.eq_ignore_ascii_case(name.as_ref())),
            other => certificate.verify_is_valid_for_subject_name(other).is_ok(),
        };
        match self.allowed_sans.iter().any(carries) {
            true => Ok(()),
            false => Err(Error::InvalidCertificate(
                CertificateError::ApplicationVerificationFailure,
            )),
        }
    }
}

impl ClientCertVerifier for Clients {
    fn client_auth_mandatory(&self) -> bool {
        self.mandatory
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.chain
            .as_ref()
            .map_or(&[], |chain| chain.root_hint_subjects())
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if let Some(chain) = &self.chain {
            chain.verify_client_cert(end_entity, intermediates, now)?;
            self.name_is_allowed(end_entity)?;
        }
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
