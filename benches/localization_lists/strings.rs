//! The strings of the project: which there are, and what they are translated to.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::server::Server;

/// How many write translations at a time.
const WRITERS: usize = 32;

/// The ids of all keys.
pub fn keys(server: &Server) -> Vec<String> {
    let (mut ids, mut cursor) = (Vec::new(), String::new());
    loop {
        let page: Value = serde_json::from_slice(&server.get(&server.at(&format!("/keys?limit=500{cursor}")))).unwrap();
        ids.extend(page["keys"].as_array().unwrap().iter().map(|key| key["id"].as_str().unwrap().to_owned()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return ids,
        }
    }
}

/// Writes every key's translation in each locale.
pub fn translate(server: &Server, keys: &[String], locales: &[&str], text: fn(usize, &str) -> String) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let (Some(key), locale) = (keys.get(at / locales.len()), locales[at % locales.len()]) else {
                        break;
                    };
                    let body = json!({"text": text(at / locales.len(), locale)});
                    server.json("PUT", &format!("/v1/keys/{key}/translations/{locale}"), &body);
                }
            });
        }
    });
}
