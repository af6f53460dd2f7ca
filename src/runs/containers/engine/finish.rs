//! From the end of a container to the end of its run, and what is kept of it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use quintet_platform::json::{Limits, parse};
use quintet_runtime::{Bookmark, ContainerId, EndReason, LogLine, Outcome, Refusal, Runner, RunnerError, Stream};
use quintet_storage::large::{LargeValue, Upload};
use quintet_storage::seal::KeyOwner;
use quintet_storage::{Abort, Failure};

use super::core::{Engine, Trouble, WRITER_TIME};
use crate::containers::archive::{self, Archive, Writer};
use crate::containers::changes::find;
use crate::containers::end::End;
use crate::containers::life;
use crate::containers::model::LastWords;
use crate::model::{RunId, RunKey};
use crate::states::RunState;

/// What the end of standard output is looked for in: as many lines as can be in a KiB.
const LAST_LINES: u64 = 1024;
/// Bytes of the end of standard output that are told of.
const SUMMARY_BYTES: usize = 1024;
/// The longest output, in bytes.
const OUTPUT_BYTES_MAX: usize = 64 << 10;
/// Lines asked for at a time.
const PAGE_LINES: u32 = 50_000;
/// The largest archive that lies in its row, in bytes.
const SMALL_BYTES: usize = 16 << 10;
/// How long an upload may take until it is adopted, in seconds.
const UPLOAD_SECONDS: i64 = 3600;
/// Between two attempts of what the store did not take.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The number of a line, and where it lies.
type Place = (u64, Option<Bookmark>);

impl Engine {
    /// Ends the run of a container that has ended, keeps what it wrote, and lets go of the container.
    pub(super) async fn finish(self: Arc<Self>, id: ContainerId) {
        let Some((run_id, number)) = self.context.run_of(&id) else { return };
        // Whoever starts it is about to note that it runs.
        let Some(_hand) = self.take_soon(run_id).await else { return };
        let Ok(_turn) = self.finishes.acquire().await else { return };
        if let Err(trouble) = self.try_finish(&id, run_id, number).await {
            tokio::time::sleep(RETRY_PAUSE).await;
            self.doubt(&trouble);
        }
    }

    async fn try_finish(self: &Arc<Self>, id: &ContainerId, run_id: RunId, number: u32) -> Result<(), Trouble> {
        let status = {
            let id = id.clone();
            self.call(move |runner| runner.status(&id)).await
        };
        let outcome = match status {
            Ok(status) => status.outcome,
            Err(RunnerError::Refused(Refusal::NoSuchContainer)) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let Some(outcome) = outcome else { return Ok(()) };
        let known = life::container(&self.context.store.read(), run_id)?.filter(|(_, known)| *known == number);
        if let (Some((run_key, _)), EndReason::NotMade(why)) = (known, &outcome.reason)
            && self.is_starting(run_key, number)?
            && self.start_again(run_key, number, why)
        {
            return self.remove(id).await;
        }
        if let Some((run_key, _)) = known {
            self.started_or_over(run_id);
            self.end_run(id, run_key, number, outcome).await?;
            let is_kept = find(&self.context.store.read(), run_key)?.is_some();
            let archive = if is_kept { Some(self.archive(id, run_key).await?) } else { None };
            self.write(move |tx, now| archive::keep(tx, now, run_key, archive.as_ref())).await?;
        }
        self.remove(id).await
    }

    /// Whether this run waits for the container of this number to be made.
    fn is_starting(&self, run_key: RunKey, number: u32) -> Result<bool, Failure> {
        let run = find(&self.context.store.read(), run_key)?;
        Ok(run.is_some_and(|run| run.state == RunState::Pulling && run.starts == number))
    }

    async fn remove(&self, id: &ContainerId) -> Result<(), Trouble> {
        let id = id.clone();
        match self.call(move |runner| runner.remove(&id)).await {
            Ok(()) | Err(RunnerError::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn end_run(&self, id: &ContainerId, run_key: RunKey, number: u32, outcome: Outcome) -> Result<(), Trouble> {
        let Some(run) = find(&self.context.store.read(), run_key)? else { return Ok(()) };
        if !run.state.holds_slot() || run.state == RunState::Queued {
            return Ok(());
        }
        let words = {
            let (id, lines) = (id.clone(), outcome.stdout.lines);
            self.call(move |runner| last_words(runner, &id, lines)).await?
        };
        // A stop that is under way is noted first.
        let _turn = self.context.control_of(run_key.1).await;
        let node_ends = self.context.node_ends;
        self.write(move |tx, now| {
            // Whether it was told to stop counts as it stands now.
            let is_stopping = find(tx, run_key)?.is_some_and(|run| run.is_stopping);
            life::ended_of_node(tx, now, run_key, number, &End::of(&outcome, is_stopping, words), node_ends)
        })
        .await?;
        Ok(())
    }

    /// Everything it wrote and used, compressed and sealed.
    async fn archive(&self, id: &ContainerId, run_key: RunKey) -> Result<Archive, Trouble> {
        let mut writer = {
            let id = id.clone();
            self.call(move |runner| Ok(Writer::new(&runner.samples(&id, 0)?))).await?.map_err(broken)?
        };
        let mut upload: Option<Upload> = None;
        for stream in [Stream::Stdout, Stream::Stderr] {
            let mut next = Some((0, None));
            while let Some(place) = next {
                (writer, next) = self.archive_page(id, stream, place, writer).await?;
                if writer.ready_bytes() > SMALL_BYTES {
                    let upload = match &mut upload {
                        Some(upload) => upload,
                        none => none.insert(self.begin_upload(run_key).await?),
                    };
                    upload.push(&writer.take()).await.map_err(refused)?;
                }
            }
        }
        let rest = writer.finish().map_err(broken)?;
        match upload {
            None => Ok(Archive::Small(rest)),
            Some(mut upload) => {
                upload.push(&rest).await.map_err(refused)?;
                let value: LargeValue = upload.finish().await.map_err(refused)?;
                Ok(Archive::Large(value))
            }
        }
    }

    /// The next lines of a stream, compressed on the blocking pool; and where those after them begin, if there are any.
    async fn archive_page(
        &self,
        id: &ContainerId,
        stream: Stream,
        place: Place,
        mut writer: Writer,
    ) -> Result<(Writer, Option<Place>), Trouble> {
        let id = id.clone();
        let write_page = move |runner: &Runner| {
            let page = runner.log_on(&id, stream, place, PAGE_LINES)?;
            let is_end = page.complete || page.next_line == place.0;
            let written = page.lines.iter().try_for_each(|line| writer.line(stream, line));
            Ok(written.map(|()| (writer, (!is_end).then_some((page.next_line, page.bookmark)))))
        };
        self.call(write_page).await?.map_err(broken)
    }

    async fn begin_upload(&self, run_key: RunKey) -> Result<Upload, Trouble> {
        let owner = KeyOwner::Tenant(run_key.0.0);
        Upload::begin_sealed(&self.context.store, owner, UPLOAD_SECONDS, WRITER_TIME).await.map_err(refused)
    }
}

fn broken(error: std::io::Error) -> Trouble {
    Trouble::Store(Failure::Io(error.to_string()))
}

fn refused<R: std::fmt::Debug>(abort: Abort<R>) -> Trouble {
    match abort {
        Abort::Failed(failure) => Trouble::Store(failure),
        Abort::Refused(refusal) => Trouble::Store(Failure::Io(format!("an archive was not taken: {refusal:?}"))),
    }
}

/// The end of standard output.
fn last_words(runner: &Runner, id: &ContainerId, lines: u64) -> Result<LastWords, RunnerError> {
    let mut last: VecDeque<LogLine> = VecDeque::new();
    let mut from = lines.saturating_sub(LAST_LINES);
    loop {
        let page = runner.log(id, Stream::Stdout, from, PAGE_LINES)?;
        let is_end = page.complete || page.next_line == from;
        from = page.next_line;
        last.extend(page.lines);
        if is_end {
            break;
        }
    }
    Ok(words_of(last.make_contiguous()))
}

/// What the last lines say: their last KiB, and the last line that is not empty, if it is JSON.
fn words_of(lines: &[LogLine]) -> LastWords {
    let mut said: Vec<&str> = Vec::new();
    let mut bytes = 0;
    for line in lines.iter().rev() {
        bytes += line.text.len() + 1;
        said.push(&line.text);
        if bytes > SUMMARY_BYTES {
            break;
        }
    }
    said.reverse();
    let summary = said.join("\n");
    let mut cut = summary.len().saturating_sub(SUMMARY_BYTES);
    while !summary.is_char_boundary(cut) {
        cut += 1;
    }
    LastWords { summary: summary.get(cut..).unwrap_or_default().to_owned(), output: output_of(lines) }
}

/// The last line that says anything, if it is JSON. One that was split, or is the rest of one, is none.
fn output_of(lines: &[LogLine]) -> Option<String> {
    let place = lines.iter().rposition(|line| !line.text.trim().is_empty())?;
    let is_rest = place.checked_sub(1).and_then(|before| lines.get(before)).is_some_and(|before| before.continues);
    let line = lines.get(place).filter(|line| !is_rest && !line.continues && line.text.len() <= OUTPUT_BYTES_MAX)?;
    // What is kept is what can be shown: the same reader decides.
    let limits = Limits { max_depth: Limits::DEPTH_MAX };
    parse(line.text.as_bytes(), limits).ok().map(|_| line.text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[&str]) -> Vec<LogLine> {
        let line = |(number, text): (usize, &&str)| LogLine {
            number: number as u64,
            at_micros: 0,
            text: (*text).to_owned(),
            continues: false,
        };
        texts.iter().enumerate().map(line).collect()
    }

    #[test]
    fn the_last_words_are_the_last_kib_and_a_last_line_of_json() {
        assert_eq!(words_of(&[]), LastWords::default());
        let words = words_of(&lines(&["progress", "{\"a\": 1}", "", "  "]));
        assert_eq!(words.output.as_deref(), Some("{\"a\": 1}"));
        assert_eq!(words.summary, "progress\n{\"a\": 1}\n\n  ");
        assert_eq!(words_of(&lines(&["{\"a\": 1}", "done"])).output, None);
        assert_eq!(words_of(&lines(&["17"])).output.as_deref(), Some("17"));
        for unshown in [r#"{"a":1,"a":2}"#, r#""\ud800""#, &"9".repeat(1_025)] {
            assert_eq!(words_of(&lines(&[unshown])).output, None, "{unshown}");
        }
        let mut split = lines(&["12", "7"]);
        split[0].continues = true;
        assert_eq!(words_of(&split).output, None, "the rest of a line that was split");
        assert_eq!(words_of(&split[..1]).output, None, "its beginning");
        let long = words_of(&lines(&["\u{e9}".repeat(700).as_str(), "end"]));
        assert!(long.summary.len() <= SUMMARY_BYTES && long.summary.ends_with("\u{e9}\nend"), "{}", long.summary.len());
    }
}
