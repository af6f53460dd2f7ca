//! `quintet render`: draws a DOT file, without a server.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use quintet_drawing::dot::ParseError;
use quintet_drawing::fonts::Collection;
use quintet_drawing::render::{Format, Options, RenderError, render};

use crate::cli::CliError;
use crate::cli::output;

/// Draw a DOT file as SVG or PNG, without a server
///
/// The drawing is what the diagrams service makes of the same source. Warnings go to standard error.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The DOT file; - for standard input
    file: PathBuf,
    /// The format [default: what the extension of OUT says, else svg]
    #[arg(short = 'T', long = "format", value_enum)]
    format: Option<FormatArgument>,
    /// Where the picture goes [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// A directory of fonts (.ttf, .otf) that the text of a PNG is painted with, as `diagrams.fonts_dir` of the service
    #[arg(long, value_name = "DIR")]
    fonts: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatArgument {
    Svg,
    Png,
}

impl From<FormatArgument> for Format {
    fn from(format: FormatArgument) -> Format {
        match format {
            FormatArgument::Svg => Format::Svg,
            FormatArgument::Png => Format::Png,
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let format = format(arguments)?;
    let options = Options { fonts: Arc::new(fonts(arguments.fonts.as_deref())?), ..Options::default() };
    let source = read(&arguments.file, options.limits.source_bytes)?;
    let rendered = render(&source, format, &options).map_err(|error| failure(&arguments.file, &error))?;
    for warning in &rendered.warnings {
        output::progress(&format!("quintet: warning: {}", output::plain(warning)));
    }
    let written = match &arguments.output {
        Some(path) => std::fs::write(path, &rendered.bytes),
        None => std::io::stdout().lock().write_all(&rendered.bytes),
    };
    written.map_err(|error| {
        let place = arguments.output.as_deref().unwrap_or(Path::new("standard output"));
        CliError::failed(format!("the picture cannot be written to {}: {error}", place.display()))
            .hint("name another place with -o")
    })
}

fn format(arguments: &Arguments) -> Result<Format, CliError> {
    if let Some(format) = arguments.format {
        return Ok(format.into());
    }
    let Some(path) = &arguments.output else { return Ok(Format::Svg) };
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    Format::named(&extension.to_ascii_lowercase()).ok_or_else(|| {
        CliError::failed(format!("{} does not say which format is meant", path.display()))
            .code(CliError::USAGE)
            .hint("end its name in .svg or .png, or say -T svg or -T png")
    })
}

fn fonts(directory: Option<&Path>) -> Result<Collection, CliError> {
    let Some(directory) = directory else { return Ok(Collection::default()) };
    Collection::read(directory).map_err(|error| {
        CliError::failed(format!("the fonts of {} cannot be used: {error}", directory.display()))
            .hint("name a directory of .ttf and .otf files")
    })
}

/// The source, and no more than one byte over what is accepted: the drawing then says that it is too large.
fn read(path: &Path, most_bytes: usize) -> Result<Vec<u8>, CliError> {
    let mut source = Vec::new();
    let most = most_bytes as u64 + 1;
    let result = if path == Path::new("-") {
        std::io::stdin().lock().take(most).read_to_end(&mut source)
    } else {
        File::open(path).and_then(|file| file.take(most).read_to_end(&mut source))
    };
    result.map_err(|error| {
        CliError::failed(format!("{} cannot be read: {error}", path.display()))
            .hint("name a DOT file, or - for standard input")
    })?;
    Ok(source)
}

fn failure(path: &Path, error: &RenderError) -> CliError {
    let message: Vec<String> = error.to_string().lines().map(output::plain).collect();
    let failure = CliError::failed(format!("{}: {}", path.display(), message.join("\n")));
    match error {
        // There is no mistake to look at.
        RenderError::Source(ParseError::Empty(_)) => failure.hint("write `graph { ... }` or `digraph { ... }`"),
        RenderError::Source(_) => match error.line().zip(error.column()) {
            Some((line, column)) => failure.hint(format!("look at line {line}, column {column}")),
            None => failure,
        },
        RenderError::TooMuch(_) | RenderError::Exhausted(_) => failure.hint("draw a smaller graph, or parts of it"),
    }
}
