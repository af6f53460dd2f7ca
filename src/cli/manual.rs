//! `quintet manual`: the manual in the terminal.

use std::io::IsTerminal;

use clap::builder::PossibleValuesParser;
use serde::Serialize;

use super::CliError;
use super::output::{self, OutputArguments};
use crate::admin::call::Items;
use crate::manual::document::Document;
use crate::manual::terminal::{Look, render};
use crate::manual::{self, EXAMPLES, PAGES, Page};

/// The width of a page where no terminal says how wide it is, in columns.
const WIDTH: usize = 80;
/// Wider lines are hard to read, and narrower ones are none.
const WIDTH_MIN: usize = 40;
const WIDTH_MAX: usize = 110;

/// Read the manual: the list of topics, or a page
///
/// The operations listener shows the same pages to browsers, at /manual.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The page [default: the list of all]
    #[arg(value_parser = topics())]
    topic: Option<String>,
    #[command(flatten)]
    output: OutputArguments,
}

/// A page as programs read it.
#[derive(Serialize)]
struct PageView {
    topic: &'static str,
    title: String,
    summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    markdown: Option<String>,
}

impl PageView {
    fn new(page: &Page) -> PageView {
        PageView { topic: page.topic, title: page.title(), summary: page.summary(), markdown: None }
    }
}

/// The names alone: this is made whenever any command starts, and no page is read for it.
fn topics() -> PossibleValuesParser {
    PossibleValuesParser::new(PAGES.iter().map(|page| page.topic))
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let page = arguments.topic.as_deref().and_then(manual::page);
    match (page, arguments.output.json) {
        (None, true) => output::say_json(&Items { items: PAGES.iter().map(PageView::new).collect() }),
        (Some(page), true) => {
            output::say_json(&PageView { markdown: Some(page.markdown().into_owned()), ..PageView::new(page) })
        }
        (None, false) => {
            list(look());
            Ok(())
        }
        (Some(page), false) => {
            output::say(render(&page.document(), look()).trim_end());
            Ok(())
        }
    }
}

fn list(look: Look) {
    let rows: Vec<Vec<String>> = PAGES.iter().map(|page| vec![page.topic.to_owned(), page.summary()]).collect();
    output::say_table(&["topic", "what it is about"], &rows);
    output::say("");
    output::say(render(&Document::read(EXAMPLES), look).trim_end());
    output::say("");
    output::say("`quintet manual TOPIC` shows a page.");
}

/// As wide as the terminal, and bold where one is; plain text for whatever else reads it.
fn look() -> Look {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return Look { width: WIDTH, is_bold: false };
    }
    let columns = rustix::termios::tcgetwinsize(&stdout).map_or(0, |size| usize::from(size.ws_col));
    let width = if columns == 0 { WIDTH } else { columns.clamp(WIDTH_MIN, WIDTH_MAX) };
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Look { width, is_bold: !is_dumb && !is_plain }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    /// The words behind each `quintet` of a text, in its sentences, tables and steps: up to a pipe, a comment, or
    /// whatever else ends a command.
    fn command_lines(markdown: &str) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        let mut is_step = false;
        for line in markdown.replace("\\\n", " ").lines() {
            if line.trim_start().starts_with("```") {
                is_step = !is_step;
            } else if is_step {
                found.extend(commands_in(&line.replace("$(", " ")));
            } else {
                let codes = line.split('`').skip(1).step_by(2).filter(|code| code.starts_with("quintet "));
                found.extend(codes.flat_map(commands_in));
            }
        }
        found
    }

    fn commands_in(code: &str) -> Vec<Vec<String>> {
        // `sudo -u quintet quintet serve` has the user's name before the program's.
        let code = format!(" {code}").replace(" quintet quintet ", " quintet ");
        let ends = ['|', '#', ';', ')', '<', '>', '&'];
        let lines = code.split(" quintet ").skip(1).filter_map(|rest| rest.split(ends).next());
        lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    }

    /// The command that a line names, with the words of its path; or what is wrong with the line.
    fn resolve(words: &[String]) -> Result<Vec<String>, String> {
        let mut command = Cli::command();
        command.build();
        let mut path = Vec::new();
        for word in words {
            if let Some(flag) = word.strip_prefix("--") {
                let flag = flag.split('=').next().unwrap_or_default();
                let is_known = command.get_arguments().any(|argument| argument.get_long() == Some(flag));
                if !is_known {
                    return Err(format!("quintet {} has no --{flag}", path.join(" ")));
                }
            } else if let Some(sub) = command.find_subcommand(word).cloned() {
                path.push(word.clone());
                command = sub;
            } else if command.has_subcommands() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
                return Err(format!("quintet {} has no {word}", path.join(" ")));
            }
        }
        Ok(path)
    }

    fn leaves(command: &clap::Command, path: &str, found: &mut BTreeSet<String>) {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let path = format!("{path} {}", sub.get_name());
            match sub.has_subcommands() {
                true => leaves(sub, &path, found),
                false => drop(found.insert(path.trim().to_owned())),
            }
        }
    }

    #[test]
    fn commands_that_pages_name_exist() {
        let readme = include_str!("../../README.md").to_owned();
        let texts = PAGES.iter().map(|page| page.markdown().into_owned()).chain([readme]);
        let lines: Vec<Vec<String>> = texts.flat_map(|text| command_lines(&text)).collect();
        assert!(lines.len() > 150, "only {} found", lines.len());
        let wrong: Vec<String> = lines.iter().filter_map(|words| resolve(words).err()).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn commands_that_do_not_exist_are_seen() {
        let wrong =
            |text: &str| command_lines(text).iter().filter_map(|words| resolve(words).err()).collect::<Vec<_>>();
        assert_eq!(wrong("`quintet tenant quote T`"), ["quintet tenant has no quote"]);
        assert_eq!(wrong("`quintet backup create D --fast`"), ["quintet backup create has no --fast"]);
        assert_eq!(
            wrong("```sh\nA=$(quintet key isue | jq)\nquintet stat\n```"),
            ["quintet key has no isue", "quintet  has no stat"]
        );
        assert_eq!(wrong("`quintet key issue --tenant T` and `quintet manual tls`"), Vec::<String>::new());
    }

    #[test]
    fn the_page_of_commands_lists_all_of_them() {
        let page = manual::page("commands").unwrap().markdown();
        let tables = page.lines().filter(|line| line.starts_with('|')).collect::<Vec<_>>().join("\n");
        let named: BTreeSet<String> =
            command_lines(&tables).iter().map(|words| resolve(words).unwrap().join(" ")).collect();
        let mut all = BTreeSet::new();
        leaves(&Cli::command(), "", &mut all);
        assert_eq!(named, all);
    }
}
