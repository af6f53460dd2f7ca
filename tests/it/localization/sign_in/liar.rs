//! A provider that answers whatever it is told: tokens that are well made, and all that are not.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};

use data_encoding::{BASE64, BASE64URL_NOPAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256,
    RsaKeyPair,
};
use ring::{hmac, rsa};
use serde_json::{Value, json};

use crate::support::appliance::unique;

/// What signs.
static KEYS: LazyLock<Keys> = LazyLock::new(Keys::new);

/// Keys of all kinds that are taken.
struct Keys {
    rsa: RsaKeyPair,
    ec: EcdsaKeyPair,
    ed: Ed25519KeyPair,
    /// Of nobody.
    stranger: Ed25519KeyPair,
}

impl Keys {
    fn new() -> Keys {
        let random = SystemRandom::new();
        // ring makes no RSA keys.
        let script = "const {privateKey} = require('crypto').generateKeyPairSync('rsa', {modulusLength: 2048}); \
            process.stdout.write(privateKey.export({type: 'pkcs8', format: 'der'}).toString('base64'))";
        let output = Command::new("node").args(["-e", script]).output().unwrap();
        let rsa = RsaKeyPair::from_pkcs8(&BASE64.decode(&output.stdout).unwrap()).unwrap();
        let ec = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let ec = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, ec.as_ref(), &random).unwrap();
        let ed = || Ed25519KeyPair::from_pkcs8(Ed25519KeyPair::generate_pkcs8(&random).unwrap().as_ref()).unwrap();
        Keys { rsa, ec, ed: ed(), stranger: ed() }
    }
}

/// The keys as the provider shows them.
pub fn key_set() -> Value {
    let text = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
    let rsa = rsa::PublicKeyComponents::<Vec<u8>>::from(KEYS.rsa.public());
    let point = KEYS.ec.public_key().as_ref();
    json!({"keys": [
        {"kty": "RSA", "kid": "rsa", "use": "sig", "n": text(&rsa.n), "e": text(&rsa.e)},
        {"kty": "EC", "kid": "ec", "crv": "P-256", "x": text(&point[1..33]), "y": text(&point[33..])},
        {"kty": "OKP", "kid": "ed", "crv": "Ed25519", "x": text(KEYS.ed.public_key().as_ref())},
    ]})
}

/// What both sides would know if a public key were taken for a secret: all its spellings.
pub fn public_spellings() -> Vec<Vec<u8>> {
    let der = KEYS.rsa.public_key().as_ref().to_vec();
    let rsa = rsa::PublicKeyComponents::<Vec<u8>>::from(KEYS.rsa.public());
    let pem = format!("-----BEGIN RSA PUBLIC KEY-----\n{}\n-----END RSA PUBLIC KEY-----\n", BASE64.encode(&der));
    vec![
        der,
        pem.into_bytes(),
        BASE64URL_NOPAD.encode(&rsa.n).into_bytes(),
        rsa.n.clone(),
        key_set().to_string().into_bytes(),
    ]
}

/// How a token is signed.
#[derive(Clone)]
pub enum By {
    Rs256,
    Ps256,
    Es256,
    EdDsa,
    /// With a key of nobody, under the name of one.
    Stranger,
    /// With a secret.
    Hs256(Vec<u8>),
    /// Not at all.
    Nothing,
}

impl By {
    /// The header that goes with it.
    pub fn header(&self) -> Value {
        match self {
            By::Rs256 => json!({"alg": "RS256", "kid": "rsa"}),
            By::Ps256 => json!({"alg": "PS256", "kid": "rsa"}),
            By::Es256 => json!({"alg": "ES256", "kid": "ec"}),
            By::EdDsa | By::Stranger => json!({"alg": "EdDSA", "kid": "ed"}),
            By::Hs256(_) => json!({"alg": "HS256", "kid": "rsa"}),
            By::Nothing => json!({"alg": "none"}),
        }
    }

    fn sign(&self, text: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        let rsa = |padding: &'static dyn ring::signature::RsaEncoding| {
            let mut signature = vec![0; KEYS.rsa.public().modulus_len()];
            KEYS.rsa.sign(padding, &random, text, &mut signature).unwrap();
            signature
        };
        match self {
            By::Rs256 => rsa(&RSA_PKCS1_SHA256),
            By::Ps256 => rsa(&RSA_PSS_SHA256),
            By::Es256 => KEYS.ec.sign(&random, text).unwrap().as_ref().to_vec(),
            By::EdDsa => KEYS.ed.sign(text).as_ref().to_vec(),
            By::Stranger => KEYS.stranger.sign(text).as_ref().to_vec(),
            By::Hs256(secret) => hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), text).as_ref().to_vec(),
            By::Nothing => Vec::new(),
        }
    }

    /// A token.
    pub fn token(&self, claims: &Value) -> String {
        self.token_under(&self.header(), claims)
    }

    /// A token under another header.
    pub fn token_under(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        let text = format!("{}.{}", part(header), part(claims));
        format!("{text}.{}", BASE64URL_NOPAD.encode(&self.sign(text.as_bytes())))
    }
}

/// What was asked at an address that makes tokens.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub authorization: String,
    pub form: Vec<(String, String)>,
}

impl Asked {
    pub fn field(&self, name: &str) -> &str {
        self.form.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

#[derive(Default)]
struct Told {
    /// Answers by path.
    answers: HashMap<String, (u16, String)>,
    /// What becomes of codes.
    codes: HashMap<String, (u16, String)>,
    asked: HashMap<String, Asked>,
    /// Whether it answers at all.
    is_silent: bool,
}

/// What codes begin with for which it has no answer at all.
pub const STUCK: &str = "stuck";

/// The provider. Its threads end with the process.
#[derive(Clone)]
pub struct Liar {
    pub issuer: String,
    told: Arc<Mutex<Told>>,
}

impl Liar {
    pub fn start() -> Liar {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let liar = Liar { issuer: format!("http://{}", listener.local_addr().unwrap()), told: Arc::default() };
        liar.answer("/.well-known/openid-configuration", 200, &liar.document().to_string());
        liar.answer("/jwks", 200, &key_set().to_string());
        let told = Arc::clone(&liar.told);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let told = Arc::clone(&told);
                std::thread::spawn(move || drop(serve(stream, &told)));
            }
        });
        liar
    }

    pub fn document(&self) -> Value {
        let at = |path: &str| format!("{}{path}", self.issuer);
        json!({
            "issuer": self.issuer, "authorization_endpoint": at("/auth"), "token_endpoint": at("/token"),
            "jwks_uri": at("/jwks"), "userinfo_endpoint": at("/me"), "end_session_endpoint": at("/end"),
        })
    }

    /// What it answers at a path from now on.
    pub fn answer(&self, path: &str, status: u16, body: &str) {
        self.told.lock().unwrap().answers.insert(path.to_owned(), (status, body.to_owned()));
    }

    /// A code for which it answers this.
    pub fn code(&self, status: u16, body: &Value) -> String {
        let code = format!("code-{}", unique());
        self.told.lock().unwrap().codes.insert(code.clone(), (status, body.to_string()));
        code
    }

    /// What it was asked for a code.
    pub fn asked(&self, code: &str) -> Option<Asked> {
        self.told.lock().unwrap().asked.get(code).cloned()
    }

    /// Takes every connection, and says nothing; or answers again.
    pub fn be_silent(&self, is_silent: bool) {
        self.told.lock().unwrap().is_silent = is_silent;
    }
}

fn serve(stream: TcpStream, told: &Mutex<Told>) -> std::io::Result<()> {
    let (mut reader, mut stream) = (BufReader::new(stream.try_clone()?), stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default().to_owned();
        let (mut length, mut asked) = (0, Asked::default());
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap(),
                "authorization" => asked.authorization = value.trim().to_owned(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        asked.form = super::pairs(&String::from_utf8_lossy(&body));
        let (status, text) = {
            let mut told = told.lock().unwrap();
            if told.is_silent {
                drop(told);
                std::thread::sleep(std::time::Duration::from_secs(30));
                return Ok(());
            }
            let code = asked.field("code").to_owned();
            if code.starts_with(STUCK) {
                drop(told);
                std::thread::sleep(std::time::Duration::from_secs(30));
                return Ok(());
            }
            match path.as_str() {
                "/token" => {
                    told.asked.insert(code.clone(), asked);
                    // A code is good once.
                    told.codes.remove(&code).unwrap_or((400, json!({"error": "invalid_grant"}).to_string()))
                }
                path => told.answers.get(path).cloned().unwrap_or((404, String::new())),
            }
        };
        let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\n\r\n", text.len());
        stream.write_all(&[head.as_bytes(), text.as_bytes()].concat())?;
    }
}
