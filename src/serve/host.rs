//! The `Host` check.
//!
//! A web page can have its own name resolve to 127.0.0.1 (DNS rebinding) and then read, in the browser of
//! somebody who looks at it, what listens there. Its requests carry the page's name, so that a socket on
//! the loopback address answers only to loopback names.

use std::net::IpAddr;

use super::address::is_loopback;

/// Whether a loopback socket answers a request with the `Host` header `host`. Browsers always send one.
pub(super) fn is_allowed(host: Option<&[u8]>, further_names: &[String]) -> bool {
    let Some(host) = host else {
        return true;
    };
    let Some(name) = std::str::from_utf8(host).ok().and_then(without_port) else {
        return false;
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || name.parse().is_ok_and(is_loopback)
        || further_names
            .iter()
            .any(|further| further.eq_ignore_ascii_case(name))
}

/// `None` if it isn't `name`, `name:port`, `[address]` or `[address]:port`.
fn without_port(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']')?;
            address.parse::<IpAddr>().ok()?;
            (address, port)
        }
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    digits.chars().all(|c| c.is_ascii_digit()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_names_and_those_of_the_config() {
        let further = ["metrics.example".to_owned()];
        for host in [
            "localhost",
            "localhost:19850",
            "LOCALHOST:1",
            "localhost.",
            "127.0.0.1:19850",
            "127.8.8.8",
            "[::1]:19850",
            "[::1]",
            "[::ffff:127.0.0.1]:1",
            "metrics.example:80",
        ] {
            assert!(is_allowed(Some(host.as_bytes()), &further), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:19850",
            "localhost.evil.example",
            "127.0.0.1.nip.example",
            "10.0.0.1",
            "0.0.0.0",
            "[::1]evil",
            "[evil]:1",
            "localhost:80@evil",
            "::1",
            "[::2]",
        ] {
            assert!(!is_allowed(Some(host.as_bytes()), &further), "{host}");
        }
        assert!(!is_allowed(Some(b"\xff"), &further));
        assert!(is_allowed(None, &further));
    }

    proptest::proptest! {
        #[test]
        fn a_public_name_never_passes(host in "[a-z0-9.:@\\[\\]%-]{0,30}\\.example(:[0-9]{0,5})?") {
            proptest::prop_assert!(!is_allowed(Some(host.as_bytes()), &[]));
        }
    }
}
