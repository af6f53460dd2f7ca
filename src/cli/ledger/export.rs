//! The forms in which a journal is exported.

use std::collections::BTreeMap;

use serde_json::Value;

use super::amounts::{minor, money};
use crate::cli::CliError;

/// The columns of the CSV form; one line an entry.
pub const CSV_HEADING: &str = "transaction_id,line_no,state,created_at,effective_at,finalized_at,account_id,account,asset,direction,amount,amount_minor,external_id,description,metadata";

/// The first lines of the hledger form.
pub const HLEDGER_HEADING: &str = "; Debits are positive. What is pending, voided or expired stands in comments.\n; Each posting asserts the balance of its account after it; `hledger check assertions` proves them.\n";

fn text<'a>(record: &'a Value, name: &str) -> &'a str {
    record.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn entries(record: &Value) -> &[Value] {
    record.get("entries").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The lines of a transaction in CSV (RFC 4180). What a spreadsheet would take for a formula is quoted with an
/// apostrophe in front, for names and descriptions come from outside.
pub fn csv_lines(record: &Value) -> Vec<String> {
    let metadata = record.get("metadata").map(Value::to_string).unwrap_or_default();
    let line = |entry: &Value| {
        let line_no = entry.get("line_no").map(Value::to_string).unwrap_or_default();
        let fields = [
            text(record, "transaction_id"),
            &line_no,
            text(record, "state"),
            text(record, "created_at"),
            text(record, "effective_at"),
            text(record, "finalized_at"),
            text(entry, "account_id"),
            text(entry, "account"),
            text(entry, "asset"),
            text(entry, "direction"),
            text(entry, "amount"),
            text(entry, "amount_minor"),
            text(record, "external_id"),
            text(record, "description"),
            &metadata,
        ];
        fields.map(csv_field).join(",")
    };
    entries(record).iter().map(line).collect()
}

fn csv_field(field: &str) -> String {
    let guarded = if field.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{field}") } else { field.into() };
    if guarded.contains([',', '"', '\n', '\r']) { format!("\"{}\"", guarded.replace('"', "\"\"")) } else { guarded }
}

/// Writes transactions as an hledger journal, with the balances that they lead to.
#[derive(Debug, Default)]
pub struct Hledger {
    /// By account and asset, in minor units, debits above zero.
    balances: BTreeMap<(String, String), i128>,
}

impl Hledger {
    /// The lines of one transaction. They are dated by their posting: so dates never go back, and assertions hold in
    /// the order of the file. When a movement took effect stands in a tag.
    ///
    /// # Errors
    /// The record is not what an appliance answers.
    pub fn lines(&mut self, record: &Value) -> Result<Vec<String>, CliError> {
        let created_at = text(record, "created_at");
        let date = created_at.get(..10).unwrap_or(created_at);
        let is_committed = text(record, "state") == "committed";
        let code = match text(record, "external_id") {
            "" => String::new(),
            id => format!(" ({})", one_line(id).replace(['(', ')'], " ")),
        };
        let description = one_line(text(record, "description")).replace(';', ",");
        let mark = if is_committed { "*" } else { "!" };
        let mut lines = vec![
            format!("{date} {mark}{code} {description}").trim_end().to_owned(),
            format!("    ; transaction_id: {}", text(record, "transaction_id")),
            format!("    ; created_at: {created_at}"),
            format!("    ; effective_at: {}", text(record, "effective_at")),
            format!("    ; state: {}", text(record, "state")),
        ];
        for entry in entries(record) {
            let scale = entry.get("scale").and_then(Value::as_u64).and_then(|scale| u8::try_from(scale).ok());
            let scale = scale.unwrap_or(0);
            let amount = minor(text(entry, "amount_minor"))?;
            let signed = if text(entry, "direction") == "credit" { -amount } else { amount };
            let account = account_name(entry);
            let asset = one_line(text(entry, "asset")).replace('"', "'");
            let mut line = format!("    {account}  {} \"{asset}\"", money(signed, scale));
            if is_committed {
                let balance = self.balances.entry((account, asset.clone())).or_default();
                *balance = balance.wrapping_add(signed);
                line.push_str(&format!(" = {} \"{asset}\"", money(*balance, scale)));
            }
            lines.push(line);
        }
        if !is_committed {
            // hledger counts what is pending; the ledger does not.
            lines.iter_mut().for_each(|line| line.insert_str(0, "; "));
        }
        lines.push(String::new());
        Ok(lines)
    }
}

/// A name that is unique (two accounts may have one name) and cannot be taken for anything else: one line, single
/// blanks, no colons that would make sub-accounts.
fn account_name(entry: &Value) -> String {
    let name = one_line(text(entry, "account")).replace([':', ';'], "-");
    let name = name.trim_start_matches(['(', '[', '*', '!']).trim_end_matches([')', ']']).trim();
    format!("{name} {}", text(entry, "account_id")).trim().to_owned()
}

/// Control characters and blanks in a row as single blanks.
fn one_line(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c }).collect();
    plain.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(state: &str, description: &str) -> Value {
        let entry = |line_no: u8, account: &str, direction: &str| {
            json!({
                "line_no": line_no, "account_id": format!("id-{line_no}"), "account": account, "asset": "EUR",
                "direction": direction, "amount": "1.50", "amount_minor": "150", "scale": 2,
            })
        };
        json!({
            "transaction_id": "t-1", "state": state, "description": description, "external_id": null, "metadata": {},
            "created_at": "2026-01-02T03:04:05.000000Z", "effective_at": "2026-01-01T00:00:00.000000Z",
            "finalized_at": "2026-01-02T03:04:05.000000Z",
            "entries": [entry(1, "Bank: main\n", "debit"), entry(2, "Alice", "credit")],
        })
    }

    #[test]
    fn csv_is_safe_from_what_it_holds() {
        let lines = csv_lines(&record("committed", "=cmd(), \"quoted\"\nnext"));
        assert_eq!(lines.len(), 2);
        assert!(lines[0].ends_with(",\"'=cmd(), \"\"quoted\"\"\nnext\",{}"), "{}", lines[0]);
        assert_eq!(CSV_HEADING.split(',').count(), 15);
    }

    #[test]
    fn hledger_asserts_each_balance() {
        let mut journal = Hledger::default();
        let first = journal.lines(&record("committed", "Deposit ; x")).unwrap();
        assert_eq!(first[0], "2026-01-02 * Deposit , x");
        assert_eq!(first[5], "    Bank- main id-1  1.50 \"EUR\" = 1.50 \"EUR\"");
        assert_eq!(first[6], "    Alice id-2  -1.50 \"EUR\" = -1.50 \"EUR\"");
        let second = journal.lines(&record("committed", "")).unwrap();
        assert_eq!(
            (second[0].as_str(), second[5].as_str()),
            ("2026-01-02 *", "    Bank- main id-1  1.50 \"EUR\" = 3.00 \"EUR\"")
        );
        let pending = journal.lines(&record("pending", "hold")).unwrap();
        assert!(pending.iter().filter(|line| !line.is_empty()).all(|line| line.starts_with("; ")), "{pending:?}");
        let third = journal.lines(&record("committed", "")).unwrap();
        assert!(third[5].ends_with("= 4.50 \"EUR\""), "holds do not count: {}", third[5]);
    }

    #[test]
    fn money_has_its_digits() {
        for (minor, scale, expected) in [(0, 2, "0.00"), (-5, 2, "-0.05"), (12_345, 2, "123.45"), (-7, 0, "-7")] {
            assert_eq!(money(minor, scale), expected);
        }
    }
}
