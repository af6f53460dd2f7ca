//! Tokens and what is refused of them, keys, documents, logins; a provider that answers as it is told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use data_encoding::BASE64URL_NOPAD;
use http_body_util::BodyExt as _;
use quintet_storage::{Read as _, Timestamp, Uuid};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::claims::{Email, Expected, IdToken, LogoutToken};
use super::document::Document;
use super::jose::{Token, TokenFault};
use super::key_set::KeySet;
use super::login::{LIFE_SECONDS, Login, LoginKey};
use super::tables::SPENT;
use super::{ExchangeFailure, LoginKeys, Provider, Settings, SpentNames, is_spent, login_name, logout_name, spend};
use crate::clock::Clock;
use crate::egress::Egress;
use crate::jobs::Agenda as _;
use crate::json::{Json, Limits, parse};
use crate::secrets::{Secret, digest};
use crate::testing::TestStore;

const START: Timestamp = Timestamp::from_micros(1_750_000_000_000_000);
const NOW: i64 = 1_750_000_000;
const ISSUER: &str = "https://login.example";

/// RFC 7515, A.2.
const RS256_N: &str = concat!(
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-",
    "pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2Ca",
    "pHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb5",
    "4h4FRWyuXpoQ",
);
const RS256: &str = concat!(
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0c",
    "nVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdb",
    "F9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6",
    "_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0ig",
    "cN_IoypGlUPQGe77Rw",
);
/// RFC 7515, A.3.
const ES256: &str = concat!(
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0c",
    "nVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
);
/// RFC 8037, A.4.
const EDDSA: &str = concat!(
    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4",
    "ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
);
/// Made by Node.js, with a salt of 32 bytes.
const PS256_N: &str = concat!(
    "6r-IOw4YMUR_DdH7-qyJ8VkWYlZ7MQ10eti6UmYuT0H-mb76AdpmBIh4NvFIUfJdqEMZNphd_MiwSqSuuMnamhHKx8dcAlwQ8dFKKmwdxtJ3Ui",
    "Ccsejm1dzRekh0RT21C7JvsGpAFS0QdEd4M6FS0xfmekaVqFU8GZMmtG4T5BA5FD-ESf4qyaYvLQmoovJXuYEMILPbvF0MGk6tt74XUZmXZECw",
    "VCCQT3dW-Hg_4cjEBFHygwHMkKzZ4P5eeCjgCkM6_skc-coby6IgihNMkzX9IeC08JXWr8Na71BaNPe9AlvgPjRQ6LN3Xhjl48-9sfQD_pX0vk",
    "I57NyeTu8lkQ",
);
const PS256: &str = concat!(
    "eyJhbGciOiJQUzI1NiJ9.eyJpc3MiOiJqb2UifQ.EJElZy9crv7fiyP5XHklRJ_hfRhCya_EGF24cPL6Crag0cSgMPekGGPQOAALvMfWT0tHc_",
    "Bu2vzX_qdtz5p6P0Z3SwPiHdxE1ufs6w6ITquV5KZvNiWj4h4grCQ6OnEb_cyJTFjMBCRMKpzdnIzTD-7rmMCFxkUhZxpESkB50F450dei2zJw",
    "Ronniros_CiVNNKhONxDvBE6V7fkboHBserm5gZNVm_cRSwZcPb8OWzRikHJQSn2WqKwsCneSwNEFM8yZPqwEo3vK1OUa0doaPlKuiNiGKb-ZZ",
    "zUwDu6rJ88MHBI8wyxijKJVF48PdO_hd70m_GiE0YGRjCb0H9q0w",
);

fn key_set(keys: &Value) -> KeySet {
    KeySet::read(json!({"keys": keys}).to_string().as_bytes()).unwrap()
}

fn check(keys: &Value, token: &str) -> Result<(), TokenFault> {
    Token::read(token).and_then(|token| key_set(keys).check(&token))
}

/// The keys of the published examples.
fn published() -> Value {
    json!([
        {"kty": "RSA", "alg": "RS256", "use": "sig", "n": RS256_N, "e": "AQAB"},
        {"kty": "RSA", "alg": "PS256", "n": PS256_N, "e": "AQAB", "key_ops": ["verify"]},
        {
            "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        },
        {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
    ])
}

/// A token with this header and these claims, signed with Ed25519.
fn signed(key: &Ed25519KeyPair, header: &Value, claims: &Value) -> String {
    let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    let text = format!("{}.{}", part(header), part(claims));
    let signature = BASE64URL_NOPAD.encode(key.sign(text.as_bytes()).as_ref());
    format!("{text}.{signature}")
}

fn ed25519() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap()
}

fn public(key: &Ed25519KeyPair, name: &str) -> Value {
    let x = BASE64URL_NOPAD.encode(key.public_key().as_ref());
    json!({"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": name, "x": x})
}

#[test]
fn four_algorithms_are_taken() {
    for token in [RS256, PS256, ES256, EDDSA] {
        assert_eq!(check(&published(), token), Ok(()), "{token}");
        // Each bit of a signature counts, and each of what is signed.
        let (text, signature) = token.rsplit_once('.').unwrap();
        let mut bytes = BASE64URL_NOPAD.decode(signature.as_bytes()).unwrap();
        bytes[5] ^= 1;
        let forged = format!("{text}.{}", BASE64URL_NOPAD.encode(&bytes));
        assert_eq!(check(&published(), &forged), Err(TokenFault::Signature));
        let (header, payload) = text.split_once('.').unwrap();
        let other = format!("{header}.{}{payload}.{signature}", BASE64URL_NOPAD.encode(b"{\"a\":1,   "));
        assert_ne!(check(&published(), &other), Ok(()));
        assert_ne!(check(&published(), &format!("{text}.")), Ok(()));
    }
}

#[test]
fn no_other_algorithm_is() {
    for name in [
        "none", "None", "NONE", "nOnE", "", "HS256", "HS384", "HS512", "RS384", "RS512", "PS384", "ES384", "ES512",
        "ES256K", "RSA-OAEP", "dir", "rs256",
    ] {
        let header = BASE64URL_NOPAD.encode(json!({"alg": name}).to_string().as_bytes());
        for signature in ["", "AAAA"] {
            let token = format!("{header}.e30.{signature}");
            assert_eq!(Token::read(&token).err(), Some(TokenFault::Algorithm), "{name}");
        }
    }
}

#[test]
fn a_key_is_for_its_own_algorithm_alone() {
    let (key, claims) = (ed25519(), json!({}));
    let token = signed(&key, &json!({"alg": "EdDSA", "kid": "a"}), &claims);
    let of = |change: Value| {
        let mut own = public(&key, "a");
        own.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        check(&json!([own]), &token)
    };
    assert_eq!(of(json!({})), Ok(()));
    for other in [
        json!({"alg": "RS256"}),
        json!({"alg": "HS256"}),
        json!({"alg": 7}),
        json!({"use": "enc"}),
        json!({"use": 1}),
        json!({"key_ops": ["sign"]}),
        json!({"key_ops": "verify"}),
        json!({"kid": "b"}),
        json!({"kty": "oct", "k": "AAAA"}),
        json!({"crv": "Ed448"}),
        json!({"x": "AAAA"}),
    ] {
        assert_eq!(of(other.clone()), Err(TokenFault::UnknownKey), "{other}");
    }
    // The kind of the key decides, whatever the token says.
    let confused = signed(&key, &json!({"alg": "RS256", "kid": "a"}), &claims);
    assert_eq!(check(&json!([public(&key, "a")]), &confused), Err(TokenFault::UnknownKey));
}

#[test]
fn of_several_keys_a_token_says_which() {
    let (one, other) = (ed25519(), Ed25519KeyPair::from_seed_unchecked(&[8; 32]).unwrap());
    let keys = json!([public(&one, "a"), public(&other, "b")]);
    let by = |key: &Ed25519KeyPair, header: Value| check(&keys, &signed(key, &header, &json!({})));
    assert_eq!(by(&one, json!({"alg": "EdDSA", "kid": "a"})), Ok(()));
    assert_eq!(by(&one, json!({"alg": "EdDSA", "kid": "b"})), Err(TokenFault::Signature));
    assert_eq!(by(&one, json!({"alg": "EdDSA", "kid": "c"})), Err(TokenFault::UnknownKey));
    assert_eq!(by(&one, json!({"alg": "EdDSA"})), Err(TokenFault::Malformed));
    // A name that two keys share may mean either.
    let shared = json!([public(&one, "a"), public(&other, "a")]);
    let token = signed(&other, &json!({"alg": "EdDSA", "kid": "a"}), &json!({}));
    assert_eq!(check(&shared, &token), Ok(()));
}

#[test]
fn what_is_no_token() {
    let key = ed25519();
    let token = signed(&key, &json!({"alg": "EdDSA"}), &json!({}));
    let with = |header: Value| signed(&key, &header, &json!({}));
    for bad in [
        String::new(),
        "a".to_owned(),
        "..".to_owned(),
        format!("{token}.x"),
        format!("{token}="),
        format!(" {token}"),
        token.replacen('.', "..", 1),
        token.replace('.', ""),
        with(json!([])),
        with(json!({"kid": "a"})),
        with(json!({"alg": ["EdDSA"]})),
        with(json!({"alg": "EdDSA", "kid": 7})),
        with(json!({"alg": "EdDSA", "kid": "k".repeat(257)})),
        with(json!({"alg": "EdDSA", "crit": ["b64"], "b64": false})),
        signed(&key, &json!({"alg": "EdDSA"}), &json!("x".repeat(40_000))),
        "\u{e9}.\u{e9}.\u{e9}".to_owned(),
    ] {
        assert_eq!(Token::read(&bad).err(), Some(TokenFault::Malformed), "{bad:.80}");
    }
    let twice = BASE64URL_NOPAD.encode(br#"{"alg":"none","alg":"EdDSA"}"#);
    assert_eq!(Token::read(&format!("{twice}.e30.AAAA")).err(), Some(TokenFault::Malformed));
    // What a header brings of its own (a key, where one lies) is nothing.
    let mut header = json!({"alg": "EdDSA", "typ": "anything", "jku": "https://evil.example", "x5c": ["x"]});
    header["jwk"] = public(&key, "a");
    let other = Ed25519KeyPair::from_seed_unchecked(&[9; 32]).unwrap();
    assert_eq!(check(&json!([public(&other, "a")]), &with(header)), Err(TokenFault::Signature));
    // What is signed and no object says nothing.
    let odd = signed(&key, &json!({"alg": "EdDSA"}), &json!([1]));
    assert_eq!(Token::read(&odd).unwrap().claims(), Err(TokenFault::Malformed));
}

#[test]
fn key_sets_are_read_as_far_as_they_can_be() {
    for none in [&b""[..], b"{}", b"[]", br#"{"keys":{}}"#, b"{\"keys\":[", b"\xff"] {
        assert!(KeySet::read(none).is_none());
    }
    let mut keys = published();
    let odd = [json!(null), json!(7), json!({}), json!({"kty": "RSA", "n": "!"}), json!({"kty": "EC", "crv": "P-384"})];
    keys.as_array_mut().unwrap().extend(odd);
    assert_eq!(check(&keys, RS256), Ok(()));
    // A modulus with a zero byte in front, as some write it; one that is too short; one that is too long.
    let modulus = |n: &[u8]| json!([{"kty": "RSA", "n": BASE64URL_NOPAD.encode(n), "e": "AQAB"}]);
    let n = BASE64URL_NOPAD.decode(RS256_N.as_bytes()).unwrap();
    assert_eq!(check(&modulus(&[&[0], n.as_slice()].concat()), RS256), Ok(()));
    assert_eq!(check(&modulus(&n[..128]), RS256), Err(TokenFault::Signature));
    assert_eq!(check(&modulus(&vec![255; 1025]), RS256), Err(TokenFault::UnknownKey));
}

fn claims(value: &Value) -> Json {
    parse(value.to_string().as_bytes(), Limits::default()).unwrap()
}

/// `base` with these members; null takes one away.
fn changed(base: &Value, change: &Value) -> Value {
    let mut changed = base.clone();
    for (name, value) in change.as_object().unwrap() {
        match value {
            Value::Null => drop(changed.as_object_mut().unwrap().remove(name)),
            value => changed[name] = value.clone(),
        }
    }
    changed
}

fn expected() -> Expected<'static> {
    Expected { issuer: ISSUER, client_id: "quintet", now: START }
}

fn id_claims() -> Value {
    json!({
        "iss": ISSUER, "sub": "zoe", "aud": "quintet", "exp": NOW + 300, "iat": NOW, "nonce": "n", "sid": "s",
        "email": "zoe@example.org", "email_verified": true,
    })
}

#[test]
fn what_an_id_token_must_say() {
    let read = |change: Value| IdToken::of(&claims(&changed(&id_claims(), &change)), &expected(), "n");
    let told = read(json!({})).unwrap();
    let email = Email { address: "zoe@example.org".to_owned(), is_verified: true };
    assert_eq!(told, IdToken { subject: "zoe".to_owned(), session: Some("s".to_owned()), email: Some(email) });
    for fine in [
        json!({"aud": ["quintet"]}),
        json!({"aud": ["quintet", "other"], "azp": "quintet"}),
        json!({"azp": "quintet"}),
        json!({"exp": NOW - 59}),
        json!({"iat": NOW + 60}),
        json!({"iat": NOW - 86_400}),
        json!({"nbf": NOW + 60}),
        json!({"exp": 1_750_000_300.5}),
        json!({"sid": null}),
        json!({"email": null}),
    ] {
        assert!(read(fine.clone()).is_ok(), "{fine}");
    }
    for (wrong, claim) in [
        (json!({"iss": "https://login.example/"}), "iss"),
        (json!({"iss": "https://evil.example"}), "iss"),
        (json!({"iss": null}), "iss"),
        (json!({"iss": [ISSUER]}), "iss"),
        (json!({"aud": "other"}), "aud"),
        (json!({"aud": ["other"]}), "aud"),
        (json!({"aud": []}), "aud"),
        (json!({"aud": null}), "aud"),
        (json!({"aud": {"quintet": 1}}), "aud"),
        (json!({"aud": ["quintet", "other"]}), "azp"),
        (json!({"aud": ["quintet", "other"], "azp": "other"}), "azp"),
        (json!({"azp": "other"}), "azp"),
        (json!({"sub": null}), "sub"),
        (json!({"sub": ""}), "sub"),
        (json!({"sub": 7}), "sub"),
        (json!({"sub": "s".repeat(256)}), "sub"),
        (json!({"exp": null}), "exp"),
        (json!({"exp": NOW - 60}), "exp"),
        (json!({"exp": "1750000300"}), "exp"),
        (json!({"exp": -1}), "exp"),
        (json!({"exp": 1e30}), "exp"),
        (json!({"iat": null}), "iat"),
        (json!({"iat": NOW + 61}), "iat"),
        (json!({"nbf": NOW + 61}), "nbf"),
        (json!({"nonce": null}), "nonce"),
        (json!({"nonce": "m"}), "nonce"),
        (json!({"nonce": ["n"]}), "nonce"),
        (json!({"sid": 7}), "sid"),
    ] {
        assert_eq!(read(wrong.clone()), Err(TokenFault::Claim(claim)), "{wrong}");
    }
}

#[test]
fn an_address_counts_only_if_the_provider_vouches_for_it() {
    let of = |change: Value| Email::of(&claims(&changed(&id_claims(), &change)));
    assert_eq!(of(json!({})).unwrap().verified(), Some("zoe@example.org"));
    for verified in [json!(false), json!("true"), json!(1), Value::Null] {
        assert_eq!(of(json!({"email_verified": verified})).unwrap().verified(), None, "{verified}");
    }
    for address in [json!(7), json!(""), json!("zoe"), json!("@b"), json!("a@"), json!("a b@c"), json!("a@b\n")] {
        assert_eq!(of(json!({"email": address})), None, "{address}");
    }
    assert_eq!(of(json!({"email": format!("{}@b", "a".repeat(253))})), None);
}

#[test]
fn what_a_logout_token_must_say() {
    let events = json!({"http://schemas.openid.net/event/backchannel-logout": {}});
    let base = json!({
        "iss": ISSUER, "sub": "zoe", "aud": "quintet", "iat": NOW, "exp": NOW + 120, "jti": "j", "events": events,
    });
    let read = |change: Value| LogoutToken::of(&claims(&changed(&base, &change)), &expected());
    let ends_at = |told: &LogoutToken| told.ends_at.as_micros() / 1_000_000 - NOW;
    let told = read(json!({})).unwrap();
    assert_eq!((told.subject.as_deref(), &told.session, told.token_name.as_str()), (Some("zoe"), &None, "j"));
    assert_eq!(ends_at(&told), 180, "with the leeway");
    assert_eq!(ends_at(&read(json!({"exp": null})).unwrap()), 3_660, "an hour, if it does not say");
    assert_eq!(ends_at(&read(json!({"exp": NOW + 86_400})).unwrap()), 3_660, "nor longer, if it does");
    assert_eq!(read(json!({"sub": null, "sid": "s"})).unwrap().session.as_deref(), Some("s"));
    for (wrong, claim) in [
        (json!({"events": null}), "events"),
        (json!({"events": {}}), "events"),
        (json!({"events": [events]}), "events"),
        (json!({"events": {"http://schemas.openid.net/event/backchannel-logout": true}}), "events"),
        (json!({"nonce": "n"}), "nonce"),
        (json!({"sub": null}), "sub"),
        (json!({"jti": null}), "jti"),
        (json!({"jti": ""}), "jti"),
        (json!({"iat": null}), "iat"),
        (json!({"iat": NOW + 61}), "iat"),
        (json!({"exp": NOW - 60}), "exp"),
        (json!({"exp": null, "iat": NOW - 3_660}), "exp"),
        (json!({"iss": "https://evil.example"}), "iss"),
        (json!({"aud": "other"}), "aud"),
    ] {
        assert_eq!(read(wrong.clone()), Err(TokenFault::Claim(claim)), "{wrong}");
    }
    assert!(LogoutToken::of(&claims(&id_claims()), &expected()).is_err(), "an ID token is none");
    assert!(IdToken::of(&claims(&base), &expected(), "n").is_err(), "nor the other way around");
}

fn document_of(issuer: &str) -> Value {
    json!({
        "issuer": issuer, "authorization_endpoint": format!("{issuer}/auth?x=1"),
        "token_endpoint": format!("{issuer}/token"), "jwks_uri": format!("{issuer}/jwks"),
        "userinfo_endpoint": format!("{issuer}/me"), "end_session_endpoint": format!("{issuer}/end"),
    })
}

#[test]
fn a_document_is_of_its_issuer_and_names_places_that_can_be_reached() {
    let read = |change: Value| Document::read(changed(&document_of(ISSUER), &change).to_string().as_bytes(), ISSUER);
    assert!(read(json!({})).is_some());
    let least = read(json!({"userinfo_endpoint": null, "end_session_endpoint": null})).unwrap();
    assert_eq!((least.userinfo, least.end_session), (None, None));
    for wrong in [
        json!({"issuer": "https://login.example/"}),
        json!({"issuer": null}),
        json!({"authorization_endpoint": null}),
        json!({"authorization_endpoint": "http://login.example/auth"}),
        json!({"authorization_endpoint": "javascript:alert(1)"}),
        json!({"authorization_endpoint": "https://user@login.example/auth"}),
        json!({"authorization_endpoint": "https://login.example/auth#x"}),
        json!({"token_endpoint": "/token"}),
        json!({"jwks_uri": 7}),
    ] {
        assert!(read(wrong.clone()).is_none(), "{wrong}");
    }
    let plain = document_of("http://127.0.0.1:1");
    assert!(Document::read(plain.to_string().as_bytes(), "http://127.0.0.1:1").is_some());
    assert!(Document::read(b"<html>", ISSUER).is_none());
}

#[test]
fn a_login_opens_where_it_was_sealed_and_for_ten_minutes() {
    let key = LoginKey::new([7; 32].into());
    let login = Login::new(Uuid::from_u128(7), START);
    let sealed = key.seal(&login, "here").unwrap();
    let open = |text: &str, purpose: &str, seconds: i64| key.open(text, purpose, START.plus_seconds(seconds));
    let opened = open(&sealed, "here", LIFE_SECONDS - 1).unwrap();
    assert_eq!((opened.about, opened.ends_at), (login.about, login.ends_at));
    assert_eq!((opened.state(), opened.nonce()), (login.state(), login.nonce()));
    assert_eq!(opened.verifier().expose(), login.verifier().expose());
    assert!(opened.is_answered_by(&login.state()) && !opened.is_answered_by(&login.nonce()));
    assert!(!opened.is_answered_by(""));
    assert_eq!(login.challenge(), BASE64URL_NOPAD.encode(&digest(login.verifier().expose().as_bytes())));
    assert_eq!(login.verifier().expose().len(), 43);
    assert!(open(&sealed, "here", LIFE_SECONDS).is_none(), "too late");
    assert!(open(&sealed, "elsewhere", 0).is_none(), "another provider, another client, another door");
    assert!(LoginKey::new([8; 32].into()).open(&sealed, "here", START).is_none(), "another appliance");
    let mut bytes = BASE64URL_NOPAD.decode(sealed.as_bytes()).unwrap();
    for place in 0..bytes.len() {
        bytes[place] ^= 1;
        assert!(open(&BASE64URL_NOPAD.encode(&bytes), "here", 0).is_none(), "byte {place}");
        bytes[place] ^= 1;
    }
    for bad in ["", "A", &sealed[1..], &format!("{sealed}A"), &"A".repeat(10_000), "\u{e9}"] {
        assert!(open(bad, "here", 0).is_none());
    }
    let again = key.seal(&login, "here").unwrap();
    assert_ne!(again, sealed, "sealed anew each time");
}

#[tokio::test]
async fn the_key_of_logins_outlives_a_restart() {
    let test = TestStore::open(START);
    let login = Login::new(Uuid::nil(), START);
    let keys = LoginKeys::new(test.store.clone());
    let sealed = keys.get().await.unwrap().seal(&login, "here").unwrap();
    assert!(keys.get().await.unwrap().open(&sealed, "here", START).is_some());
    let mark = keys.get().await.unwrap().mark(&[b"a", b"b"]);
    drop(keys);
    let test = TestStore::open_in(test.close(), START);
    let keys = LoginKeys::new(test.store.clone());
    let key = keys.get().await.unwrap();
    assert!(key.open(&sealed, "here", START).is_some());
    assert_eq!(key.mark(&[b"a", b"b"]), mark);
    assert_ne!(key.mark(&[b"ab", b""]), mark);
}

#[tokio::test]
async fn what_counts_once_is_spent_until_it_could_not_come_again() {
    let test = TestStore::open(START);
    let login = Login::new(Uuid::nil(), START);
    let names = [login_name(&login), logout_name("a", "bc"), logout_name("ab", "c")];
    let deadline = || std::time::Instant::now() + std::time::Duration::from_secs(20);
    let spent = |name: u128, ends_at: Timestamp| {
        test.store.write_blocking(deadline(), move |tx, _| {
            spend(tx, name, ends_at).map_err(quintet_storage::Abort::<std::convert::Infallible>::Failed)
        })
    };
    for name in names {
        assert!(!is_spent(&test.store.read(), name).unwrap());
        assert_eq!(spent(name, login.ends_at), Ok(true));
        assert_eq!(spent(name, login.ends_at), Ok(false), "again");
        assert!(is_spent(&test.store.read(), name).unwrap());
    }
    assert_eq!(crate::verify(&test.store.read()), Ok(Vec::new()));
    let due = SpentNames.next(&test.store.read(), SpentNames::FIRST).unwrap().unwrap();
    assert!(due >= login.ends_at && due < login.ends_at.plus_seconds(3_600));
    let swept = test.store.write_blocking(deadline(), move |tx, _| {
        let swept = SpentNames.slice(tx, due, SpentNames::FIRST);
        swept.map_err(quintet_storage::Abort::<std::convert::Infallible>::Failed)
    });
    assert!(swept.is_ok());
    assert!(names.iter().all(|name| !is_spent(&test.store.read(), *name).unwrap()));
    assert_eq!(crate::verify(&test.store.read()), Ok(Vec::new()));
    // What is lost of the two is found.
    assert_eq!(spent(names[0], login.ends_at), Ok(true));
    let name = names[0];
    let lost = test.store.write_blocking(deadline(), move |tx, _| {
        tx.delete(&SPENT, &name);
        Ok::<_, quintet_storage::Abort<std::convert::Infallible>>(())
    });
    assert!(lost.is_ok() && !test.store.read().contains(&SPENT, &name).unwrap());
    assert!(crate::verify(&test.store.read()).unwrap()[0].contains("but there is none"));
}

/// A provider on loopback: answers by path, and how often each was asked for.
#[derive(Clone, Default)]
struct Answers(Arc<Mutex<HashMap<String, Scripted>>>);

/// A status, a body, and how often it was asked for.
type Scripted = (u16, String, u32);

impl Answers {
    fn set(&self, path: &str, status: u16, body: &str) {
        let mut all = self.0.lock().unwrap();
        let asked = all.get(path).map_or(0, |(.., asked)| *asked);
        all.insert(path.to_owned(), (status, body.to_owned(), asked));
    }

    fn asked(&self, path: &str) -> u32 {
        self.0.lock().unwrap().get(path).map_or(0, |(.., asked)| *asked)
    }

    async fn serve(self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new().fallback(answer).with_state(self);
        tokio::spawn(async move { axum::serve(listener, app).await });
        issuer
    }
}

async fn answer(State(answers): State<Answers>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let form = body.collect().await.unwrap().to_bytes();
    let path = parts.uri.path().to_owned();
    let field =
        |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
    let mut all = answers.0.lock().unwrap();
    all.insert(format!("form {path}"), (0, String::from_utf8_lossy(&form).into_owned(), 0));
    all.insert(format!("authorization {path}"), (0, field("authorization"), 0));
    let (status, text) = match all.get_mut(&path) {
        Some((status, text, asked)) => {
            *asked += 1;
            (*status, text.clone())
        }
        None => (404, String::new()),
    };
    Response::builder().status(status).body(Body::from(text)).unwrap()
}

/// A provider whose clock stands, and what it answers.
async fn provider(secret: &str) -> (Provider, Answers, Clock, String) {
    let answers = Answers::default();
    let issuer = answers.clone().serve().await;
    answers.set("/.well-known/openid-configuration", 200, &document_of(&issuer).to_string());
    answers.set("/jwks", 200, &json!({"keys": [public(&ed25519(), "a")]}).to_string());
    let clock = Clock::rehearsal(START);
    let settings = Settings {
        issuer: issuer.clone(),
        client_id: "quint et".to_owned(),
        client_secret: Secret::new(secret.to_owned()),
    };
    (Provider::new(Egress::new(|_| true), clock.clone(), settings), answers, clock, issuer)
}

/// A token for a login, with these changes.
fn id_token(issuer: &str, login: &Login, change: &Value) -> String {
    let base = changed(&id_claims(), &json!({"iss": issuer, "aud": "quint et", "nonce": login.nonce()}));
    signed(&ed25519(), &json!({"alg": "EdDSA", "kid": "a"}), &changed(&base, change))
}

#[tokio::test]
async fn the_way_there_says_everything_once() {
    let (provider, _, _, issuer) = provider("s").await;
    let login = Login::new(Uuid::nil(), START);
    let url = provider.authorization_url(&login, "https://l10n.example/auth/callback").await.unwrap();
    let expected = format!(
        "{issuer}/auth?x=1&response_type=code&client_id=quint%20et\
         &redirect_uri=https%3A%2F%2Fl10n.example%2Fauth%2Fcallback&scope=openid%20email%20profile\
         &state={}&nonce={}&code_challenge={}&code_challenge_method=S256",
        login.state(),
        login.nonce(),
        login.challenge()
    );
    assert_eq!(url, expected);
    let out = provider.logout_url(&Secret::new("t.o.k".to_owned()), "https://l10n.example/out").await.unwrap();
    let expected = format!(
        "{issuer}/end?id_token_hint=t.o.k&client_id=quint%20et&post_logout_redirect_uri=https%3A%2F%2Fl10n.example%2Fout"
    );
    assert_eq!(out, Some(expected));
}

#[tokio::test]
async fn a_code_becomes_who_has_signed_in() {
    let (provider, answers, _, issuer) = provider("s:e c").await;
    let login = Login::new(Uuid::nil(), START);
    let token = id_token(&issuer, &login, &json!({"email": null}));
    answers.set("/token", 200, &json!({"id_token": token, "access_token": "at"}).to_string());
    let signed = provider.exchange(&login, "c o+de", "https://l/cb").await.ok().unwrap();
    assert_eq!((signed.id.subject.as_str(), signed.id.email.is_none()), ("zoe", true));
    let text = |name: &str| answers.0.lock().unwrap()[name].1.clone();
    let form = format!(
        "grant_type=authorization_code&code=c%20o%2Bde&redirect_uri=https%3A%2F%2Fl%2Fcb&code_verifier={}",
        login.verifier().expose()
    );
    assert_eq!(text("form /token"), form);
    let basic = data_encoding::BASE64.encode(b"quint%20et:s%3Ae%20c");
    assert_eq!(text("authorization /token"), format!("Basic {basic}"));
    // The address comes from userinfo, if it is of the same subject and vouched for.
    let told = json!({"sub": "zoe", "email": "z@example.org", "email_verified": true});
    for (status, answer, expected) in [
        (200, told.clone(), Some("z@example.org")),
        (200, changed(&told, &json!({"sub": "max"})), None),
        (200, changed(&told, &json!({"sub": null})), None),
        (401, told.clone(), None),
        (200, json!([]), None),
    ] {
        answers.set("/me", status, &answer.to_string());
        let email = provider.email_of(&signed).await.unwrap();
        assert_eq!(email.as_ref().and_then(Email::verified), expected, "{status} {answer}");
    }
    assert_eq!(text("authorization /me"), "Bearer at");
    answers.set("/me", 500, "");
    assert!(provider.email_of(&signed).await.is_err());
}

#[tokio::test]
async fn what_a_provider_may_answer_to_a_code() {
    let (provider, answers, _, issuer) = provider("").await;
    let login = Login::new(Uuid::nil(), START);
    let token = |change: Value| json!({"id_token": id_token(&issuer, &login, &change)}).to_string();
    for (status, body, expected) in [
        (200, token(json!({})), "ok"),
        (400, json!({"error": "invalid_grant"}).to_string(), "refused"),
        (401, json!({"error": "invalid_client"}).to_string(), "refused"),
        (403, String::new(), "refused"),
        (302, String::new(), "refused"),
        (200, "{}".to_owned(), "refused"),
        (200, "<html>".to_owned(), "refused"),
        (200, json!({"id_token": 7}).to_string(), "refused"),
        (200, json!({"id_token": "x"}).to_string(), "token"),
        (200, token(json!({"nonce": "other"})), "token"),
        (200, token(json!({"iss": ISSUER})), "token"),
        (429, String::new(), "unavailable"),
        (500, String::new(), "unavailable"),
        (200, " ".repeat(300_000), "unavailable"),
    ] {
        answers.set("/token", status, &body);
        let outcome = match provider.exchange(&login, "c", "https://l/cb").await {
            Ok(_) => "ok",
            Err(ExchangeFailure::Refused) => "refused",
            Err(ExchangeFailure::Token(_)) => "token",
            Err(ExchangeFailure::Unavailable(_)) => "unavailable",
        };
        assert_eq!(outcome, expected, "{status} {body:.60}");
    }
    let form = answers.0.lock().unwrap()["form /token"].1.clone();
    assert!(form.ends_with("&client_id=quint%20et"), "a public client says who it is: {form}");
}

#[tokio::test]
async fn the_document_is_kept_an_hour_and_a_failure_some_seconds() {
    const DOCUMENT: &str = "/.well-known/openid-configuration";
    let (provider, answers, clock, issuer) = provider("").await;
    answers.set(DOCUMENT, 500, "");
    assert!(provider.document().await.is_err() && provider.document().await.is_err());
    assert_eq!(answers.asked(DOCUMENT), 1, "one attempt, and a pause");
    clock.advance(5).await.unwrap();
    for (status, body) in [(200, document_of("https://evil.example").to_string()), (200, "x".to_owned())] {
        answers.set(DOCUMENT, status, &body);
        assert!(provider.document().await.is_err());
        clock.advance(5).await.unwrap();
    }
    answers.set(DOCUMENT, 200, &document_of(&issuer).to_string());
    let before = answers.asked(DOCUMENT);
    let all = futures_util::future::join_all((0..20).map(|_| provider.document())).await;
    assert!(all.iter().all(Result::is_ok));
    clock.advance(3_540).await.unwrap();
    assert!(provider.document().await.is_ok());
    assert_eq!(answers.asked(DOCUMENT), before + 1);
    clock.advance(120).await.unwrap();
    assert!(provider.document().await.is_ok());
    assert_eq!(answers.asked(DOCUMENT), before + 2);
}

#[tokio::test]
async fn keys_are_fetched_anew_for_a_name_that_is_not_known_once_a_minute() {
    let (provider, answers, clock, issuer) = provider("").await;
    let login = Login::new(Uuid::nil(), START);
    let fresh = Ed25519KeyPair::from_seed_unchecked(&[8; 32]).unwrap();
    let by = |key: &Ed25519KeyPair, name: &str| {
        let claims = changed(&id_claims(), &json!({"iss": issuer, "aud": "quint et", "nonce": login.nonce()}));
        let token = signed(key, &json!({"alg": "EdDSA", "kid": name}), &claims);
        answers.set("/token", 200, &json!({"id_token": token}).to_string());
    };
    let come = async || provider.exchange(&login, "c", "https://l/cb").await.map(drop);
    by(&ed25519(), "a");
    assert!(come().await.is_ok());
    by(&fresh, "b");
    for _ in 0..3 {
        assert_eq!(come().await, Err(TokenFault::UnknownKey.into()));
    }
    assert_eq!(answers.asked("/jwks"), 1, "they were fetched just now");
    clock.advance(60).await.unwrap();
    answers.set("/jwks", 200, &json!({"keys": [public(&ed25519(), "a"), public(&fresh, "b")]}).to_string());
    assert!(come().await.is_ok());
    by(&fresh, "c");
    assert_eq!(come().await, Err(TokenFault::UnknownKey.into()));
    assert_eq!(answers.asked("/jwks"), 2);
    // A key that the provider has taken away checks nothing any more, after an hour at the latest.
    answers.set("/jwks", 200, &json!({"keys": [public(&fresh, "b")]}).to_string());
    by(&ed25519(), "a");
    assert!(come().await.is_ok());
    clock.advance(3_600).await.unwrap();
    by(&ed25519(), "a");
    assert!(matches!(come().await, Err(ExchangeFailure::Token(_))));
    // While the keys cannot be had, nobody is told that a token is wrong.
    clock.advance(60).await.unwrap();
    answers.set("/jwks", 500, "");
    assert!(matches!(come().await, Err(ExchangeFailure::Unavailable(_))));
}

#[tokio::test]
async fn a_callback_says_which_provider_answers_if_that_is_promised() {
    let (provider, answers, clock, issuer) = provider("").await;
    assert_eq!(provider.is_answering(None).await, Ok(true));
    assert_eq!(provider.is_answering(Some(&issuer)).await, Ok(true));
    assert_eq!(provider.is_answering(Some("https://evil.example")).await, Ok(false));
    let promise = json!({"authorization_response_iss_parameter_supported": true});
    let document = changed(&document_of(&issuer), &promise).to_string();
    answers.set("/.well-known/openid-configuration", 200, &document);
    clock.advance(3_600).await.unwrap();
    assert_eq!(provider.is_answering(None).await, Ok(false));
    assert_eq!(provider.is_answering(Some(&issuer)).await, Ok(true));
}
