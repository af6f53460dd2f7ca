//! `quintet tenant`: tenants and the services they are provisioned for.

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

use super::CliError;
use super::output::{self, OutputArguments};
use super::place::PlaceArguments;
use crate::admin::protocol::{Items, TenantView, TenantWish};

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
    Quota(Box<super::quota::Arguments>),
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
            let tenant: TenantView = place.client()?.post("/tenants", &wish)?;
            show(&tenant, *output)
        }
        Command::List { place, output } => {
            let tenants: Items<TenantView> = place.client()?.get("/tenants")?;
            list(&tenants, *output)
        }
        Command::Show(one) => {
            let path = format!("/tenants/{}", path_segment(&one.tenant));
            show(&one.place.client()?.get(&path)?, one.output)
        }
        Command::Suspend(one) => change(one, "suspend"),
        Command::Activate(one) => change(one, "activate"),
        Command::Quota(arguments) => super::quota::run(arguments),
    }
}

fn change(one: &OneTenant, what: &str) -> Result<(), CliError> {
    let path = format!("/tenants/{}/{what}", path_segment(&one.tenant));
    show(&one.place.client()?.post(&path, &serde_json::json!({}))?, one.output)
}

/// A text as one segment of a path: everything but letters and digits is percent-encoded.
pub fn path_segment(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'-' | b'_' => char::from(byte).to_string(),
            _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
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
