//! `quintet tenant`: tenants and the services they are provisioned for.

mod quota;

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

use crate::admin::call::{Call, Items};
use crate::admin::tenants::{self, TenantView, TenantWish};
use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};
use crate::cli::place::PlaceArguments;

/// Create, list and suspend tenants
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a tenant; it exists in every service it is provisioned for
    Create {
        /// The tenant's name
        name: String,
        /// The tenant's id, a UUID [default: a new one]
        #[arg(long, value_name = "UUID")]
        id: Option<String>,
        /// The services it is provisioned for, separated by commas: localization, runs, ledger, messaging,
        /// diagrams [default: all, those to come included]
        #[arg(long, value_name = "LIST", value_delimiter = ',')]
        services: Option<Vec<String>>,
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// List all tenants
    List {
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// Show one tenant
    Show(OneTenant),
    /// Suspend a tenant: all its keys, and those of its sub-tenants, are refused until it is activated
    Suspend(OneTenant),
    /// Activate a suspended tenant
    Activate(OneTenant),
    /// Show or set what a tenant may use of a service; calls of its sub-tenants count
    ///
    /// Without values it shows what holds, and what was used of it.
    Quota(Box<quota::Arguments>),
}

#[derive(Debug, clap::Args)]
struct OneTenant {
    /// The tenant's id, or its name if no other tenant has it
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    tenant: String,
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Create { name, id, services, place, output } => {
            let wish = TenantWish { name: name.clone(), id: id.clone(), services: services.clone() };
            show(&place.client()?.ask(tenants::CREATE.wishing(&wish))?, *output)
        }
        Command::List { place, output } => list(&place.client()?.ask(&tenants::LIST)?, *output),
        Command::Show(one) => ask_of(one, &tenants::SHOW),
        Command::Suspend(one) => ask_of(one, &tenants::SUSPEND),
        Command::Activate(one) => ask_of(one, &tenants::ACTIVATE),
        Command::Quota(arguments) => quota::run(arguments),
    }
}

fn ask_of(one: &OneTenant, call: &Call<(), TenantView>) -> Result<(), CliError> {
    show(&one.place.client()?.ask(call.of(&[&one.tenant]))?, one.output)
}

fn row(tenant: &TenantView) -> Vec<String> {
    vec![
        tenant.tenant_id.clone(),
        output::plain(&tenant.name),
        tenant.status.clone(),
        tenant.services.join(","),
        tenant.created_at.clone(),
    ]
}

const HEADINGS: [&str; 5] = ["tenant", "name", "status", "services", "created"];

fn show(tenant: &TenantView, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(tenant);
    }
    output::say_table(&HEADINGS, &[row(tenant)]);
    Ok(())
}

fn list(tenants: &Items<TenantView>, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(tenants);
    }
    if tenants.items.is_empty() {
        output::say("No tenants yet. Create one with `quintet tenant create NAME`.");
        return Ok(());
    }
    output::say_table(&HEADINGS, &tenants.items.iter().map(row).collect::<Vec<_>>());
    Ok(())
}
