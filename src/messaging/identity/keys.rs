//! Keys: their text, their rows, and which one a request shows.
//!
//! A key's text is `ab_sk_`, its id of ten characters, `_`, and a secret of forty (6-messaging.md, C2). Clients cut at `-`,
//! so that neither has one. Only the secret's digest is stored.

use quintet_platform::secrets::{Digest, Secret, constant_time_eq, digest, random_bytes};
use quintet_storage::{Failure, Read, Scan, WriteTx};

use super::model::Key;
use super::tables::{KEYS, KEYS_BY_WORKSPACE, KeyRow};
use crate::model::{Mark, WorkspaceNo};

/// What is told of keys, as the store names it: that one is revoked, by [`number_of`].
pub(crate) const REVOKED: u16 = 0x0501;

/// What a key's text begins with.
const KEY_PREFIX: &str = "ab_sk_";
/// What the text of a join token begins with.
const TOKEN_PREFIX: &str = "ab_jt_";
/// Characters of a key's id.
const ID_CHARS: usize = 10;
/// Characters of a secret: 238 bits.
const SECRET_CHARS: usize = 40;
const ID_ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const SECRET_ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A key's id and secret, drawn before the transaction, so that verbs stay deterministic. Use each once.
#[derive(Debug)]
pub(crate) struct PreparedKey {
    pub(crate) id: String,
    secret: Secret,
}

impl PreparedKey {
    /// Draws them from the system's random source.
    pub(crate) fn draw() -> PreparedKey {
        PreparedKey { id: drawn(ID_ALPHABET, ID_CHARS), secret: draw_secret() }
    }

    /// The same secret for the key with this id.
    pub(crate) fn named(self, id: String) -> PreparedKey {
        PreparedKey { id, ..self }
    }

    /// The key's text.
    pub(crate) fn text(&self) -> Secret {
        Secret::new(format!("{KEY_PREFIX}{}_{}", self.id, self.secret.expose()))
    }

    /// What is stored of the secret.
    pub(crate) fn digest(&self) -> Digest {
        digest(self.secret.expose().as_bytes())
    }
}

/// A secret that stands by itself, drawn from the system's random source.
pub(crate) fn draw_secret() -> Secret {
    Secret::new(drawn(SECRET_ALPHABET, SECRET_CHARS))
}

/// The text of a join token, drawn from the system's random source.
pub(crate) fn draw_token() -> Secret {
    Secret::new(format!("{TOKEN_PREFIX}{}", draw_secret().expose()))
}

/// Where what belongs to a token lies: the first half of its digest. Rows keep the whole digest, to be compared.
pub(crate) fn token_place(digest: &Digest) -> u128 {
    digest.iter().take(16).fold(0, |place, byte| place << 8 | u128::from(*byte))
}

/// Whether a text has the form of a join token.
pub(crate) fn is_token(text: &str) -> bool {
    text.strip_prefix(TOKEN_PREFIX).is_some_and(is_secret)
}

/// So many characters of an alphabet, each as likely.
pub(crate) fn drawn(alphabet: &[u8], chars: usize) -> String {
    let mut text = String::with_capacity(chars);
    let fair = 256 - 256 % alphabet.len().max(1);
    while text.len() < chars {
        for byte in random_bytes::<64>() {
            let place = usize::from(byte);
            if place < fair && text.len() < chars {
                text.extend(alphabet.get(place % alphabet.len().max(1)).map(|byte| char::from(*byte)));
            }
        }
    }
    text
}

/// The id and the secret of a key's text; `None`: it is the text of none.
pub(crate) fn split(text: &str) -> Option<(&str, &str)> {
    let (id, secret) = text.strip_prefix(KEY_PREFIX)?.split_once('_')?;
    let is_id = id.len() == ID_CHARS && id.bytes().all(|byte| ID_ALPHABET.contains(&byte));
    if is_id && is_secret(secret) { Some((id, secret)) } else { None }
}

/// Whether a text has the form of a secret.
pub(crate) fn is_secret(text: &str) -> bool {
    text.len() == SECRET_CHARS && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The key of this text, unless it is revoked. An unknown one costs the same digest and comparison as a known one.
pub(crate) fn of_text(read: &impl Read, text: &str) -> Result<Option<Key>, Failure> {
    const NOBODYS: Digest = [0; 32];
    let Some((id, secret)) = split(text) else { return Ok(None) };
    let row = read.get(&KEYS, &id.to_owned())?;
    let stored = row.as_ref().map_or(&NOBODYS, |row| &row.digest);
    let is_own = constant_time_eq(&digest(secret.as_bytes()), stored);
    let key = row.map(|row| row.into_key(id.to_owned()));
    Ok(key.filter(|key| is_own && key.revoked_at.is_none()))
}

/// A key by its id, revoked or not.
pub(crate) fn find(read: &impl Read, id: &str) -> Result<Option<Key>, Failure> {
    Ok(read.get(&KEYS, &id.to_owned())?.map(|row| row.into_key(id.to_owned())))
}

/// A key's id as one number.
pub(crate) fn number_of(id: &str) -> u64 {
    id.bytes().fold(0, |number: u64, byte| {
        let digit = ID_ALPHABET.iter().position(|known| *known == byte).unwrap_or(0);
        number.wrapping_mul(36).wrapping_add(digit as u64)
    })
}

/// All keys of a workspace, those revoked last too, by id.
pub(crate) fn list(read: &impl Read, workspace: WorkspaceNo) -> Result<Vec<Key>, Failure> {
    let rows = read.scan(&KEYS_BY_WORKSPACE, Scan::prefix(&(workspace,)))?;
    let found = rows.into_iter().map(|((_, id), Mark)| find(read, &id));
    found.filter_map(Result::transpose).collect()
}

/// Keeps a new key.
pub(crate) fn put_new(tx: &mut WriteTx<'_>, key: &Key, digest: Digest) -> Result<(), Failure> {
    tx.put(&KEYS_BY_WORKSPACE, &(key.workspace, key.id.clone()), &Mark)?;
    tx.put(&KEYS, &key.id, &KeyRow::of(key, digest))
}

/// Keeps what has changed of a key. That one is revoked is told.
pub(crate) fn put(tx: &mut WriteTx<'_>, key: &Key) -> Result<(), Failure> {
    let Some(before) = tx.get(&KEYS, &key.id)? else { return Ok(()) };
    if key.revoked_at.is_some() {
        tx.tells(REVOKED, number_of(&key.id), 0);
    }
    tx.put(&KEYS, &key.id, &KeyRow::of(key, before.digest))
}

/// Forgets a key, which must have been revoked.
pub(crate) fn forget(tx: &mut WriteTx<'_>, key: &Key) {
    tx.delete(&KEYS_BY_WORKSPACE, &(key.workspace, key.id.clone()));
    tx.delete(&KEYS, &key.id);
}

/// Gives a key another secret: the one before opens nothing any more.
pub(crate) fn put_secret(tx: &mut WriteTx<'_>, key: &Key, digest: Digest) -> Result<(), Failure> {
    tx.put(&KEYS, &key.id, &KeyRow::of(key, digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_written() {
        let prepared = PreparedKey::draw();
        let text = prepared.text();
        let (id, secret) = split(text.expose()).unwrap();
        assert_eq!((id, digest(secret.as_bytes())), (prepared.id.as_str(), prepared.digest()));
        assert!(!text.expose().contains('-'), "clients cut there");
        assert!(is_token(draw_token().expose()) && !is_token("ab_jt_short"));
    }

    #[test]
    fn what_is_no_key_is_none() {
        let good = PreparedKey::draw().text().expose().clone();
        for bad in [
            String::new(),
            "ab_sk_".to_owned(),
            good.replacen("ab_sk_", "ab_jt_", 1),
            good[..good.len() - 1].to_owned(),
            format!("{good}x"),
            good.to_uppercase(),
            "ab_sk_abcdefghij_\u{e9}".to_owned(),
            format!("rak_{good}"),
        ] {
            assert_eq!(split(&bad), None, "{bad}");
        }
    }

    #[test]
    fn each_character_is_drawn() {
        let text = drawn(ID_ALPHABET, 5_000);
        assert!(ID_ALPHABET.iter().all(|byte| text.as_bytes().contains(byte)));
    }
}
