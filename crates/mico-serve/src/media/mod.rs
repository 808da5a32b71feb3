//! From the URLs of a request to the bytes behind them. Data URLs always work; everything else only where the operator
//! has allowed it. Text is never searched for URLs.

pub mod address;
pub mod data_url;
pub mod remote;
pub mod root;

use bytes::Bytes;
use mico_vision::decode::{Limits, dimensions};

use crate::backend::{Media, image_error};
use crate::error::{Code, Result, ServeError};
use crate::wire::{MediaKind, MediaUse, VideoSampling};
use data_url::DataUrl;
use remote::Remote;
use root::MediaRoot;

/// Most frames of a video.
pub const MAX_FRAMES: usize = 64;

/// The bounds on a request's images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MediaLimits {
    /// Most encoded bytes of one image.
    pub image_bytes: usize,
    /// Most pixels of one image.
    pub image_pixels: u64,
    /// Most pixels of all images together.
    pub total_pixels: u64,
}

impl Default for MediaLimits {
    fn default() -> Self {
        Self {
            image_bytes: 20 << 20,
            image_pixels: mico_vision::decode::MAX_PIXELS,
            total_pixels: 128 << 20,
        }
    }
}

/// Where media may come from, and how large they may be.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct MediaSources {
    /// The bounds on a request's images.
    pub limits: MediaLimits,
    /// Hosts that URLs may name, if any.
    pub remote: Option<Remote>,
    /// The folder below which `file:` URLs may point, if any.
    pub root: Option<MediaRoot>,
}

impl MediaSources {
    /// Whether any of these must be fetched over the network.
    pub fn needs_network(uses: &[MediaUse]) -> bool {
        uses.iter().any(|media| scheme(&media.url).is_some_and(|name| name.starts_with("http")))
    }

    /// The bytes of a request's images and videos. Blocks: files and hosts take their time.
    pub fn gather(
        &self,
        uses: &[MediaUse],
        video: VideoSampling,
        takes_video: bool,
    ) -> Result<Vec<(String, Media)>> {
        let (mut pixels, mut gathered) = (0, Vec::new());
        for media in uses {
            let found = self.find(media)?;
            let found = match found {
                Media::Frames(frames) if takes_video => Media::Frames(sampled(frames, video)),
                Media::Frames(_) => {
                    let message = "this model takes images, not videos";
                    return Err(unsupported(&media.param, message));
                }
                image @ Media::Image(_) => image,
            };
            self.check_pixels(&media.param, &found, &mut pixels)?;
            gathered.push((media.param.clone(), found));
        }
        Ok(gathered)
    }

    fn find(&self, media: &MediaUse) -> Result<Media> {
        let param = &media.param;
        match scheme(&media.url).as_deref() {
            Some("data") => {
                let url = DataUrl::parse(&media.url).map_err(|why| invalid(param, why))?;
                self.unpack(media, &url)
            }
            Some("http" | "https") => {
                let Some(remote) = &self.remote else {
                    let message =
                        "URLs of other hosts are not fetched by this server: send a data URL";
                    return Err(ServeError::new(Code::HostNotAllowed, message).at(param));
                };
                let bytes = remote.fetch(&media.url, self.limits.image_bytes);
                Self::file(media, bytes.map_err(|error| error.at(param))?)
            }
            Some("file") => {
                let Some(root) = &self.root else {
                    let message = "files of the server are not read: send a data URL";
                    return Err(unsupported(param, message));
                };
                let bytes = root.read(&media.url, self.limits.image_bytes);
                Self::file(media, bytes.map_err(|error| error.at(param))?)
            }
            _ => {
                let message =
                    "neither a data URL nor any other that is accepted: data:TYPE;base64,DATA";
                Err(unsupported(param, message))
            }
        }
    }

    /// A whole file, of which only pictures are taken.
    fn file(media: &MediaUse, bytes: Vec<u8>) -> Result<Media> {
        match media.kind {
            MediaKind::Image => Ok(Media::Image(bytes.into())),
            MediaKind::Video => Err(unsupported(&media.param, NO_VIDEO_FILES)),
        }
    }

    fn unpack(&self, media: &MediaUse, url: &DataUrl<'_>) -> Result<Media> {
        let most = self.limits.image_bytes;
        let bytes = |payload: &str| -> Result<Bytes> {
            let size = data_url::decoded_length(payload);
            if size > most {
                let message = format!("{size} encoded bytes, at most {most} are accepted");
                return Err(ServeError::new(Code::ImageTooLarge, message).at(&media.param));
            }
            data_url::decode(payload).map(Bytes::from).map_err(|why| invalid(&media.param, why))
        };
        let payloads = url.data.split(',');
        match (media.kind, url.kind()) {
            (_, "video/jpeg") => {
                let count = payloads.clone().take(MAX_FRAMES + 1).count();
                if count > MAX_FRAMES {
                    let message = format!("more than {MAX_FRAMES} frames");
                    return Err(ServeError::new(Code::ImageTooLarge, message).at(&media.param));
                }
                payloads.map(bytes).collect::<Result<_>>().map(Media::Frames)
            }
            (MediaKind::Video, _) => Err(unsupported(&media.param, NO_VIDEO_FILES)),
            (MediaKind::Image, kind) if kind.starts_with("video/") => {
                Err(unsupported(&media.param, NO_VIDEO_FILES))
            }
            (MediaKind::Image, _) => bytes(url.data).map(Media::Image),
        }
    }

    /// Refuses images whose headers promise too much, before any of them is decoded.
    fn check_pixels(&self, param: &str, media: &Media, sum: &mut u64) -> Result<()> {
        let limits = Limits {
            encoded_bytes: self.limits.image_bytes as u64,
            pixels: self.limits.image_pixels,
            ..Limits::default()
        };
        let files = match media {
            Media::Image(file) => std::slice::from_ref(file),
            Media::Frames(files) => files,
        };
        for file in files {
            let size = dimensions(file, &limits).map_err(|error| image_error(param, &error))?;
            *sum += size.area();
            if *sum > self.limits.total_pixels {
                let most = self.limits.total_pixels;
                let message = format!("more than {most} pixels in all images together");
                return Err(ServeError::new(Code::ImageTooLarge, message).at(param));
            }
        }
        Ok(())
    }
}

const NO_VIDEO_FILES: &str = "video files are not accepted: send the frames as \
                              data:video/jpeg;base64,FRAME,FRAME,... or as several images";

fn unsupported(param: &str, message: &str) -> ServeError {
    ServeError::new(Code::UnsupportedContent, message).at(param)
}

fn invalid(param: &str, message: &str) -> ServeError {
    ServeError::new(Code::ImageInvalid, message).at(param)
}

/// The scheme of a URL in lower case, if it has one.
fn scheme(url: &str) -> Option<String> {
    let (scheme, _) = url.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    (scheme.len() <= 16 && !scheme.is_empty() && scheme.chars().all(plain))
        .then(|| scheme.to_ascii_lowercase())
}

/// At most so many frames as were asked for, evenly spaced. A list of frames has no clock, so a rate says nothing.
fn sampled(frames: Vec<Bytes>, video: VideoSampling) -> Vec<Bytes> {
    let (count, Some(most)) = (frames.len(), video.frames) else { return frames };
    if most >= count {
        return frames;
    }
    (0..most).map(|index| frames[(2 * index + 1) * count / (2 * most)].clone()).collect()
}

#[cfg(test)]
mod tests;
