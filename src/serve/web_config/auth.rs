//! Basic authentication against bcrypt hashes.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest;

/// The users and their bcrypt hashes.
#[derive(Debug)]
pub(in crate::serve) struct Users {
    hashes: BTreeMap<String, String>,
    /// Digests of credentials that were found right, so that a scrape needn't wait for bcrypt.
    right: Mutex<HashSet<[u8; 32]>>,
    /// bcrypt is meant to be expensive: one at a time, so that guesses can't take all cores.
    bcrypt: tokio::sync::Mutex<()>,
}

impl Users {
    /// Cached credentials at most: several passwords can be right, since bcrypt reads only 72 bytes.
    const CACHED: usize = 100;
    /// Compared against for an unknown user, so that the time taken doesn't tell who exists. Nobody's password.
    const NOBODY: &str = "$2b$10$5M0GUXF1fVbEpf1TUhUQ6.9Jq9EuiQK4GCm5QYX4q3sMuTTzsZ3x2";

    pub(super) fn new(hashes: BTreeMap<String, String>) -> Self {
        Self {
            hashes,
            right: Mutex::default(),
            bcrypt: tokio::sync::Mutex::default(),
        }
    }

    /// Whether the value of an `Authorization` header is that of a user.
    pub(in crate::serve) async fn allow(&self, authorization: Option<&[u8]>) -> bool {
        let Some((user, password)) = authorization.and_then(credentials) else {
            return false;
        };
        let hash = self.hashes.get(&user).map(String::as_str);
        let digest = digest_of(&user, hash.unwrap_or(Self::NOBODY), &password);
        if hash.is_some() && self.right().contains(&digest) {
            return true;
        }
        let against = hash.unwrap_or(Self::NOBODY).to_owned();
        let turn = self.bcrypt.lock().await;
        let verify = move || bcrypt::verify(&password, &against).unwrap_or(false);
        let same = tokio::task::spawn_blocking(verify).await.unwrap_or(false);
        drop(turn);
        let allowed = same && hash.is_some();
        if allowed {
            let mut right = self.right();
            if right.len() >= Self::CACHED {
                right.clear();
            }
            right.insert(digest);
        }
        allowed
    }

    fn right(&self) -> std::sync::MutexGuard<'_, HashSet<[u8; 32]>> {
        self.right.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// User and password of `Basic dXNlcjpwYXNzd29yZA==` (RFC 7617).
fn credentials(authorization: &[u8]) -> Option<(String, Vec<u8>)> {
    let text = std::str::from_utf8(authorization).ok()?;
    let (scheme, encoded) = text.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = STANDARD.decode(encoded.trim()).ok()?;
    let colon = decoded.iter().position(|&byte| byte == b':')?;
    let (user, rest) = decoded.split_at(colon);
    let user = String::from_utf8(user.to_owned()).ok()?;
    Some((user, rest.get(1..)?.to_owned()))
}

fn digest_of(user: &str, hash: &str, password: &[u8]) -> [u8; 32] {
    let mut context = digest::Context::new(&digest::SHA256);
    for part in [user.as_bytes(), hash.as_bytes(), password] {
        context.update(&(part.len() as u64).to_le_bytes());
        context.update(part);
    }
    let mut out = [0; 32];
    out.copy_from_slice(context.finish().as_ref());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_right_password_of_a_known_user() {
        let hash = bcrypt::hash("right", 4).unwrap();
        let users = Users::new(BTreeMap::from([("ann".to_owned(), hash)]));
        let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
        for round in ["bcrypt", "cached"] {
            for (header, want) in [
                (basic("ann:right"), true),
                (basic("ann:wrong"), false),
                (basic("bob:right"), false),
                (basic("ann"), false),
                (basic("ann:right:more"), false),
                (basic("ann:right").replace("Basic", "bAsIc"), true),
                (basic("ann:right").replace("Basic", "Bearer"), false),
                ("Basic".to_owned(), false),
                ("Basic !!!".to_owned(), false),
            ] {
                let got = users.allow(Some(header.as_bytes())).await;
                assert_eq!(got, want, "{round}: {header}");
            }
            assert!(!users.allow(None).await);
        }
        assert_eq!(users.right().len(), 1);
    }

    #[test]
    fn the_hash_for_nobody_is_a_hash() {
        assert!(Users::NOBODY.parse::<bcrypt::HashParts>().is_ok());
    }
}
