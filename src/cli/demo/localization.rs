//! The demo's string file and its translations.
//!
//! A repetition changes nothing: what was made is remembered, and every request has an Idempotency-Key of its own.

use std::net::SocketAddr;
use std::path::Path;

use data_encoding::HEXLOWER;
use quintet_platform::secrets;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::content::{Line, Service};
use crate::cli::CliError;

/// What the demo has put into localization.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalizationContent {
    /// What every Idempotency-Key of this content begins with; no other content has it.
    key_prefix: String,
    project_id: String,
    file_id: String,
    /// A key of the file that nobody has translated yet.
    key_id: String,
    /// One whose translation fails a check; none in what older versions made.
    #[serde(default)]
    refused_key_id: String,
    /// One that is like one whose translation is approved; none in what older versions made.
    #[serde(default)]
    suggested_key_id: String,
    /// A release of what is approved; none in what older versions made.
    #[serde(default)]
    release_id: String,
    /// What waits on the decision desk; none in what older versions made.
    #[serde(default)]
    decision_id: String,
    /// Whether everything was made.
    is_complete: bool,
}

impl LocalizationContent {
    /// Chooses the names of its requests. Whether that was still to be done.
    pub fn plan(&mut self) -> bool {
        if !self.key_prefix.is_empty() {
            return false;
        }
        self.key_prefix = format!("demo-{}", HEXLOWER.encode(&secrets::random_bytes::<8>()));
        true
    }

    /// Makes what is missing. Whether anything changed.
    pub async fn make(&mut self, address: SocketAddr, key: &str, tenant_id: &str) -> Result<bool, CliError> {
        if self.is_complete {
            return Ok(false);
        }
        let name = "localization";
        let service = Service { name, address, key, tenant_id, key_prefix: &self.key_prefix };
        let slug = self.key_prefix.as_str();
        let workspace = json!({ "slug": slug, "name": "Demo" });
        let workspace = service.create("/v1/workspaces", "workspace", &workspace).await?;
        let project = json!({
            "workspace_id": workspace.get("id"), "slug": "shop", "name": "A shop", "source_locale": "en",
        });
        let project = service.create("/v1/projects", "project", &project).await?;
        let project_id = text(&project, "id");
        let file = json!({
            "title": "Our shop",
            "subtitle": "Our shops",
            "greeting": "Hello {{name}}",
            "cart": { "item_one": "{{count}} item", "item_other": "{{count}} items", "pay": "Pay now" },
        });
        let path = format!("/v1/projects/{project_id}/files?kind=json&path=shop/en.json");
        let file = service.create(&path, "file", &file).await?;
        let keys = service.call("GET", &format!("/v1/projects/{project_id}/keys"), "", &Value::Null).await?.1;
        let key_of = |path: &str| {
            let keys = keys.get("keys").and_then(Value::as_array);
            let found = keys.into_iter().flatten().find(|key| key.get("path").and_then(Value::as_str) == Some(path));
            found.map(|key| text(key, "id")).unwrap_or_default()
        };
        for (path, translation) in [
            ("title", json!({ "text": "Unser Laden" })),
            // It lacks the name: the checks refuse its review.
            ("greeting", json!({ "text": "Hallo" })),
            ("cart.item", json!({ "forms": { "one": "{{count}} Artikel", "other": "{{count}} Artikel" } })),
        ] {
            let place = format!("/v1/keys/{}/translations/de", key_of(path));
            service.change("PUT", &place, path, &translation).await?;
        }
        for action in ["review", "approve"] {
            let place = format!("/v1/keys/{}/translations/de/transition", key_of("title"));
            service.change("POST", &place, &format!("title-{action}"), &json!({ "action": action })).await?;
        }
        let path = format!("/v1/projects/{project_id}/releases");
        self.release_id = text(&service.create(&path, "release", &json!({})).await?, "id");
        let wish = json!({ "file": text(&file, "file_id"), "locale": "de" });
        let path = format!("/v1/projects/{project_id}/approval-requests");
        let request = service.create(&path, "approval", &wish).await?;
        self.decision_id = text(&request, "decision_id");
        self.key_id = key_of("cart.pay");
        self.refused_key_id = key_of("greeting");
        self.suggested_key_id = key_of("subtitle");
        self.file_id = text(&file, "file_id");
        self.project_id = project_id;
        self.is_complete = true;
        Ok(true)
    }

    /// A line to paste into a shell: what waits on the decision desk is approved.
    pub fn desk_line(&self, program: &str, data_dir: &Path) -> Option<Line> {
        let LocalizationContent { decision_id, .. } = self;
        let command = format!("{program} decision approve {decision_id} --data {}", data_dir.display());
        let about = "approve what waits on the decision desk: a plural of the German file (`decision list` shows it)";
        (!decision_id.is_empty()).then(|| Line::new(about, command))
    }

    /// Lines to paste into a shell: translate a text, try to have another reviewed, ask what was said before, export the
    /// file, download the release, verify the audit chain.
    pub fn curl_lines(&self, address: SocketAddr, key: &str, tenant_id: &str) -> Vec<Line> {
        let LocalizationContent { project_id, file_id, key_id, refused_key_id, suggested_key_id, release_id, .. } =
            self;
        let who = format!("-H 'Authorization: Bearer {key}' -H 'L10n-Tenant: {tenant_id}'");
        let translate = format!(
            "curl -s -X PUT http://{address}/v1/keys/{key_id}/translations/de {who} -H \"Idempotency-Key: $(date +%s%N)\" -H 'Content-Type: application/json' -d '{{\"text\":\"Jetzt bezahlen\"}}'"
        );
        let export =
            format!("curl -s 'http://{address}/v1/projects/{project_id}/files/{file_id}/export?locale=de' {who}");
        let review = format!(
            "curl -s http://{address}/v1/keys/{refused_key_id}/translations/de/transition {who} -H \"Idempotency-Key: $(date +%s%N)\" -H 'Content-Type: application/json' -d '{{\"action\":\"review\"}}'"
        );
        let suggestions = format!("curl -s http://{address}/v1/keys/{suggested_key_id}/suggestions/de {who}");
        let mut lines = vec![Line::new("translate \"Pay now\" into German", translate)];
        if !refused_key_id.is_empty() {
            lines.push(Line::new(
                "have \"Hello {{name}}\" reviewed, which lacks the name: refused, with the reason",
                review,
            ));
            lines.push(Line::new("what was approved before for a text like \"Our shops\"", suggestions));
        }
        lines.push(Line::new("export the file in German", export));
        if !release_id.is_empty() {
            let archive = format!("curl -s -o /tmp/shop.zip http://{address}/v1/releases/{release_id}/archive {who}");
            lines.push(Line::new("download the release of what is approved, a zip that never changes", archive));
        }
        let audit = format!("curl -s http://{address}/v1/audit/verify {who}");
        lines.push(Line::new("see that nobody has touched the audit chain", audit));
        lines
    }
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}
