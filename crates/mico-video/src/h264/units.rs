//! Splits a sample into its NAL units.

/// The NAL unit types that are decoded (`nal_unit_type` in the standard).
pub(super) const SLICE: u8 = 1;
pub(super) const INSTANT_REFRESH: u8 = 5;
pub(super) const SEQUENCE_SET: u8 = 7;
pub(super) const PICTURE_SET: u8 = 8;
/// Types of slice data partitions, which only the Extended profile has.
pub(super) const PARTITIONS: [u8; 3] = [2, 3, 4];

/// One NAL unit (network abstraction layer unit), the packet of an H.264 stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unit<'a> {
    /// The type (`nal_unit_type`), such as [`SLICE`].
    pub(super) kind: u8,
    /// Whether other pictures may refer to this one.
    pub(super) is_reference: bool,
    /// The whole unit, including its header byte.
    pub(super) bytes: &'a [u8],
}

impl<'a> Unit<'a> {
    /// Checks a unit; `None` if it is empty. Trailing zeros are dropped, and a start code inside is
    /// an error, since a decoder would see two units where one was checked.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Option<Self>, String> {
        let length = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        let bytes = &bytes[..length];
        let Some(&header) = bytes.first() else { return Ok(None) };
        if bytes.windows(3).any(|three| matches!(three, [0, 0, 0..=2])) {
            return Err("a start code inside a unit".into());
        }
        Ok(Some(Self { kind: header & 31, is_reference: header & 0x60 != 0, bytes }))
    }

    pub(super) fn is_slice(&self) -> bool {
        matches!(self.kind, SLICE | INSTANT_REFRESH)
    }
}

/// Splits a sample into its NAL units, each of which is preceded by its length.
pub(crate) fn units(sample: &[u8], length_bytes: usize) -> Result<Vec<Unit<'_>>, String> {
    let mut units = Vec::new();
    let mut rest = sample;
    while let Some((length, tail)) = rest.split_at_checked(length_bytes) {
        let length = length.iter().fold(0usize, |value, &byte| value << 8 | usize::from(byte));
        let Some((unit, tail)) = tail.split_at_checked(length) else {
            let left = tail.len();
            return Err(format!("a unit of {length} bytes where {left} are left"));
        };
        units.extend(Unit::new(unit)?);
        if tail.is_empty() {
            return Ok(units);
        }
        rest = tail;
    }
    Err(format!("{} bytes too many after its last unit", rest.len()))
}

/// Whether the picture is an IDR picture, so that no later picture refers to an earlier one.
pub(crate) fn has_instant_refresh(units: &[Unit<'_>]) -> bool {
    units.iter().any(|unit| unit.kind == INSTANT_REFRESH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_split() {
        let sample = [0, 0, 0, 2, 0x67, 1, 0, 0, 0, 3, 0x65, 2, 0, 0, 0, 0, 0];
        let found = units(&sample, 4).unwrap();
        assert_eq!(found[0], Unit { kind: SEQUENCE_SET, is_reference: true, bytes: &[0x67, 1] });
        assert_eq!(found[1].bytes, [0x65, 2]);
        assert!(has_instant_refresh(&found));
        let free = units(&[0, 1, 0x01], 2).unwrap();
        assert!(!free[0].is_reference && free[0].is_slice());
    }

    #[test]
    fn lengths_must_fit() {
        assert!(units(&[0, 0, 0, 9, 0x65], 4).unwrap_err().contains("9 bytes where 1 are left"));
        assert!(units(&[0, 1, 0x65, 7], 2).is_err());
        assert!(units(&[], 4).is_err());
    }

    #[test]
    fn a_hidden_unit_is_refused() {
        assert!(units(&[6, 0x61, 0, 0, 1, 0x67, 9], 1).is_err());
        assert!(units(&[6, 0x61, 0, 0, 3, 1, 9], 1).is_ok());
    }
}
