//! The same files over HTTP, against the real binary: uploaded (received, sealed, read, compared, stored, audited,
//! durable) and exported in a locale.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::server::Server;

/// Uploads a file to as many paths as there are rounds, then exports one of them in a locale; the best of each.
pub fn import_and_export(server: &Server, query: &str, text: &str, rounds: usize) -> (Duration, Duration) {
    let mut file_id = String::new();
    let mut best_import = Duration::MAX;
    for round in 0..rounds {
        let name = format!("{}-{round}", query.replace(['=', '&'], "-"));
        let (path, body) = (server.at(&format!("/files?{query}&path={name}")), text.to_owned());
        let begun = Instant::now();
        let imported = server.send("POST", &path, "application/json", body);
        best_import = best_import.min(begun.elapsed());
        let imported: Value = serde_json::from_slice(&imported).unwrap();
        file_id = imported["file_id"].as_str().unwrap().to_owned();
    }
    let export = server.at(&format!("/files/{file_id}/export?locale=de"));
    let mut best_export = Duration::MAX;
    for _ in 0..rounds {
        let begun = Instant::now();
        // Nothing is translated: but for the root of a rails file, it is the upload.
        assert_eq!(server.get(&export).len(), text.len());
        best_export = best_export.min(begun.elapsed());
    }
    (best_import, best_export)
}
