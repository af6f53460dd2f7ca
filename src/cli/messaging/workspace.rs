//! `quintet messaging workspace`: making, limiting, suspending and deleting workspaces.

use clap::builder::NonEmptyStringValueParser;
use clap::{Subcommand, ValueEnum};
use quintet_messaging::operator::{LimitView, WorkspaceView, WorkspaceWish};

use super::terms::Common;
use crate::admin::call::{Call, Items};
use crate::admin::messaging::{self, IngressWish, NewWorkspace};
use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};

/// Create, limit, suspend and delete workspaces
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a workspace of a tenant
    Create {
        #[command(flatten)]
        slug: Slug,
        /// The tenant's id, or its name if no other tenant has it [default: the only one with messaging]
        #[arg(long, value_name = "T", value_parser = NonEmptyStringValueParser::new())]
        tenant: Option<String>,
        /// Take sealed bodies and attachments only; for good
        #[arg(long)]
        encrypted: bool,
        /// A name for people [default: the slug]
        #[arg(long, value_name = "TEXT")]
        name: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    /// List workspaces that are not deleted
    List {
        /// Only those of this tenant (id or name)
        #[arg(long, value_name = "T", value_parser = NonEmptyStringValueParser::new())]
        tenant: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Show one workspace
    Show(One),
    /// Show the limits of a workspace, or set some
    ///
    /// What is set holds at once, and takes nothing away that is there already.
    Limits {
        #[command(flatten)]
        slug: Slug,
        /// Limits to set, each NAME=VALUE, NAME=unlimited or NAME=default
        #[arg(value_name = "NAME=VALUE")]
        limits: Vec<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Say whether mail from outside is taken
    Ingress {
        #[command(flatten)]
        slug: Slug,
        /// Whether it is
        #[arg(value_enum)]
        policy: Policy,
        #[command(flatten)]
        common: Common,
    },
    /// Suspend a workspace: everybody is turned away until it is activated
    Suspend(One),
    /// Activate a suspended workspace
    Activate(One),
    /// Delete a workspace, for good: all its keys are refused, and its slug stays taken
    Delete {
        #[command(flatten)]
        one: One,
        /// Do so without being asked again
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, clap::Args)]
struct Slug {
    /// The workspace's slug: its name in addresses and commands
    #[arg(value_name = "SLUG", value_parser = NonEmptyStringValueParser::new())]
    slug: String,
}

#[derive(Debug, clap::Args)]
struct One {
    #[command(flatten)]
    slug: Slug,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Policy {
    /// It is taken
    Open,
    /// It is refused
    Closed,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Create { slug, tenant, encrypted, name, common } => {
            let workspace = WorkspaceWish { slug: slug.slug.clone(), name: name.clone(), encrypted: *encrypted };
            let wish = NewWorkspace { tenant: tenant.clone(), workspace };
            show(&common.place.client()?.ask(messaging::CREATE.wishing(&wish))?, common.output)
        }
        Command::List { tenant, common } => {
            let asked = messaging::LIST.of(&[]).with("tenant", tenant.as_deref());
            list(&common.place.client()?.ask(asked)?, common.output)
        }
        Command::Show(one) => ask_of(one, &messaging::SHOW),
        Command::Limits { slug, limits, common } => {
            let found = match limits.is_empty() {
                true => common.place.client()?.ask(messaging::LIMITS.of(&[&slug.slug]))?,
                false => {
                    let wish = Items { items: limits.clone() };
                    common.place.client()?.ask(messaging::SET_LIMITS.of(&[&slug.slug]).wishing(&wish))?
                }
            };
            show_limits(&found, common.output)
        }
        Command::Ingress { slug, policy, common } => {
            let wish = IngressWish { open: *policy == Policy::Open };
            let asked = messaging::SET_INGRESS.of(&[&slug.slug]).wishing(&wish);
            show(&common.place.client()?.ask(asked)?, common.output)
        }
        Command::Suspend(one) => ask_of(one, &messaging::SUSPEND),
        Command::Activate(one) => ask_of(one, &messaging::ACTIVATE),
        Command::Delete { one, yes: true } => ask_of(one, &messaging::DELETE),
        Command::Delete { one, yes: false } => {
            Err(CliError::failed(format!("workspace {:?} would be deleted, for good", one.slug.slug))
                .code(CliError::USAGE)
                .hint(
                    "say --yes to delete it, or `quintet messaging workspace suspend` to turn everybody away for now",
                ))
        }
    }
}

fn ask_of(one: &One, call: &Call<(), WorkspaceView>) -> Result<(), CliError> {
    show(&one.common.place.client()?.ask(call.of(&[&one.slug.slug]))?, one.common.output)
}

fn show(workspace: &WorkspaceView, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(workspace);
    }
    for (name, value) in [
        ("workspace", workspace.slug.clone()),
        ("id", workspace.workspace_id.clone()),
        ("name", output::plain(&workspace.name)),
        ("tenant", workspace.tenant_id.clone()),
        ("encrypted", if workspace.encrypted { "yes, for good" } else { "no" }.to_owned()),
        ("mail", format!("from outside: {}", workspace.ingress_policy)),
        ("status", workspace.status.clone()),
        ("created", workspace.created_at.clone()),
        ("agents", format!("{} active", workspace.active_agents)),
        ("keys", workspace.keys.to_string()),
    ] {
        output::say(&format!("{name:11}{value}"));
    }
    Ok(())
}

fn list(found: &Items<WorkspaceView>, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(found);
    }
    if found.items.is_empty() {
        output::say("No workspaces. Make one with `quintet messaging workspace create SLUG`.");
        return Ok(());
    }
    let rows = found.items.iter().map(|workspace| {
        vec![
            workspace.slug.clone(),
            workspace.tenant_id.clone(),
            workspace.status.clone(),
            if workspace.encrypted { "yes" } else { "no" }.to_owned(),
            workspace.active_agents.to_string(),
            workspace.keys.to_string(),
            output::plain(&workspace.name),
        ]
    });
    let headings = ["workspace", "tenant", "status", "encrypted", "agents", "keys", "name"];
    output::say_table(&headings, &rows.collect::<Vec<_>>());
    Ok(())
}

fn show_limits(found: &Items<LimitView>, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(found);
    }
    let rows = found.items.iter().map(|limit| {
        vec![
            limit.name.clone(),
            limit.limit.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string()),
            limit.used.map_or_else(|| "-".to_owned(), |used| used.to_string()),
            limit.usual.to_string(),
        ]
    });
    output::say_table(&["limit", "value", "used", "default"], &rows.collect::<Vec<_>>());
    Ok(())
}
