//! Which images of a turn stand where: one placeholder for each image or video.

use crate::error::{Error, Result};
use crate::request::ImageInput;

/// What one placeholder stands for: an image, or frames that are one video.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visual<'a> {
    /// Number of its first image in the turn.
    pub(crate) first: usize,
    /// One image, or several frames.
    pub(crate) images: &'a [ImageInput],
}

impl<'a> Visual<'a> {
    /// One image by itself.
    pub(crate) fn new(first: usize, image: &'a ImageInput) -> Self {
        Self { first, images: std::slice::from_ref(image) }
    }
}

/// Gives each placeholder among `ids` its image. With `videos`, placeholders that stand side by side
/// are the frames of one video and become one placeholder.
pub(crate) fn assign<'a>(
    ids: &[u32],
    placeholder: u32,
    images: &'a [ImageInput],
    videos: bool,
) -> Result<(Vec<u32>, Vec<Visual<'a>>)> {
    let placeholders = ids.iter().filter(|&&id| id == placeholder).count();
    if placeholders != images.len() {
        return Err(Error::Placeholders { id: placeholder, placeholders, images: images.len() });
    }
    let (mut joined, mut visuals) = (Vec::with_capacity(ids.len()), Vec::<Visual<'a>>::new());
    let mut next = 0;
    for (at, &id) in ids.iter().enumerate() {
        if id != placeholder {
            joined.push(id);
            continue;
        }
        let continues = videos && at > 0 && ids[at - 1] == placeholder;
        match visuals.last_mut() {
            Some(video) if continues => video.images = &images[video.first..=next],
            _ => {
                visuals.push(Visual::new(next, &images[next]));
                joined.push(id);
            }
        }
        next += 1;
    }
    Ok((joined, visuals))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(ids: &[u32], images: usize, videos: bool) -> (Vec<u32>, Vec<(usize, usize)>) {
        let images = vec![ImageInput::Encoded(Vec::new()); images];
        let (ids, visuals) = assign(ids, 9, &images, videos).unwrap();
        (ids, visuals.iter().map(|visual| (visual.first, visual.images.len())).collect())
    }

    #[test]
    fn frames_side_by_side_are_one_video() {
        let ids = [1, 9, 9, 9, 2, 9, 3];
        assert_eq!(counts(&ids, 4, true), (vec![1, 9, 2, 9, 3], vec![(0, 3), (3, 1)]));
        let apart = vec![(0, 1), (1, 1), (2, 1), (3, 1)];
        assert_eq!(counts(&ids, 4, false), (ids.to_vec(), apart));
        assert_eq!(counts(&[9], 1, true), (vec![9], vec![(0, 1)]));
        assert!(assign(&ids, 9, &[], true).is_err());
    }
}
