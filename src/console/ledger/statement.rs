//! A statement as a file: CSV (RFC 4180), the newest entry first, all of them, written as it is read.

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use quintet_platform::clock::rfc3339;
use quintet_platform::http::query::encode_segment;

use super::account::as_of;
use super::money::decimal;
use super::walk::{Line, Walk};
use super::wire::{Account, asset_types};
use crate::console::address::{query, said};
use crate::console::door::Console;
use crate::console::download::attached;
use crate::console::notice::Notice;
use crate::console::rooms::Room;
use crate::console::visitor::Member;

const HEAD: &str =
    "account,asset,entry_id,transaction_id,line,created_at,committed_at,direction,amount,change,balance\r\n";

/// The file.
pub async fn download(
    State(console): State<Console>,
    member: Member,
    Path(account): Path<String>,
    RawQuery(raw): RawQuery,
) -> Result<Response, Notice> {
    let at = said(&mut query(raw.as_deref())?, "at").unwrap_or_else(|| rfc3339(console.app.clock.now()));
    let asking = &member.asking;
    let found: Account = asking.get(Room::Ledger, &format!("/v1/accounts/{}", encode_segment(&account))).await?;
    let known = as_of(asking, &account, &at, "recorded").await??;
    let code = asset_types(asking).await?.remove(&found.asset_type_id).map(|asset| asset.code);
    let walk = Walk::begin(asking, &found.account_id, &found.normal_side, &known)?;
    let same = format!("{},{}", text_cell(&found.name), text_cell(code.as_deref().unwrap_or_default()));
    let name = format!("statement-{}.csv", found.account_id);
    let body = Body::from_stream(stream::unfold(Writing::Head(walk), move |writing| {
        write(writing, same.clone(), found.scale)
    }));
    Ok(attached(body, "text/csv; charset=utf-8", &name))
}

/// How far a file is.
enum Writing {
    Head(Walk),
    Lines(Walk),
    Broken,
}

type Written = Option<(Result<Bytes, std::io::Error>, Writing)>;

/// The next part. Where the room stops answering the file breaks off, and is not taken for a whole one.
async fn write(writing: Writing, same: String, scale: u8) -> Written {
    let mut walk = match writing {
        Writing::Head(walk) => return Some((Ok(HEAD.into()), Writing::Lines(walk))),
        Writing::Lines(walk) => walk,
        Writing::Broken => return None,
    };
    match walk.next().await {
        Ok(Some(lines)) => {
            let text: String = lines.iter().map(|line| record(line, &same, scale)).collect();
            Some((Ok(text.into()), Writing::Lines(walk)))
        }
        Ok(None) => None,
        Err(_) => Some((Err(std::io::Error::other("the ledger does not answer")), Writing::Broken)),
    }
}

fn record(line: &Line, same: &str, scale: u8) -> String {
    let entry = &line.entry;
    let cells = [
        entry.id.as_str(),
        &entry.transaction_id,
        &entry.line_no.to_string(),
        &entry.created_at,
        entry.finalized_at.as_deref().unwrap_or_default(),
        &entry.direction,
        &entry.amount,
        &decimal(line.change, scale),
        &decimal(line.balance, scale),
    ];
    format!("{same},{}\r\n", cells.join(","))
}

/// A text of others in a cell: in quotes, and nothing that a spreadsheet would work out.
fn text_cell(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_text_and_no_formulas() {
        assert_eq!(text_cell("Cash, \"till\"\r\n2"), "\"Cash, \"\"till\"\"\r\n2\"");
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"] {
            assert_eq!(text_cell(formula), format!("\"'{formula}\""));
        }
        assert_eq!(text_cell("a=b"), "\"a=b\"");
    }
}
