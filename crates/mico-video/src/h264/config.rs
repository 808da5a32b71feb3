//! The decoder configuration of an H.264 track (the `avcC` box).

use crate::error::Problem;

/// The parameters that a decoder needs before the first picture.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AvcConfig {
    /// The length in bytes of the size field before every NAL unit: 1, 2 or 4.
    pub(crate) length_bytes: usize,
    /// The sequence parameter sets (SPS), each a whole NAL unit.
    pub(crate) sequence_sets: Vec<Vec<u8>>,
    /// The picture parameter sets (PPS), each a whole NAL unit.
    pub(crate) picture_sets: Vec<Vec<u8>>,
}

impl AvcConfig {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Problem> {
        let early_end = || Problem::mp4("the avcC box ends too early");
        let Some((&[version, _, _, _, lengths, sequences], mut rest)) = bytes.split_first_chunk()
        else {
            return Err(early_end());
        };
        if version != 1 {
            return Err(Problem::mp4(format!("the avcC box has the unknown version {version}")));
        }
        let length_bytes = usize::from(lengths & 3) + 1;
        if length_bytes == 3 {
            return Err(Problem::mp4("the avcC box says lengths of 3 bytes"));
        }
        let sequence_sets = sets(&mut rest, sequences & 31).ok_or_else(early_end)?;
        let (&pictures, mut rest) = rest.split_first().ok_or_else(early_end)?;
        let picture_sets = sets(&mut rest, pictures).ok_or_else(early_end)?;
        Ok(Self { length_bytes, sequence_sets, picture_sets })
    }
}

fn sets(rest: &mut &[u8], count: u8) -> Option<Vec<Vec<u8>>> {
    (0..count)
        .map(|_| {
            let (&length, tail) = rest.split_first_chunk::<2>()?;
            let (set, tail) = tail.split_at_checked(u16::from_be_bytes(length).into())?;
            *rest = tail;
            Some(set.to_vec())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: [u8; 13] = [1, 100, 0, 10, 0xff, 0xe1, 0, 2, 0x67, 7, 1, 0, 0];

    #[test]
    fn sets_are_found() {
        let config = AvcConfig::read(&WHOLE).unwrap();
        assert_eq!(config.length_bytes, 4);
        assert_eq!(config.sequence_sets, [[0x67, 7]]);
        assert_eq!(config.picture_sets, [Vec::<u8>::new()]);
    }

    #[test]
    fn a_cut_box_is_refused() {
        for length in 0..WHOLE.len() {
            assert!(AvcConfig::read(&WHOLE[..length]).is_err(), "{length}");
        }
    }
}
