//! `quintet messaging undeliverable`: mail that was given up.

use quintet_messaging::operator::UndeliverableView;

use super::terms::OfWorkspace;
use crate::admin::messaging;
use crate::cli::CliError;
use crate::cli::output;

/// List mail of a workspace that could not be delivered
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    of: OfWorkspace,
}

/// Runs the command.
pub fn run(Arguments { of }: &Arguments) -> Result<(), CliError> {
    let found = of.common.place.client()?.ask(messaging::UNDELIVERABLE.of(&[&of.workspace]))?;
    if of.common.output.json {
        return output::say_json(&found);
    }
    if found.items.is_empty() {
        output::say("Nothing was given up.");
        return Ok(());
    }
    let row = |mail: &UndeliverableView| {
        let texts = [&mail.received_at, &mail.sender, &mail.recipient, &mail.subject, &mail.reason];
        texts.map(|text| output::plain(text)).to_vec()
    };
    let rows: Vec<Vec<String>> = found.items.iter().map(row).collect();
    output::say_table(&["received", "sender", "recipient", "subject", "reason"], &rows);
    Ok(())
}
