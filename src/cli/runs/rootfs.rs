//! An image made of one root file system: what `docker export` writes, or `tar -C DIR -c .`, becomes an image of a single
//! layer, as a docker-archive that the runner imports.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::cli::CliError;

/// A tar's block, in bytes.
const BLOCK: u64 = 512;
/// What the size field of a tar's header holds: eleven octal digits.
const FILE_BYTES_MAX: u64 = 1 << 33;
/// Bytes read at once.
const CHUNK: usize = 1 << 20;

/// The docker-archive of an image whose layer is this tar, in a file that has no name, read from its beginning.
/// `defaults` are the image's own settings (`Entrypoint`, `Cmd`, `Env`, …).
///
/// # Errors
/// What is no plain tar, or too large; a disk that is full.
pub fn image(layer: &mut (impl Read + Seek), defaults: &Value) -> Result<File, CliError> {
    let (size, diff_id) = measure(layer)?;
    let config = json!({
        "architecture": "amd64", "os": "linux", "config": defaults,
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{diff_id}")]},
    });
    let config = config.to_string().into_bytes();
    let config_name = format!("{}.json", HEXLOWER.encode(&Sha256::digest(&config)));
    let manifest = json!([{"Config": config_name, "RepoTags": [], "Layers": ["layer.tar"]}]).to_string();
    let mut file = nameless()?;
    let mut write = || {
        put(&mut file, &config_name, config.len() as u64, &mut config.as_slice())?;
        put(&mut file, "manifest.json", manifest.len() as u64, &mut manifest.as_bytes())?;
        put(&mut file, "layer.tar", size, layer)?;
        file.write_all(&[0; 2 * BLOCK as usize])?;
        file.rewind()
    };
    write().map_err(|error| CliError::failed(format!("a temporary copy: {error}")))?;
    Ok(file)
}

/// The size and the SHA-256 of a tar, which is read from its beginning and left there.
fn measure(layer: &mut (impl Read + Seek)) -> Result<(u64, String), CliError> {
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    let mut size = 0;
    loop {
        let count = layer.read(&mut chunk).map_err(CliError::failed)?;
        let Some(read) = chunk.get(..count).filter(|read| !read.is_empty()) else { break };
        if size == 0 && read.get(257..262) != Some(b"ustar".as_slice()) {
            return Err(CliError::failed("this is no tar of a root file system")
                .hint("make one with `tar -C DIR -cf FILE .`, not compressed"));
        }
        hasher.update(read);
        size += count as u64;
    }
    if size == 0 || size >= FILE_BYTES_MAX {
        return Err(CliError::failed("a root file system has at least a file, and less than 8 GiB"));
    }
    layer.seek(SeekFrom::Start(0)).map_err(CliError::failed)?;
    Ok((size, HEXLOWER.encode(&hasher.finalize())))
}

/// A file that has no name.
fn nameless() -> Result<File, CliError> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let made = rustix::fs::open(std::env::temp_dir(), flags, Mode::from_raw_mode(0o600));
    made.map(File::from).map_err(|error| CliError::failed(format!("a temporary file: {error}")))
}

/// Puts a file that everybody may execute into a tar.
///
/// # Errors
/// Those of reading and writing; content that has another size.
pub fn put(tar: &mut impl Write, name: &str, size: u64, content: &mut impl Read) -> io::Result<()> {
    let size_field = format!("{size:011o}\0");
    let fields: [(usize, &[u8]); 8] = [
        (0, name.as_bytes()),
        (100, b"0000755\0"),
        (108, b"0000000\0"),
        (116, b"0000000\0"),
        (124, size_field.as_bytes()),
        (136, b"14000000000\0"),
        (156, b"0"),
        (257, b"ustar\x0000"),
    ];
    let mut header = vec![0_u8; BLOCK as usize];
    let mut set = |at: usize, bytes: &[u8]| header.iter_mut().skip(at).zip(bytes).for_each(|(to, from)| *to = *from);
    set(148, b"        ");
    fields.iter().for_each(|(at, bytes)| set(*at, bytes));
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    let sum = format!("{sum:06o}\0 ");
    header.iter_mut().skip(148).zip(sum.as_bytes()).for_each(|(to, from)| *to = *from);
    tar.write_all(&header)?;
    if io::copy(&mut content.take(size), tar)? != size {
        return Err(io::Error::other(format!("{name} became shorter")));
    }
    let rest = size.next_multiple_of(BLOCK) - size;
    io::copy(&mut io::repeat(0).take(rest), tar)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn a_root_file_system_becomes_an_image_that_tar_reads() {
        let mut layer = Vec::new();
        put(&mut layer, "bin/tool", 600, &mut vec![7; 600].as_slice()).unwrap();
        layer.extend([0; 1024]);
        let mut archive = image(&mut Cursor::new(&layer), &json!({"Cmd": ["/bin/tool"]})).unwrap();
        let directory = tempfile::tempdir().unwrap();
        io::copy(&mut archive, &mut File::create(directory.path().join("a.tar")).unwrap()).unwrap();
        let tar = std::process::Command::new("tar").args(["-xf", "a.tar"]).current_dir(directory.path()).status();
        assert!(tar.unwrap().success());
        assert_eq!(std::fs::read(directory.path().join("layer.tar")).unwrap(), layer);
        let manifest = std::fs::read(directory.path().join("manifest.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        let config = std::fs::read(directory.path().join(manifest[0]["Config"].as_str().unwrap())).unwrap();
        let config: Value = serde_json::from_slice(&config).unwrap();
        assert_eq!(config["config"]["Cmd"], json!(["/bin/tool"]));
        assert!(config["rootfs"]["diff_ids"][0].as_str().unwrap().starts_with("sha256:"));
    }

    #[test]
    fn what_is_no_tar_is_refused() {
        for content in [&b""[..], b"x", &[0x1f, 0x8b, 8, 0], &[0; 2048]] {
            assert!(image(&mut Cursor::new(content), &json!({})).is_err());
        }
    }
}
