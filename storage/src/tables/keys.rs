//! Keys as bytes whose order is the order of the values.
//!
//! Integers are big-endian (signed ones with the sign bit flipped), text and byte strings are escaped and
//! ended (`00` becomes `00 FF`, the end is `00 00`) so that a shorter string sorts before its extensions and
//! nothing that follows in a tuple can disturb that; tuples are their parts one after another.

use uuid::Uuid;

use crate::error::Failure;
use crate::time::Timestamp;

/// A value that can stand in a table's key.
pub trait Key: Sized {
    /// Appends the bytes of this key.
    fn encode(&self, out: &mut Vec<u8>);
    /// Reads one key from the front of `input` and moves it on.
    ///
    /// # Errors
    /// [`Failure::Damaged`] if the bytes are no key of this type.
    fn decode(input: &mut &[u8]) -> Result<Self, Failure>;
}

/// The first parts of a tuple key `K`: what a prefix scan starts from.
pub trait KeyPrefix<K> {
    /// Appends the bytes of this prefix.
    fn encode_prefix(&self, out: &mut Vec<u8>);
}

/// Decodes a stored key behind its table tag.
pub(crate) fn decode_key<K: Key>(stored: &[u8]) -> Result<K, Failure> {
    let mut rest = stored.get(2..).unwrap_or_default();
    let key = K::decode(&mut rest)?;
    if rest.is_empty() { Ok(key) } else { Err(Failure::Damaged("a key has bytes left over".to_owned())) }
}

fn malformed() -> Failure {
    Failure::Damaged("a key is shorter than its type or malformed".to_owned())
}

fn take<'a>(input: &mut &'a [u8], len: usize) -> Result<&'a [u8], Failure> {
    let (head, rest) = input.split_at_checked(len).ok_or_else(malformed)?;
    *input = rest;
    Ok(head)
}

fn take_array<const N: usize>(input: &mut &[u8]) -> Result<[u8; N], Failure> {
    take(input, N)?.try_into().map_err(|_| malformed())
}

macro_rules! unsigned_key {
    ($($int:ty),*) => {$(
        impl Key for $int {
            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }
            fn decode(input: &mut &[u8]) -> Result<Self, Failure> {
                Ok(<$int>::from_be_bytes(take_array(input)?))
            }
        }
    )*};
}
unsigned_key!(u8, u16, u32, u64, u128);

impl Key for i64 {
    fn encode(&self, out: &mut Vec<u8>) {
        (self.cast_unsigned() ^ (1 << 63)).encode(out);
    }
    fn decode(input: &mut &[u8]) -> Result<Self, Failure> {
        Ok((u64::decode(input)? ^ (1 << 63)).cast_signed())
    }
}

impl Key for bool {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn decode(input: &mut &[u8]) -> Result<Self, Failure> {
        match u8::decode(input)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(malformed()),
        }
    }
}

impl Key for Timestamp {
    fn encode(&self, out: &mut Vec<u8>) {
        self.as_micros().encode(out);
    }
    fn decode(input: &mut &[u8]) -> Result<Self, Failure> {
        i64::decode(input).map(Timestamp::from_micros)
    }
}

impl Key for Uuid {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }
    fn decode(input: &mut &[u8]) -> Result<Self, Failure> {
        Ok(Uuid::from_bytes(take_array(input)?))
    }
}

impl Key for () {
    fn encode(&self, _out: &mut Vec<u8>) {}
    fn decode(_input: &mut &[u8]) -> Result<Self, Failure> {
        Ok(())
    }
}

impl Key for Vec<u8> {
    fn encode(&self, out: &mut Vec<u8>) {
        for &byte in self {
            out.push(byte);
            if byte == 0 {
                out.push(0xFF);
            }
        }
        out.extend_from_slice(&[0, 0]);
    }
    fn decode(input: &mut &[u8]) -> Result<Self, Failure> {
        let mut bytes = Vec::new();
        loop {
            match u8::decode(input)? {
                0 => match u8::decode(input)? {
                    0 => return Ok(bytes),
                    0xFF => bytes.push(0),
                    _ => return Err(malformed()),
                },
                byte => bytes.push(byte),
            }
        }
    }
}

impl Key for String {
    fn encode(&self, out: &mut Vec<u8>) {
        for &byte in self.as_bytes() {
            out.push(byte);
            if byte == 0 {
                out.push(0xFF);
            }
        }
        out.extend_from_slice(&[0, 0]);
    }
    fn decode(input: &mut &[u8]) -> Result<Self, Failure> {
        String::from_utf8(Vec::<u8>::decode(input)?).map_err(|_| malformed())
    }
}

/// A key part that sorts the other way round (newest first in an ascending scan).
/// Only for parts of fixed length: numbers, instants, identifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reverse<T>(pub T);

impl<T: Key> Key for Reverse<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.0.encode(out);
        for byte in out.iter_mut().skip(start) {
            *byte = !*byte;
        }
    }
    fn decode(input: &mut &[u8]) -> Result<Self, Failure> {
        let flipped: Vec<u8> = input.iter().take(16).map(|byte| !byte).collect();
        let mut rest = flipped.as_slice();
        let value = T::decode(&mut rest)?;
        let used = flipped.len() - rest.len();
        take(input, used)?;
        Ok(Reverse(value))
    }
}

macro_rules! tuple_key {
    ($($part:ident $index:tt),+) => {
        impl<$($part: Key),+> Key for ($($part,)+) {
            fn encode(&self, out: &mut Vec<u8>) {
                $(self.$index.encode(out);)+
            }
            fn decode(input: &mut &[u8]) -> Result<Self, Failure> {
                Ok(($($part::decode(input)?,)+))
            }
        }
    };
}
tuple_key!(A 0);
tuple_key!(A 0, B 1);
tuple_key!(A 0, B 1, C 2);
tuple_key!(A 0, B 1, C 2, D 3);
tuple_key!(A 0, B 1, C 2, D 3, E 4);
tuple_key!(A 0, B 1, C 2, D 3, E 4, F 5);

macro_rules! tuple_prefix {
    ($($part:ident $index:tt),+; $($rest:ident),+) => {
        impl<$($part: Key,)+ $($rest: Key),+> KeyPrefix<($($part,)+ $($rest,)+)> for ($($part,)+) {
            fn encode_prefix(&self, out: &mut Vec<u8>) {
                $(self.$index.encode(out);)+
            }
        }
    };
}
tuple_prefix!(A 0; B);
tuple_prefix!(A 0; B, C);
tuple_prefix!(A 0; B, C, D);
tuple_prefix!(A 0; B, C, D, E);
tuple_prefix!(A 0; B, C, D, E, F);
tuple_prefix!(A 0, B 1; C);
tuple_prefix!(A 0, B 1; C, D);
tuple_prefix!(A 0, B 1; C, D, E);
tuple_prefix!(A 0, B 1; C, D, E, F);
tuple_prefix!(A 0, B 1, C 2; D);
tuple_prefix!(A 0, B 1, C 2; D, E);
tuple_prefix!(A 0, B 1, C 2; D, E, F);
tuple_prefix!(A 0, B 1, C 2, D 3; E);
tuple_prefix!(A 0, B 1, C 2, D 3; E, F);
tuple_prefix!(A 0, B 1, C 2, D 3, E 4; F);

/// Declares an identifier type of its own around a key type, so that two kinds of id cannot be exchanged:
/// `key_newtype!(/// An account. pub AccountId(Uuid));`
#[macro_export]
macro_rules! key_newtype {
    ($(#[$meta:meta])* $vis:vis $name:ident(Uuid)) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name(pub $crate::Uuid);

        impl $crate::Key for $name {
            fn encode(&self, out: &mut Vec<u8>) {
                $crate::Key::encode(&self.0, out);
            }
            fn decode(input: &mut &[u8]) -> Result<Self, $crate::Failure> {
                <$crate::Uuid as $crate::Key>::decode(input).map($name)
            }
        }

        impl $crate::bincode::Encode for $name {
            fn encode<E: $crate::bincode::enc::Encoder>(
                &self,
                encoder: &mut E,
            ) -> Result<(), $crate::bincode::error::EncodeError> {
                $crate::bincode::Encode::encode(self.0.as_bytes(), encoder)
            }
        }

        impl<C> $crate::bincode::Decode<C> for $name {
            fn decode<D: $crate::bincode::de::Decoder<Context = C>>(
                decoder: &mut D,
            ) -> Result<Self, $crate::bincode::error::DecodeError> {
                let bytes: [u8; 16] = $crate::bincode::Decode::decode(decoder)?;
                Ok($name($crate::Uuid::from_bytes(bytes)))
            }
        }

        $crate::bincode::impl_borrow_decode!($name);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

/// The smallest byte string above every string that starts with `prefix`; `None` if there is none.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut upper = prefix.to_vec();
    while let Some(last) = upper.pop() {
        if let Some(next) = last.checked_add(1) {
            upper.push(next);
            return Some(upper);
        }
    }
    None
}
