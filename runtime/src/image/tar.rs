//! Reads tar archives: ustar, GNU long names and pax, as image tools write them. Everything in them is hostile; what is
//! not understood is refused, and nothing is taken into memory whose size was not checked. What tools leave out at an
//! archive's end is not missed, as other tools do not miss it: the last file's padding and the blocks of zeros.

use std::io::{self, Read};

use super::{ImageError, fault};

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    HardLink,
    SymbolicLink,
    CharacterDevice,
    BlockDevice,
    Directory,
    Fifo,
}

/// The head of an entry. Names are bytes: nothing says that they are UTF-8.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub path: Vec<u8>,
    pub kind: Kind,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    /// Seconds since 1970.
    pub modified_seconds: i64,
    /// Of the content that follows, in bytes.
    pub size: u64,
    /// What a link points to.
    pub link: Vec<u8>,
    /// Extended attributes, as pax carries them.
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

const BLOCK: usize = 512;
/// No file is longer; offsets are added up without a second look.
const SIZE_MAX: u64 = 1 << 48;
/// The longest pax header or GNU name that is taken into memory.
const HEADER_BYTES_MAX: u64 = 1 << 20;
/// Headers that may stand before one entry.
const HEADERS_MAX: u32 = 16;

/// An archive that is read from front to end.
pub(crate) struct Archive<R> {
    inner: R,
    /// What is left of the content of the current entry.
    content: u64,
    /// Zeros after it, up to the next block.
    padding: u64,
    /// Bytes read so far: the offset of what comes next.
    position: u64,
}

/// What pax and GNU headers say about the entry that follows.
#[derive(Default)]
struct Overrides {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    uid: Option<u32>,
    gid: Option<u32>,
    modified_seconds: Option<i64>,
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

fn bad(reason: &str) -> ImageError {
    ImageError::Bad(format!("the archive is damaged: {reason}"))
}

impl<R: Read> Archive<R> {
    pub fn new(inner: R) -> Archive<R> {
        Archive { inner, content: 0, padding: 0, position: 0 }
    }

    /// Where the content of the entry just returned begins, from the archive's start.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Goes to the next entry, passing over what was not read of the last one. None at the end.
    pub fn next(&mut self) -> Result<Option<Entry>, ImageError> {
        let mut overrides = Overrides::default();
        for _ in 0..HEADERS_MAX {
            self.skip_content()?;
            let Some(header) = self.header()? else { return Ok(None) };
            let field = |from: usize, to: usize| header.get(from..to).unwrap_or_default();
            let size = number(field(124, 136))?;
            self.content = size;
            self.padding = size.wrapping_neg() % BLOCK as u64;
            let kind = match header.get(156).copied().unwrap_or_default() {
                b'0' | 0 | b'7' => Kind::File,
                b'1' => Kind::HardLink,
                b'2' => Kind::SymbolicLink,
                b'3' => Kind::CharacterDevice,
                b'4' => Kind::BlockDevice,
                b'5' => Kind::Directory,
                b'6' => Kind::Fifo,
                b'x' => {
                    pax(&self.header_content()?, &mut overrides)?;
                    continue;
                }
                // What holds for the whole archive says nothing that an image is made of.
                b'g' => {
                    self.header_content()?;
                    continue;
                }
                b'L' => {
                    overrides.path = Some(until_nul(&self.header_content()?).to_vec());
                    continue;
                }
                b'K' => {
                    overrides.link = Some(until_nul(&self.header_content()?).to_vec());
                    continue;
                }
                b'S' => return Err(ImageError::Bad("sparse files are not supported".into())),
                other => return Err(bad(&format!("an entry of the unknown kind {other:#04x}"))),
            };
            return self.entry(kind, &header, overrides).map(Some);
        }
        Err(bad("too many headers before one entry"))
    }

    /// The entry of a header, with what came before it. Its content comes next.
    fn entry(&mut self, kind: Kind, header: &[u8; BLOCK], overrides: Overrides) -> Result<Entry, ImageError> {
        let field = |from: usize, to: usize| header.get(from..to).unwrap_or_default();
        if let Some(size) = overrides.size {
            self.content = size;
            self.padding = size.wrapping_neg() % BLOCK as u64;
        }
        if self.content > SIZE_MAX {
            return Err(bad("a size out of range"));
        }
        // Links and directories have no content, whatever their size says, except for files and hard links of pax.
        if !matches!(kind, Kind::File) && self.content != 0 {
            return Err(bad("content where there can be none"));
        }
        let path = overrides.path.unwrap_or_else(|| ustar_path(header));
        let link = overrides.link.unwrap_or_else(|| until_nul(field(157, 257)).to_vec());
        Ok(Entry {
            path,
            kind,
            mode: id(field(100, 108))?,
            uid: overrides.uid.map_or_else(|| id(field(108, 116)), Ok)?,
            gid: overrides.gid.map_or_else(|| id(field(116, 124)), Ok)?,
            modified_seconds: match overrides.modified_seconds {
                Some(seconds) => seconds,
                None => i64::try_from(number(field(136, 148))?).unwrap_or(0),
            },
            size: self.content,
            link,
            attributes: overrides.attributes,
        })
    }

    /// One header block. None at the end: a block of zeros, the beginning of one, or no block at all.
    fn header(&mut self) -> Result<Option<[u8; BLOCK]>, ImageError> {
        let mut header = [0; BLOCK];
        let mut filled = 0;
        while filled < BLOCK {
            let count = self.inner.read(header.get_mut(filled..).unwrap_or_default())?;
            if count == 0 {
                let is_end = header.iter().all(|byte| *byte == 0);
                return if is_end { Ok(None) } else { Err(bad("it ends within a header")) };
            }
            filled += count;
        }
        self.position += BLOCK as u64;
        if header.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let said = number(header.get(148..156).unwrap_or_default())?;
        let outside = |index: &usize| !(148..156).contains(index);
        let sum: u64 = header.iter().enumerate().filter(|(index, _)| outside(index)).map(|(_, b)| u64::from(*b)).sum();
        if said != sum + 8 * u64::from(b' ') {
            return Err(bad("a header's checksum is wrong"));
        }
        Ok(Some(header))
    }

    fn header_content(&mut self) -> Result<Vec<u8>, ImageError> {
        if self.content > HEADER_BYTES_MAX {
            return Err(bad("a name or extended header over 1 MiB"));
        }
        let expected = self.content;
        let mut content = Vec::new();
        self.by_ref().read_to_end(&mut content)?;
        if content.len() as u64 != expected {
            return Err(bad("it ends within a header"));
        }
        Ok(content)
    }

    fn by_ref(&mut self) -> &mut Archive<R> {
        self
    }

    fn skip_content(&mut self) -> Result<(), ImageError> {
        let mut skip = |bytes| io::copy(&mut (&mut self.inner).take(bytes), &mut io::sink());
        if skip(self.content)? != self.content {
            return Err(bad("it ends within an entry"));
        }
        // Some writers stop with the last byte of the last file; then nothing else comes.
        self.position += self.content + skip(self.padding)?;
        (self.content, self.padding) = (0, 0);
        Ok(())
    }
}

/// Reads the content of the current entry. An archive that ends within it is an error, not a short file.
impl<R: Read> Read for Archive<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.content == 0 || buffer.is_empty() {
            return Ok(0);
        }
        let most = usize::try_from(self.content).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.inner.read(buffer.get_mut(..most).unwrap_or_default())?;
        if count == 0 {
            return Err(fault("the archive is damaged: it ends within an entry"));
        }
        self.content -= count as u64;
        self.position += count as u64;
        Ok(count)
    }
}

fn until_nul(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

fn ustar_path(header: &[u8; BLOCK]) -> Vec<u8> {
    let field = |from: usize, to: usize| until_nul(header.get(from..to).unwrap_or_default());
    let name = field(0, 100);
    // GNU tar uses the room of the prefix for something else.
    let prefix = if field(257, 263) == b"ustar" { field(345, 500) } else { b"" };
    if prefix.is_empty() { name.to_vec() } else { [prefix, b"/", name].concat() }
}

/// Octal digits, or with the highest bit set a big-endian number.
fn number(field: &[u8]) -> Result<u64, ImageError> {
    if field.first().is_some_and(|byte| byte & 0x80 != 0) {
        let mut value: u64 = u64::from(field.first().copied().unwrap_or_default() & 0x7f);
        for byte in field.iter().skip(1) {
            if value >> 55 != 0 {
                return Err(bad("a number out of range"));
            }
            value = value << 8 | u64::from(*byte);
        }
        return Ok(value);
    }
    let digits = until_nul(field).trim_ascii();
    let mut value: u64 = 0;
    for digit in digits {
        if !(b'0'..=b'7').contains(digit) {
            return Err(bad("a number that is none"));
        }
        value = value.checked_mul(8).ok_or_else(|| bad("a number out of range"))? + u64::from(digit - b'0');
    }
    Ok(value)
}

fn id(field: &[u8]) -> Result<u32, ImageError> {
    u32::try_from(number(field)?).map_err(|_| bad("an id or mode out of range"))
}

/// Records of `length key=value\n`.
fn pax(mut content: &[u8], overrides: &mut Overrides) -> Result<(), ImageError> {
    while !content.is_empty() {
        let space = content.iter().position(|byte| *byte == b' ').ok_or_else(|| bad("a pax record"))?;
        let (digits, _) = content.split_at(space);
        let length: usize = decimal(digits)?;
        let record = content.get(space + 1..length).ok_or_else(|| bad("a pax record's length"))?;
        content = content.get(length..).unwrap_or_default();
        let record = record.strip_suffix(b"\n").ok_or_else(|| bad("a pax record's end"))?;
        let equals = record.iter().position(|byte| *byte == b'=').ok_or_else(|| bad("a pax record"))?;
        let (key, value) = (record.get(..equals).unwrap_or_default(), record.get(equals + 1..).unwrap_or_default());
        match key {
            b"path" => overrides.path = Some(value.to_vec()),
            b"linkpath" => overrides.link = Some(value.to_vec()),
            b"size" => overrides.size = Some(decimal(value)?),
            b"uid" => overrides.uid = Some(decimal(value)?),
            b"gid" => overrides.gid = Some(decimal(value)?),
            b"mtime" => {
                let whole = value.split(|byte| *byte == b'.').next().unwrap_or_default();
                overrides.modified_seconds = Some(decimal(whole).unwrap_or(0));
            }
            _ if key.starts_with(b"GNU.sparse.") => {
                return Err(ImageError::Bad("sparse files are not supported".into()));
            }
            _ => {
                if let Some(name) = key.strip_prefix(b"SCHILY.xattr.") {
                    overrides.attributes.push((name.to_vec(), value.to_vec()));
                }
            }
        }
    }
    Ok(())
}

fn decimal<N: std::str::FromStr>(digits: &[u8]) -> Result<N, ImageError> {
    std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).ok_or_else(|| bad("a pax number"))
}
