//! `quintet member`: people of tenants.

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

use super::CliError;
use super::output::{self, OutputArguments};
use super::place::PlaceArguments;
use crate::admin::call::{Call, Items};
use crate::admin::members::{self, MemberView, MemberWish, OneWish, TemplateWish};

/// Invite people of tenants, say what they may do, and let them in at the console
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Invite a member; nothing is sent
    ///
    /// What a member may do in localization comes from templates; in the other services, and at the decision desk, from
    /// permissions: ledger_reader, ledger_poster, ledger_admin, svc_run_read, svc_run_submit, svc_run_control,
    /// messaging_read, messaging_operate, decision_decide.
    Create {
        /// The member's e-mail address
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        email: String,
        /// The tenant's id, or its name if no other tenant has it
        #[arg(long, value_name = "T", value_parser = NonEmptyStringValueParser::new())]
        tenant: String,
        /// A template of localization; may be given several times
        #[arg(long = "template", value_name = "NAME")]
        templates: Vec<String>,
        /// Where a template holds: {"workspace_id": UUID, "project_id": UUID, "locale": TAG}, each optional; the first is
        /// the first template's, and so on
        #[arg(long = "scope", value_name = "JSON", requires = "templates")]
        scopes: Vec<String>,
        /// A permission; may be given several times
        #[arg(long = "permission", value_name = "P")]
        permissions: Vec<String>,
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// List the members of a tenant, removed ones among them
    List {
        /// The tenant's id, or its name if no other tenant has it
        #[arg(long, value_name = "T", value_parser = NonEmptyStringValueParser::new())]
        tenant: String,
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// Let a member do more
    Permit(Permits),
    /// Let a member do less
    Forbid(Permits),
    /// Remove a member: sessions, keys, grants and permissions end
    Remove(One),
    /// Print a link that lets a member in at the console, once, for ten minutes
    ///
    /// Whoever opens it acts as the member: that it was made, and by which user, is in the tenant's audit chain.
    Link(One),
}

#[derive(Debug, clap::Args)]
struct One {
    /// The member's e-mail address, or its id
    #[arg(value_name = "EMAIL", value_parser = NonEmptyStringValueParser::new())]
    member: String,
    /// The tenant's id, or its name if no other tenant has it
    #[arg(long, value_name = "T", value_parser = NonEmptyStringValueParser::new())]
    tenant: String,
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Debug, clap::Args)]
struct Permits {
    #[command(flatten)]
    one: One,
    /// A permission; may be given several times
    #[arg(long = "permission", value_name = "P", required = true)]
    permissions: Vec<String>,
}

impl One {
    fn wish(&self, permissions: &[String]) -> OneWish {
        OneWish { tenant: self.tenant.clone(), member: self.member.clone(), permissions: permissions.to_vec() }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Create { email, tenant, templates, scopes, permissions, place, output } => {
            let wish = MemberWish {
                tenant: tenant.clone(),
                email: email.clone(),
                templates: templates_of(templates, scopes)?,
                permissions: permissions.clone(),
            };
            show(&place.client()?.ask(members::CREATE.wishing(&wish))?, *output)
        }
        Command::List { tenant, place, output } => {
            list(&place.client()?.ask(members::LIST.of(&[]).with("tenant", Some(tenant)))?, *output)
        }
        Command::Permit(Permits { one, permissions }) => change(one, permissions, &members::PERMIT),
        Command::Forbid(Permits { one, permissions }) => change(one, permissions, &members::FORBID),
        Command::Remove(one) => change(one, &[], &members::REMOVE),
        Command::Link(one) => {
            let view = one.place.client()?.ask(members::LINK.wishing(&one.wish(&[])))?;
            if one.output.json {
                return output::say_json(&view);
            }
            output::say(&view.url);
            output::progress(&format!("It works once, until {}.", view.ends_at));
            Ok(())
        }
    }
}

/// Templates with their scopes.
fn templates_of(names: &[String], scopes: &[String]) -> Result<Vec<TemplateWish>, CliError> {
    if scopes.len() > names.len() {
        return Err(CliError::failed("there are more scopes than templates").code(CliError::USAGE));
    }
    let pairs = names.iter().enumerate();
    Ok(pairs.map(|(at, name)| TemplateWish { name: name.clone(), scope: scopes.get(at).cloned() }).collect())
}

fn change(one: &One, permissions: &[String], call: &Call<OneWish, MemberView>) -> Result<(), CliError> {
    show(&one.place.client()?.ask(call.wishing(&one.wish(permissions)))?, one.output)
}

const HEADINGS: [&str; 6] = ["member", "email", "status", "templates", "permissions", "created"];

fn row(member: &MemberView) -> Vec<String> {
    vec![
        member.member_id.clone(),
        output::plain(&member.email),
        member.status.clone(),
        member.templates.join(", "),
        member.permissions.join(", "),
        member.created_at.clone(),
    ]
}

fn show(member: &MemberView, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(member);
    }
    output::say_table(&HEADINGS, &[row(member)]);
    Ok(())
}

fn list(found: &Items<MemberView>, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(found);
    }
    if found.items.is_empty() {
        output::say("No members yet. Invite one with `quintet member create EMAIL --tenant T`.");
        return Ok(());
    }
    output::say_table(&HEADINGS, &found.items.iter().map(row).collect::<Vec<_>>());
    Ok(())
}
