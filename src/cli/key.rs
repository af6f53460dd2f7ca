//! `quintet key`: API keys.

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

use super::CliError;
use super::output::{self, OutputArguments};
use super::place::PlaceArguments;
use super::runs::terms::{RunTerms, terms_shown};
use crate::admin::call::Items;
use crate::admin::keys::{self, IssuedKeyView, KeyView, KeyWish};

/// Issue, list, show and revoke API keys
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Issue a key
    ///
    /// The key is shown this once; only a digest of it is kept.
    ///
    /// Permissions of the ledger: ledger_admin (asset types, accounts), ledger_poster (transactions),
    /// ledger_reader (balances, statements), ledger_partner (sub-tenants, not their data).
    /// Permissions of localization: org_members-manage, org_audit-read, org_billing-read, ws_*_admin, and p_*_read,
    /// p_*_manage, p_*_files-write, p_*_export, p_*_glossary-write, p_*_release, p_*_anyloc_translate, p_*_anyloc_review,
    /// p_*_anyloc_approve, which hold in every project; a short id in place of the star holds for one workspace or
    /// project, loc_TAG in place of anyloc for one locale (p_abcdefghij_loc_de_review). Of diagrams:
    /// diagrams_render. Of runs: svc_run_submit, svc_run_read, svc_run_control, svc_run_delete, svc_tenant_admin
    /// (quotas). A template with a scope narrows them down.
    ///
    /// Without --permission and --template the key may do everything a tenant does with its own data: all of
    /// these but ledger_partner and svc_tenant_admin.
    Issue {
        /// The tenant's id, or its name if no other tenant has it
        #[arg(long, value_name = "T", value_parser = NonEmptyStringValueParser::new())]
        tenant: String,
        /// What the key is for
        #[arg(long, value_name = "L")]
        label: Option<String>,
        /// A permission; may be given several times
        #[arg(long = "permission", value_name = "P")]
        permissions: Vec<String>,
        /// A template of localization: org_admin, org_auditor, org_billing, member_manager, ws_admin,
        /// project_manager, viewer, translator, reviewer, approver, ci, push, build, publisher, runner, terminologist
        #[arg(long, value_name = "NAME")]
        template: Option<String>,
        /// Where the template holds: {"workspace_id": UUID, "project_id": UUID, "locale": TAG}, each optional
        #[arg(long, value_name = "JSON", requires = "template")]
        scope: Option<String>,
        /// Expire after so many days [default: never]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3650))]
        ttl_days: Option<u32>,
        /// Print the key alone
        #[arg(long, conflicts_with = "json")]
        quiet: bool,
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
        // Its heading holds for all that follows.
        #[command(flatten)]
        runs: RunTerms,
    },
    /// List keys, without their secrets
    List {
        /// Only those of this tenant (id or name)
        #[arg(long, value_name = "T", value_parser = NonEmptyStringValueParser::new())]
        tenant: Option<String>,
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// Show one key, without its secret
    Show {
        /// The key's id (not the key itself)
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        key_id: String,
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// Revoke a key; the next request with it is refused
    Revoke {
        /// The key's id (not the key itself)
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        key_id: String,
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Issue { tenant, label, permissions, template, scope, ttl_days, runs, quiet, place, output } => {
            let wish = KeyWish {
                tenant: tenant.clone(),
                label: label.clone(),
                permissions: permissions.clone(),
                template: template.clone(),
                scope: scope.clone(),
                ttl_days: *ttl_days,
                runs: runs.wish(),
            };
            let issued = place.client()?.ask(keys::ISSUE.wishing(&wish))?;
            tell_issued(&issued, *quiet, *output)
        }
        Command::List { tenant, place, output } => {
            let asked = keys::LIST.of(&[]).with("tenant", tenant.as_deref());
            list(&place.client()?.ask(asked)?, *output)
        }
        Command::Show { key_id, place, output } => show(&place.client()?.ask(keys::SHOW.of(&[key_id]))?, *output),
        Command::Revoke { key_id, place, output } => {
            let revoked = place.client()?.ask(keys::REVOKE.of(&[key_id]))?;
            if output.json {
                return output::say_json(&revoked);
            }
            output::say(&format!("Revoked {}. The next request with it is refused.", revoked.key_id));
            Ok(())
        }
    }
}

fn tell_issued(issued: &IssuedKeyView, quiet: bool, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(issued);
    }
    if quiet {
        output::say(&issued.api_key);
        return Ok(());
    }
    output::say(&format!("key         {}", issued.api_key));
    output::say(&format!("key id      {}", issued.key_id));
    output::say(&format!("tenant      {}", issued.tenant_id));
    if let Some(label) = &issued.label {
        output::say(&format!("label       {}", output::plain(label)));
    }
    output::say(&format!("permissions {}", issued.permissions.join(", ")));
    output::say(&format!("expires     {}", issued.expires_at.as_deref().unwrap_or("never")));
    if let Some(runs) = &issued.runs {
        output::say(&format!("runs        {}", terms_shown(runs)));
    }
    output::say("");
    output::say("Keep the key now: it cannot be shown again.");
    Ok(())
}

fn show(key: &KeyView, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(key);
    }
    output::say(&format!("key id      {}", key.key_id));
    output::say(&format!("tenant      {}", key.tenant_id));
    if let Some(label) = &key.label {
        output::say(&format!("label       {}", output::plain(label)));
    }
    output::say(&format!("permissions {}", key.permissions.join(", ")));
    output::say(&format!("issued      {}", key.created_at));
    output::say(&format!("state       {}", state_of(key)));
    output::say(&format!("last used   {}", key.last_used_at.as_deref().unwrap_or("never")));
    if let Some(runs) = &key.runs {
        output::say(&format!("runs        {}", terms_shown(runs)));
    }
    Ok(())
}

/// Permissions as a column has room for them: `key show` tells all.
fn at_a_glance(permissions: &[String]) -> String {
    match permissions {
        [first, second, third, _, ..] => format!("{first},{second},{third} and {} more", permissions.len() - 3),
        few => few.join(","),
    }
}

fn state_of(key: &KeyView) -> String {
    match (&key.revoked_at, &key.expires_at) {
        (Some(at), _) => format!("revoked {at}"),
        (None, Some(at)) => format!("expires {at}"),
        (None, None) => "no expiry".to_string(),
    }
}

const HEADINGS: [&str; 7] = ["key id", "tenant", "label", "state", "last used", "permissions", "runs"];

fn list(keys: &Items<KeyView>, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(keys);
    }
    if keys.items.is_empty() {
        output::say("No keys. Issue one with `quintet key issue --tenant T`.");
        return Ok(());
    }
    let rows = keys.items.iter().map(|key| {
        let label = output::plain(key.label.as_deref().unwrap_or("-"));
        let last_use = key.last_used_at.clone().unwrap_or_else(|| "never".to_string());
        let runs = key.runs.as_ref().map_or_else(String::new, terms_shown);
        let (state, permissions) = (state_of(key), at_a_glance(&key.permissions));
        vec![key.key_id.clone(), key.tenant_id.clone(), label, state, last_use, permissions, runs]
    });
    output::say_table(&HEADINGS, &rows.collect::<Vec<_>>());
    Ok(())
}
