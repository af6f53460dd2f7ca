//! Bytes of files.

/// U+FEFF in UTF-8. Readers pass over one at the start of a file, and exports keep it.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The part of `bytes` from `range`, empty if there is none.
pub(super) fn part<R>(bytes: &[u8], range: R) -> &[u8]
where
    R: std::slice::SliceIndex<[u8], Output = [u8]>,
{
    bytes.get(range).unwrap_or_default()
}
