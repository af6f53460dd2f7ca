//! `quintet doctor`: looks at everything that keeps an appliance from working well, and says how to mend it.

use serde_json::json;

use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};
use crate::cli::place::PlaceArguments;
use crate::doctor::examination;
use crate::doctor::subject::{Finding, State};

/// Look for what is wrong: machine, data directory, keys, configuration, listeners, backups, runner
///
/// Each finding is a line that begins with ok, warning or problem, and what is not ok has a cure: an exact command or line
/// of the configuration. Works whether or not the appliance runs, and takes some seconds at most. As root it sees and
/// tries more. Nothing is changed; two small files are written to the data directory, synced, renamed and removed. Exit
/// code 0: no problems (there may be warnings); 1: problems.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let findings = examination::examine(arguments.place.config.clone(), arguments.place.data.clone());
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let (problems, warnings) = (count(State::Problem), count(State::Warning));
    if arguments.output.json {
        output::say_json(&json!({ "problems": problems, "warnings": warnings, "items": findings }))?;
    } else {
        say(&findings);
        output::say("");
        output::say(&format!("{problems} problems, {warnings} warnings."));
    }
    if problems > 0 {
        return Err(CliError::failed(format!("{problems} problems were found")).hint("each is told with its cure"));
    }
    Ok(())
}

fn say(findings: &[Finding]) {
    let width = findings.iter().map(|finding| finding.check.len()).max().unwrap_or(0);
    for finding in findings {
        let (state, check, says) = (finding.state.name(), finding.check, output::plain(&finding.says));
        output::say(&format!("{state:8} {check:width$}  {says}"));
        if let Some(cure) = &finding.cure {
            output::say(&format!("{:8} {:width$}  cure: {}", "", "", output::plain(cure)));
        }
    }
}
