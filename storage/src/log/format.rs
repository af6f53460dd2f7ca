//! The log's bytes: segment header, frame header, operations. All integers are little-endian.
//!
//! A frame is one committed group of transactions; it begins at a multiple of [`BLOCK_BYTES`], so that no
//! sector holding synced bytes is ever written again.

use crate::time::{Lsn, Timestamp};

/// Frames begin at multiples of this.
pub(crate) const BLOCK_BYTES: usize = 512;
/// A segment's first block: the header; frames begin behind it.
pub(crate) const SEGMENT_HEADER_BYTES: usize = BLOCK_BYTES;
/// The frame header's length: one line of the processor's cache, so that a copier sees it whole or not at all.
pub(crate) const FRAME_HEADER_BYTES: usize = 64;
/// Where in the frame header its own checksum stands.
const HEADER_CHECKSUM_AT: usize = 60;

const SEGMENT_MAGIC: [u8; 8] = *b"QNTLOG01";
const FRAME_MAGIC: [u8; 4] = *b"QFRM";
/// What a frame ends with: its last byte is not zero, so that a frame whose last page a copier missed can be told from a damaged one.
const FRAME_END: [u8; 4] = *b"QEND";
/// How the kernel hands pages to a reader while they are written to.
const PAGE_BYTES: u64 = 4096;
/// What a processor copies at once.
const LINE_BYTES: usize = 64;
const WATERMARK_MAGIC: [u8; 8] = *b"QNTWMK01";

const OP_PUT: u8 = 1;
const OP_DELETE: u8 = 2;

/// What stands at the head of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    /// The segment's number, which is also its name.
    pub(crate) number: u64,
    /// The first transaction it holds, or will hold.
    pub(crate) first_lsn: Lsn,
    /// The checksum of the frame before its first one.
    pub(crate) previous_checksum: u32,
    /// The data directory it belongs to.
    pub(crate) directory_id: [u8; 16],
    /// The whole file's length in bytes: a shorter one has been cut off.
    pub(crate) file_bytes: u64,
}

/// What stands at the head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    /// Bytes of operations behind the header.
    pub(crate) payload_bytes: u32,
    /// CRC-32C over the header behind this field and the payload.
    pub(crate) checksum: u32,
    /// The checksum of the frame before it.
    pub(crate) previous_checksum: u32,
    /// Transactions in the frame.
    pub(crate) transactions: u32,
    /// The first of them.
    pub(crate) first_lsn: Lsn,
    /// The last transaction known to be synced when the frame was written.
    pub(crate) synced_lsn: Lsn,
    /// The writer's time at the last of them.
    pub(crate) time: Timestamp,
    /// How far identifiers have been given out then ([`crate::write::ids::IdMint::tick`]).
    pub(crate) id_tick: u64,
}

impl FrameHeader {
    /// The last transaction in the frame.
    pub(crate) fn last_lsn(&self) -> Lsn {
        self.first_lsn + u64::from(self.transactions) - 1
    }

    /// The frame's length in bytes, without padding.
    pub(crate) fn length(&self) -> usize {
        FRAME_HEADER_BYTES + self.payload_bytes as usize + FRAME_END.len()
    }

    /// Bytes from the frame's begin to the next one's.
    pub(crate) fn stride(&self) -> u64 {
        padded(self.length()) as u64
    }
}

/// `length` rounded up to whole blocks.
pub(crate) fn padded(length: usize) -> usize {
    length.next_multiple_of(BLOCK_BYTES)
}

/// Reads little-endian fields one after another; past the end it yields zeros and remembers.
struct FieldReader<'a> {
    rest: &'a [u8],
    short: bool,
}

impl<'a> FieldReader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        FieldReader { rest: bytes, short: false }
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        match self.rest.split_first_chunk::<N>() {
            Some((head, rest)) => {
                self.rest = rest;
                *head
            }
            None => {
                self.short = true;
                [0; N]
            }
        }
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }
}

/// The header block of a segment.
pub(crate) fn encode_segment_header(header: &SegmentHeader) -> Vec<u8> {
    let mut block = Vec::with_capacity(SEGMENT_HEADER_BYTES);
    block.extend_from_slice(&SEGMENT_MAGIC);
    block.extend_from_slice(&header.number.to_le_bytes());
    block.extend_from_slice(&header.first_lsn.to_le_bytes());
    block.extend_from_slice(&header.previous_checksum.to_le_bytes());
    block.extend_from_slice(&header.directory_id);
    block.extend_from_slice(&header.file_bytes.to_le_bytes());
    let checksum = crc32c::crc32c(&block);
    block.extend_from_slice(&checksum.to_le_bytes());
    block.resize(SEGMENT_HEADER_BYTES, 0);
    block
}

/// Reads a segment's header block; `None` if it is not one.
pub(crate) fn decode_segment_header(block: &[u8]) -> Option<SegmentHeader> {
    let mut fields = FieldReader::new(block);
    let magic: [u8; 8] = fields.array();
    let number = fields.u64();
    let first_lsn = fields.u64();
    let previous_checksum = fields.u32();
    let directory_id = fields.array();
    let file_bytes = fields.u64();
    let covered = block.len() - fields.rest.len();
    let checksum = fields.u32();
    // Transactions are counted from 1.
    if fields.short || first_lsn == 0 || magic != SEGMENT_MAGIC || crc32c::crc32c(block.get(..covered)?) != checksum {
        return None;
    }
    Some(SegmentHeader { number, first_lsn, previous_checksum, directory_id, file_bytes })
}

/// Room for the header at the front of a frame that is being filled.
pub(crate) fn begin_frame() -> Vec<u8> {
    let mut frame = Vec::with_capacity(16 * 1024);
    frame.resize(FRAME_HEADER_BYTES, 0);
    frame
}

/// Writes the header into the room left by [`begin_frame`], computes the checksums, ends the frame and pads it to
/// whole blocks.
pub(crate) fn seal_frame(frame: &mut Vec<u8>, header: &mut FrameHeader) {
    header.payload_bytes = u32::try_from(frame.len() - FRAME_HEADER_BYTES).unwrap_or(u32::MAX);
    frame.extend_from_slice(&FRAME_END);
    place(frame, &head_of(header));
    header.checksum = checksum_of(frame);
    let mut head = head_of(header);
    head.extend_from_slice(&header_checksum(&head).to_le_bytes());
    place(frame, &head);
    frame.resize(padded(frame.len()), 0);
}

/// The frame header up to its own checksum.
fn head_of(header: &FrameHeader) -> Vec<u8> {
    let mut head = Vec::with_capacity(FRAME_HEADER_BYTES);
    head.extend_from_slice(&FRAME_MAGIC);
    head.extend_from_slice(&header.payload_bytes.to_le_bytes());
    head.extend_from_slice(&header.checksum.to_le_bytes());
    head.extend_from_slice(&header.previous_checksum.to_le_bytes());
    head.extend_from_slice(&header.transactions.to_le_bytes());
    head.extend_from_slice(&[0; 4]);
    head.extend_from_slice(&header.first_lsn.to_le_bytes());
    head.extend_from_slice(&header.synced_lsn.to_le_bytes());
    head.extend_from_slice(&header.time.as_micros().to_le_bytes());
    head.extend_from_slice(&header.id_tick.to_le_bytes());
    head.extend_from_slice(&[0; 4]);
    head
}

/// The header's own checksum. Its last byte, which is the header's, is never zero: a zero there was never written.
fn header_checksum(head: &[u8]) -> u32 {
    crc32c::crc32c(head) | 0x8000_0000
}

fn place(frame: &mut [u8], head: &[u8]) {
    for (slot, byte) in frame.iter_mut().zip(head) {
        *slot = *byte;
    }
}

/// A frame's checksum covers everything but the two checksums themselves, so a cut or grown frame fails too.
fn checksum_of(frame: &[u8]) -> u32 {
    let parts = [frame.get(..8), frame.get(12..HEADER_CHECKSUM_AT), frame.get(FRAME_HEADER_BYTES..)];
    parts.into_iter().flatten().fold(0, crc32c::crc32c_append)
}

/// Reads the frame header at the front of `bytes`; `None` if there is none. Says nothing about the payload.
pub(crate) fn decode_frame_header(bytes: &[u8]) -> Option<FrameHeader> {
    let head = bytes.get(..HEADER_CHECKSUM_AT)?;
    let mut fields = FieldReader::new(bytes);
    let magic: [u8; 4] = fields.array();
    let payload_bytes = fields.u32();
    let checksum = fields.u32();
    let previous_checksum = fields.u32();
    let transactions = fields.u32();
    let _reserved = fields.u32();
    let first_lsn = fields.u64();
    let synced_lsn = fields.u64();
    let time = Timestamp::from_micros(i64::from_le_bytes(fields.array()));
    let id_tick = fields.u64();
    let _reserved = fields.u32();
    let sound = fields.u32() == header_checksum(head) && !fields.short;
    let plausible =
        magic == FRAME_MAGIC && transactions > 0 && first_lsn.checked_add(u64::from(transactions)).is_some();
    if !sound || !plausible {
        return None;
    }
    Some(FrameHeader { payload_bytes, checksum, previous_checksum, transactions, first_lsn, synced_lsn, time, id_tick })
}

/// Whether `frame`, cut to its length, is what its header's checksum says.
pub(crate) fn frame_is_sound(header: &FrameHeader, frame: &[u8]) -> bool {
    frame.len() == header.length() && frame.ends_with(&FRAME_END) && checksum_of(frame) == header.checksum
}

/// Whether the bytes where a frame header should be are what a copier finds that came before the writer.
pub(crate) fn header_is_missed(bytes: &[u8]) -> bool {
    bytes.get(FRAME_HEADER_BYTES - 1).is_none_or(|last| *last == 0)
}

/// Whether an unsound frame behind a sound header is one that a copier read while it was written: in one of the pages
/// it lies in, the last bytes were still missing. `offset` is where in the file it begins.
pub(crate) fn frame_is_missed_in_part(offset: u64, frame: &[u8]) -> bool {
    let mut rest = frame;
    let mut at = offset;
    while !rest.is_empty() {
        let to_border = usize::try_from(PAGE_BYTES - at % PAGE_BYTES).unwrap_or(rest.len());
        let (page, behind) = rest.split_at(to_border.min(rest.len()));
        let last = if behind.is_empty() { 1 } else { LINE_BYTES };
        if page.iter().rev().take(last).all(|byte| *byte == 0) {
            return true;
        }
        at += page.len() as u64;
        rest = behind;
    }
    false
}

/// The operations of a frame that [`frame_is_sound`] or has been sealed.
pub(crate) fn payload<'a>(header: &FrameHeader, frame: &'a [u8]) -> &'a [u8] {
    frame.get(FRAME_HEADER_BYTES..FRAME_HEADER_BYTES + header.payload_bytes as usize).unwrap_or_default()
}

/// One row's change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op<'a> {
    /// The row is now this.
    Put {
        /// Table tag and key.
        key: &'a [u8],
        /// Version byte and body.
        value: &'a [u8],
    },
    /// The row is gone.
    Delete {
        /// Table tag and key.
        key: &'a [u8],
    },
}

/// Appends an operation to a payload.
pub(crate) fn encode_op(out: &mut Vec<u8>, op: Op<'_>) {
    let (kind, key, value) = match op {
        Op::Put { key, value } => (OP_PUT, key, Some(value)),
        Op::Delete { key } => (OP_DELETE, key, None),
    };
    out.push(kind);
    encode_bytes(out, key);
    if let Some(value) = value {
        encode_bytes(out, value);
    }
}

fn encode_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn decode_bytes<'a>(input: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (len, rest) = input.split_first_chunk::<4>()?;
    let (bytes, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
    *input = rest;
    Some(bytes)
}

/// Walks a payload. `None` as an item means that the payload is malformed (which its checksum makes a bug).
pub(crate) fn ops(mut payload: &[u8]) -> impl Iterator<Item = Option<Op<'_>>> {
    std::iter::from_fn(move || {
        let (kind, rest) = payload.split_first()?;
        payload = rest;
        let op = match *kind {
            OP_PUT => decode_bytes(&mut payload)
                .and_then(|key| decode_bytes(&mut payload).map(|value| Op::Put { key, value })),
            OP_DELETE => decode_bytes(&mut payload).map(|key| Op::Delete { key }),
            _ => None,
        };
        if op.is_none() {
            payload = &[];
        }
        Some(op)
    })
}

/// The watermark file's content.
pub(crate) fn encode_watermark(lsn: Lsn, directory_id: [u8; 16]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(36);
    bytes.extend_from_slice(&WATERMARK_MAGIC);
    bytes.extend_from_slice(&lsn.to_le_bytes());
    bytes.extend_from_slice(&directory_id);
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Reads the watermark file; `None` if it is unreadable or another directory's, in which case it counts for nothing.
pub(crate) fn decode_watermark(bytes: &[u8], directory_id: [u8; 16]) -> Option<Lsn> {
    let mut fields = FieldReader::new(bytes);
    let magic: [u8; 8] = fields.array();
    let lsn = fields.u64();
    let id: [u8; 16] = fields.array();
    let covered = bytes.len() - fields.rest.len();
    let checksum = fields.u32();
    let sound = !fields.short && magic == WATERMARK_MAGIC && crc32c::crc32c(bytes.get(..covered)?) == checksum;
    (sound && id == directory_id).then_some(lsn)
}
