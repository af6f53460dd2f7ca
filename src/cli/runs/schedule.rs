//! `quintet schedule`: the operator's view of schedules.

use clap::Subcommand;

use crate::admin::schedules::{self, ScheduleView};
use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};
use crate::cli::place::PlaceArguments;

/// Show the schedules of tenants
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List schedules: their patterns, when they fire next, how often they did and missed
    List {
        /// The tenant's id, or its name if no other tenant has it [default: all tenants]
        #[arg(long, value_name = "T")]
        tenant: Option<String>,
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let Command::List { tenant, place, output } = &arguments.command;
    let client = place.client()?;
    let (mut all, mut next): (Vec<ScheduleView>, Option<String>) = (Vec::new(), None);
    loop {
        let asked = schedules::LIST.of(&[]).with("tenant", tenant.as_deref()).with("from", next.as_deref());
        let page = client.ask(asked)?;
        all.extend(page.items);
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    if output.json {
        return output::say_json(&serde_json::json!({ "items": all }));
    }
    if all.is_empty() {
        output::say("There are no schedules. POST /api/v1/schedules makes one: see `quintet manual timers`.");
        return Ok(());
    }
    let headings = ["tenant", "schedule", "name", "cron", "zone", "next", "fired", "missed", "url"];
    output::say_table(&headings, &all.iter().map(row).collect::<Vec<_>>());
    Ok(())
}

fn row(one: &ScheduleView) -> Vec<String> {
    let next = one.next_fire_at.as_deref().filter(|_| one.enabled);
    let none = if one.enabled { "never again" } else { "paused" };
    vec![
        output::plain(&one.tenant_name),
        one.schedule_id.clone(),
        one.name.as_deref().map_or_else(|| "-".to_owned(), output::plain),
        output::plain(&one.cron),
        output::plain(&one.timezone),
        next.unwrap_or(none).to_owned(),
        one.fire_count.to_string(),
        one.missed_count.to_string(),
        output::plain(&one.url),
    ]
}
