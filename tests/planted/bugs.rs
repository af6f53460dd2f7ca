//! The planted bugs: each is one place of the storage's source, and what a careless hand might have written there.

/// A bug: what it is, where, and how it comes to be.
pub struct Bug {
    /// What it does wrong.
    pub what: &'static str,
    /// The file below `storage/src`.
    pub file: &'static str,
    /// The sound text; it stands there exactly once.
    pub sound: &'static str,
    /// The text in its place.
    pub planted: &'static str,
}

const fn bug(what: &'static str, file: &'static str, sound: &'static str, planted: &'static str) -> Bug {
    Bug { what, file, sound, planted }
}

/// All of them, in the order of the way of a write, then recovery, copies, and what looks after them.
pub const BUGS: &[Bug] = &[
    bug(
        "answers before the sync",
        "log/writer.rs",
        "        self.file.write_at(self.offset, frame)?;\n        self.file.sync_data()?;",
        "        self.file.write_at(self.offset, frame)?;",
    ),
    bug(
        "goes on after a failed append",
        "write/pipeline.rs",
        "        if let Err(error) = committer.commit(&mut group) {",
        "        if let Err(error) = committer.commit(&mut group).or_else(|_| Ok::<(), std::io::Error>(())) {",
    ),
    bug(
        "answers although the tables refused",
        "write/pipeline.rs",
        "        match applier.apply(&mut group) {\n            Ok(()) => {",
        "        match applier.apply(&mut group) {\n            Ok(()) | Err(Failure::Io(_)) => {",
    ),
    bug(
        "publishes before the tables have it",
        "write/pipeline.rs",
        "        let written = apply_frame(self.shared.tables.as_ref(), &self.shared.registry, &group.header, payload)?;\n        let lsn = group.header.last_lsn();",
        "        let lsn = group.header.last_lsn();\n        self.shared.publish(lsn, group.header.time);\n        let written = apply_frame(self.shared.tables.as_ref(), &self.shared.registry, &group.header, payload)?;\n        if lsn > 0 {\n            self.shared.applied.store(lsn, Ordering::Release);\n            self.shared.waking.wake(lsn, &written, &group.notes);\n            return Ok(());\n        }",
    ),
    bug(
        "wakes before it publishes",
        "write/pipeline.rs",
        "        self.shared.publish(lsn, group.header.time);\n        self.shared.waking.wake(lsn, &written, &group.notes);",
        "        self.shared.waking.wake(lsn, &written, &group.notes);\n        self.shared.publish(lsn, group.header.time);",
    ),
    bug(
        "lets fall due and tells what a savepoint has undone",
        "write/tx.rs",
        "            self.notes.undo_to(notes);",
        "            let _ = notes;",
    ),
    bug(
        "tells the last number of a group and not the greatest",
        "write/waking.rs",
        "            *greatest = number.max(*greatest);",
        "            *greatest = number;",
    ),
    bug(
        "applies a batch without its number",
        "tables/rocks.rs",
        "        batch.put(\n            APPLIED_KEY,",
        "        let _ = (\n            APPLIED_KEY,",
    ),
    bug(
        "forgets pending rows one transaction early",
        "write/writer.rs",
        "            if *lsn > applied {",
        "            if *lsn > applied + 1 {",
    ),
    bug(
        "keeps the decoded rows of a transaction that was refused",
        "write/tx.rs",
        "                    Some((key, None)) => drop(self.buffer.remove(&key)),",
        "                    Some((_, None)) => {}",
    ),
    bug(
        "lets time go back",
        "write/writer.rs",
        "        let now = clock.max(self.last_time);",
        "        let now = clock;",
    ),
    bug(
        "gives identifiers out again after a restart",
        "open/start.rs",
        "id_tick: id_tick.max(applied.id_tick) },",
        "id_tick: 0 },",
    ),
    bug(
        "accepts frames whose checksum is wrong",
        "log/format.rs",
        "frame.ends_with(&FRAME_END) && checksum_of(frame) == header.checksum",
        "frame.ends_with(&FRAME_END)",
    ),
    bug(
        "accepts frames of another history",
        "log/recovery.rs",
        "            if header.first_lsn != self.position.last_lsn + 1 || header.previous_checksum != self.position.checksum {",
        "            if header.first_lsn != self.position.last_lsn + 1 {",
    ),
    bug(
        "takes every bad tail for a torn one",
        "log/recovery.rs",
        "        Ok(read_frame(file, name, at, length)?.is_some_and(|(header, _)| header.synced_lsn >= expected))",
        "        Ok(read_frame(file, name, at, length)?.is_some_and(|(header, _)| header.synced_lsn >= expected) && false)",
    ),
    bug(
        "does not write accepted frames again",
        "log/writer.rs",
        "            file.write_at(offset, &frame)?;\n            offset += header.stride();",
        "            offset += header.stride();",
    ),
    bug(
        "names a segment before it is on disk",
        "log/writer.rs",
        "    file.sync_data()?;\n    disk.rename(MAKING_FILE, &segment_name(number))?;",
        "    disk.rename(MAKING_FILE, &segment_name(number))?;",
    ),
    bug(
        "names a segment without syncing the name",
        "log/writer.rs",
        "    disk.rename(MAKING_FILE, &segment_name(number))?;\n    disk.sync_directory()",
        "    disk.rename(MAKING_FILE, &segment_name(number))?;\n    let _ = file;\n    Ok(())",
    ),
    bug(
        "removes segments that the tables have not flushed",
        "write/housekeeping.rs",
        "        let needless = house.flushed.min(house.keep_above);",
        "        let needless = house.keep_above;",
    ),
    bug(
        "removes segments that a checkpoint needs",
        "write/housekeeping.rs",
        "        let needless = house.flushed.min(house.keep_above);",
        "        let needless = house.flushed;",
    ),
    bug(
        "takes a log that is gone for a new directory",
        "open/opening.rs",
        "    if is_complete && !is_backup(data) {",
        "    if is_complete && is_backup(data) {",
    ),
    bug(
        "trusts the tables of a copy",
        "open/opening.rs",
        "    if trust == Trust::Copy {\n        // What",
        "    if trust == Trust::Copy && !live.exists() {\n        // What",
    ),
    bug(
        "never notices that it is a copy",
        "directory/identity.rs",
        "            Ok(Some(found)) if found == handle => told += 1,",
        "            Ok(Some(found)) if found.len() + handle.len() > 1 => told += 1,",
    ),
    bug(
        "believes a copied watermark",
        "log/recovery.rs",
        "        Trust::Copy => 0,\n    };\n    // What was acknowledged",
        "        Trust::Copy => read_watermark(disk, directory_id)?,\n    };\n    // What was acknowledged",
    ),
    bug(
        "keeps a copied watermark",
        "log/writer.rs",
        "            writer.watermark.sync_data()?;\n            writer.disk.sync_directory()?;",
        "",
    ),
    bug(
        "keeps segments that an opened copy has outrun",
        "open/start.rs",
        "    remove_durably(disk.as_ref(), stale.iter().map(|number| segment_name(*number)))?;",
        "    let _ = &stale;",
    ),
    bug(
        "takes damage in a copied log for the copier's gap",
        "log/recovery.rs",
        "        if !is_missed && !is_torn {",
        "        if !is_missed && !is_torn && length == 0 {",
    ),
    bug(
        "takes the copier's gap for damage",
        "log/format.rs",
        "    bytes.get(FRAME_HEADER_BYTES - 1).is_none_or(|last| *last == 0)",
        "    bytes.is_empty()",
    ),
    bug(
        "links a checkpoint without looking at it",
        "copies/checkpoint.rs",
        "    manifest.check(path, progress)?;\n    Ok(manifest)",
        "    let _ = progress;\n    Ok(manifest)",
    ),
    bug(
        "lets checkpoints go while copies need them",
        "copies/checkpoint.rs",
        "            let is_over = age >= self.rules.window;",
        "            let is_over = age >= self.rules.window / 40;",
    ),
    bug(
        "accepts a log segment that was cut off",
        "log/recovery.rs",
        "        if length < segment.header.file_bytes {",
        "        if length == 0 {",
    ),
    bug(
        "restores a backup without looking at it",
        "copies/backup.rs",
        "        manifest.check(source, &mut step).map_err(damaged)?;",
        "        let _ = (&mut step, &damaged);",
    ),
    bug(
        "does not read the tables when it verifies",
        "copies/verify.rs",
        "        for family in overlay.families() {\n            self.check_family(&overlay, family, progress);\n        }",
        "        let _ = progress;",
    ),
    bug(
        "writes below the reserve",
        "write/space.rs",
        "            Room::Low => purpose == Purpose::Freeing,",
        "            Room::Low => true,",
    ),
    bug(
        "believes FORMAT rather than the rows",
        "open/sequence.rs",
        "rows_version(directory.format.made);",
        "rows_version(directory.format.version);",
    ),
    bug(
        "salvages rows that a later damage took back",
        "view/merge.rs",
        "        Some(None) => Ok(false),",
        "        Some(None) => older(visit),",
    ),
    bug(
        "walks over rows that a newer layer has deleted",
        "view/merge.rs",
        "            Some((_, None)) => true,",
        "            Some((_, None)) => visit(key, value),",
    ),
];
