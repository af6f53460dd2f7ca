//! `quintet ledger`: what the operator of a ledger asks for.

mod amounts;
mod export;

use std::collections::BTreeMap;

use clap::{Subcommand, ValueEnum};
use quintet_ledger::{EXPLANATIONS, Explanation, explain};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::amounts::{minor, money};
use crate::admin::call::Call;
use crate::admin::client::Client;
use crate::admin::ledger::{EXPORT, FindingView, PROOF, PageView, SEARCH, TRIAL_BALANCE, TrialRowView};
use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};
use crate::cli::place::PlaceArguments;

/// Prove, search and export ledgers
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Args)]
struct OneTenant {
    /// The tenant's id, or its name if no other tenant has it
    #[arg(long, value_name = "T")]
    tenant: String,
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Recompute every counter from the journal and hold everything against each other; exit code 4 if it does not fit
    Prove {
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// What is posted on each account, and that debits equal credits; exit code 4 if they do not
    TrialBalance(OneTenant),
    /// Find transactions by account, time, external id, description and metadata, oldest first
    Search {
        #[command(flatten)]
        one: OneTenant,
        /// An entry is on this account (id)
        #[arg(long, value_name = "ID")]
        account: Option<String>,
        /// Posted at this instant or later (RFC 3339)
        #[arg(long, value_name = "INSTANT")]
        since: Option<String>,
        /// Posted before this instant (RFC 3339)
        #[arg(long, value_name = "INSTANT")]
        until: Option<String>,
        /// The external id, exactly
        #[arg(long, value_name = "ID")]
        external_id: Option<String>,
        /// A part of the description
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// A part of the metadata's JSON, or NAME=VALUE for a member with this value
        #[arg(long, value_name = "TEXT")]
        metadata: Option<String>,
        /// Stop after so many
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
    },
    /// Write the whole journal of a tenant; damaged records are listed on standard error and make exit code 4
    Export {
        /// The tenant's id, or its name if no other tenant has it
        #[arg(long, value_name = "T")]
        tenant: String,
        /// csv: an entry a line; jsonl: a transaction a line; hledger: a journal with balance assertions
        #[arg(long, value_enum, default_value_t = Format::Jsonl)]
        format: Format,
        #[command(flatten)]
        place: PlaceArguments,
    },
    /// Say what an error code means and what to do about it; all codes without one
    Explain {
        /// The code, such as HOLD_EXPIRED
        code: Option<String>,
        #[command(flatten)]
        output: OutputArguments,
    },
}

/// The forms of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Csv,
    Jsonl,
    Hledger,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Prove { place, output } => prove(&place.client()?.without_hurry(), *output),
        Command::TrialBalance(one) => trial_balance(one),
        Command::Search { one, account, since, until, external_id, description, metadata, limit } => {
            let filters = [
                ("account", account),
                ("since", since),
                ("until", until),
                ("external_id", external_id),
                ("description", description),
                ("metadata", metadata),
            ];
            let given = filters.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)));
            search(one, &given.collect::<Vec<_>>(), *limit)
        }
        Command::Export { tenant, format, place } => export_all(&place.client()?, tenant, *format),
        Command::Explain { code, output } => explain_codes(code.as_deref(), *output),
    }
}

fn prove(client: &Client, output: OutputArguments) -> Result<(), CliError> {
    let proof = client.ask(&PROOF)?;
    if output.json {
        output::say_json(&proof)?;
    } else {
        output::say(&format!(
            "{} tenants, {} accounts, {} transactions, {} statement lines",
            proof.tenants, proof.accounts, proof.transactions, proof.lines
        ));
        for finding in &proof.findings {
            output::say(&format!("{}: {}", finding.place, output::plain(&finding.problem)));
        }
    }
    match proof.findings_total {
        0 if output.json => Ok(()),
        0 => {
            output::say("Everything fits.");
            Ok(())
        }
        findings => Err(damage(format!("{findings} things do not fit"))),
    }
}

fn damage(reason: String) -> CliError {
    CliError::failed(reason).code(CliError::DAMAGED).hint(
        "keep the data directory as it is (`cp -a` it while the appliance is stopped), then put a copy or backup in its place",
    )
}

/// All pages of a list, each as it comes; ends early once `take` says so.
fn pages<T: DeserializeOwned>(
    client: &Client,
    list: &Call<(), PageView<T>>,
    tenant: &str,
    filters: &[(&str, &str)],
    mut take: impl FnMut(Vec<T>) -> Result<bool, CliError>,
) -> Result<Vec<FindingView>, CliError> {
    let mut damaged = Vec::new();
    let mut next: Option<String> = None;
    loop {
        let mut asked = list.of(&[]).with("tenant", Some(tenant));
        for (name, value) in filters {
            asked = asked.with(name, Some(value));
        }
        let page = client.ask(asked.with("from", next.as_deref()))?;
        damaged.extend(page.damaged);
        let goes_on = take(page.items)?;
        next = page.next;
        if next.is_none() || !goes_on {
            return Ok(damaged);
        }
    }
}

fn trial_balance(one: &OneTenant) -> Result<(), CliError> {
    let client = one.place.client()?;
    let mut rows: Vec<TrialRowView> = Vec::new();
    let mut totals: BTreeMap<(String, u8), (i128, i128)> = BTreeMap::new();
    let damaged = pages(&client, &TRIAL_BALANCE, &one.tenant, &[], |page: Vec<TrialRowView>| {
        for row in page {
            let total = totals.entry((row.asset.clone(), row.scale)).or_default();
            total.0 = total.0.wrapping_add(minor(&row.debits_minor)?);
            total.1 = total.1.wrapping_add(minor(&row.credits_minor)?);
            rows.push(row);
        }
        Ok(true)
    })?;
    let is_balanced = totals.values().all(|(debits, credits)| debits == credits);
    if one.output.json {
        let totals: Vec<Value> = totals
            .iter()
            .map(|((asset, scale), (debits, credits))| {
                let (debits, credits) = (money(*debits, *scale), money(*credits, *scale));
                json!({"asset": asset, "debits": debits, "credits": credits})
            })
            .collect();
        output::say_json(&json!({"items": rows, "totals": totals, "damaged": damaged, "balanced": is_balanced}))?;
    } else {
        let mut table = Vec::new();
        for row in &rows {
            let difference = minor(&row.debits_minor)? - minor(&row.credits_minor)?;
            let shown = money(difference.abs(), row.scale);
            let (debit, credit) = if difference < 0 { (String::new(), shown) } else { (shown, String::new()) };
            table.push(vec![
                row.account_id.clone(),
                output::plain(&row.name),
                output::plain(&row.asset),
                debit,
                credit,
            ]);
        }
        output::say_table(&["account", "name", "asset", "debit", "credit"], &table);
        for ((asset, scale), (debits, credits)) in &totals {
            let (debits, credits) = (money(*debits, *scale), money(*credits, *scale));
            output::say(&format!("{}: posted debits {debits}, posted credits {credits}", output::plain(asset)));
        }
    }
    tell_damaged(&damaged);
    if is_balanced && damaged.is_empty() {
        Ok(())
    } else {
        Err(damage("the ledger does not balance or has damaged records; `quintet ledger prove` says more".to_owned()))
    }
}

fn tell_damaged(damaged: &[FindingView]) {
    for record in damaged {
        output::progress(&format!("damaged: {}: {}", record.place, output::plain(&record.problem)));
    }
}

fn search(one: &OneTenant, filters: &[(&str, &str)], limit: usize) -> Result<(), CliError> {
    let mut found: Vec<Value> = Vec::new();
    let damaged = pages(&one.place.client()?, &SEARCH, &one.tenant, filters, |page: Vec<Value>| {
        found.extend(page);
        Ok(found.len() < limit)
    })?;
    found.truncate(limit);
    tell_damaged(&damaged);
    if one.output.json {
        return output::say_json(&json!({"items": found, "damaged": damaged}));
    }
    let text = |value: &Value| output::plain(value.as_str().unwrap_or("-"));
    let rows = found.iter().map(|record| {
        let entries = record["entries"].as_array().map_or(0, Vec::len);
        vec![
            text(&record["transaction_id"]),
            text(&record["created_at"]),
            text(&record["state"]),
            entries.to_string(),
            text(&record["external_id"]),
            text(&record["description"]),
        ]
    });
    let headings = ["transaction", "posted", "state", "entries", "external id", "description"];
    output::say_table(&headings, &rows.collect::<Vec<_>>());
    Ok(())
}

fn export_all(client: &Client, tenant: &str, format: Format) -> Result<(), CliError> {
    let mut hledger = export::Hledger::default();
    match format {
        Format::Csv => output::say(export::CSV_HEADING),
        Format::Hledger => output::say(export::HLEDGER_HEADING),
        Format::Jsonl => {}
    }
    let damaged = pages(client, &EXPORT, tenant, &[], |page: Vec<Value>| {
        for record in &page {
            match format {
                Format::Jsonl => output::say_json(record)?,
                Format::Csv => export::csv_lines(record).iter().for_each(|line| output::say(line)),
                Format::Hledger => hledger.lines(record)?.iter().for_each(|line| output::say(line)),
            }
        }
        Ok(true)
    })?;
    tell_damaged(&damaged);
    match damaged.len() {
        0 => Ok(()),
        records => Err(damage(format!("{records} records are damaged and not in the export"))),
    }
}

fn explain_codes(code: Option<&str>, output: OutputArguments) -> Result<(), CliError> {
    let known: Vec<&Explanation> = match code {
        None => EXPLANATIONS.iter().collect(),
        Some(code) => {
            let unknown = || {
                CliError::failed(format!("the ledger has no code {:?}", code))
                    .hint("`quintet ledger explain` lists all of them")
            };
            vec![explain(code).ok_or_else(unknown)?]
        }
    };
    let view = |one: &Explanation| {
        json!({
            "status": one.status, "code": one.code, "transient": one.is_transient, "arises": one.arises,
            "cause": one.cause, "cure": one.cure,
        })
    };
    match (output.json, known.as_slice()) {
        (true, [one]) if code.is_some() => output::say_json(&view(one))?,
        (true, all) => output::say_json(&json!({"items": all.iter().map(|one| view(one)).collect::<Vec<_>>()}))?,
        (false, [one]) => {
            output::say(&format!("{} {}", one.status, one.code));
            output::say(&format!("cause  {}", one.cause));
            output::say(&format!("cure   {}", one.cure));
            output::say(match one.is_transient {
                true => "retry  with the same Idempotency-Key, after the seconds in Retry-After",
                false => "retry  does not help; the answer stays the same",
            });
        }
        (false, all) => {
            let rows = all.iter().map(|one| vec![one.status.to_string(), one.code.to_owned(), one.cause.to_owned()]);
            output::say_table(&["status", "code", "cause"], &rows.collect::<Vec<_>>());
        }
    }
    Ok(())
}
