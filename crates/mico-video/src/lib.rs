//! Samples from video files the few frames that are given to a multimodal model.
//!
//! A video is one of:
//!
//! - a folder of images, in natural order (`frame2` before `frame10`);
//! - an animated GIF or WebP file;
//! - with the cargo feature `h264`, an MP4 or QuickTime file with an H.264 track (8 bits, 4:2:0,
//!   progressive, in a Baseline, Main or High profile), recognised by content. Tracks in HEVC, AV1, VP9
//!   and others are rejected with an error that names them, as are fragmented and interlaced files.
//!
//! [`Video::open`] samples frames by the usual protocol of video benchmarks ([`sample_indices`]):
//! one per second or, if these were more than 64, 64 spread evenly from the first to the last. Only
//! the data needed for these frames is read and decoded, and only these frames are kept.
//!
#![cfg_attr(feature = "h264", doc = "```")]
#![cfg_attr(not(feature = "h264"), doc = "```ignore")]
//! use mico_video::{Video, VideoOptions};
//!
//! # let clip = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/data/video/high.mp4");
//! let options = VideoOptions { max_frames: 8, ..VideoOptions::default() };
//! let video = Video::open(clip, &options)?;
//! assert_eq!((video.source_frames, video.fps), (38, 12.5));
//! assert_eq!(video.indices, [0, 12, 24, 36]);
//! assert_eq!(video.frames.len(), 4);
//! # Ok::<(), mico_video::VideoError>(())
//! ```
//!
//! Frames are upright (the track's rotation is applied) and have the bytes FFmpeg gives on x86: H.264
//! leaves a decoder no freedom, and the conversion to RGB follows libswscale's arithmetic. One
//! exception was found: in some B pictures OpenH264 treats the edges of a few blocks differently. Of
//! 1,360 frames coded with 17 settings of x264, 5 differed, in at most 76 of 76,800 pixels, by 0.003
//! levels on average over the frame. Pixels are not made square where a file says they are not.
//!
//! Frames of animated WebP files are composed with libwebp's rules and arithmetic and equal
//! Pillow's byte for byte: an opaque pixel is the frame's own, and a cleared frame leaves
//! transparency.
//!
//! # What it is not for
//!
//! Playback, seeking, sound, repair of damaged files and encoding. A file that is damaged in a part
//! that is needed is rejected, because a model would otherwise describe frames that are not in the
//! video.
//!
//! # Files of unknown origin
//!
//! Everything that parses a file's structure is safe Rust, and every number found there is checked
//! against the file's length and against [`Limits`] before memory of that size is allocated. The
//! H.264 pictures themselves are decoded by OpenH264, which is written in C++ and runs **in this
//! process**. To reduce what reaches it, it is given sequence parameter sets written from checked
//! values, never the file's own; scalable-coding extensions and metadata are left out, and units
//! with a hidden start code are rejected. A vulnerability in that library would still affect this
//! process: for files from untrusted sources, run it in a sandboxed process of its own, or accept
//! only folders, GIF and WebP, which do not use it ([`VideoOptions::h264`]).
//!
//! # Features
//!
//! `h264` (off by default) compiles OpenH264, which needs a C++ compiler. Without it, H.264 tracks
//! are rejected with an error that names the codec, and everything else works.
#![forbid(unsafe_code)]
// Names of products (FFmpeg, OpenH264, QuickTime) need no backticks.
#![allow(clippy::doc_markdown)]

mod animation;
mod budget;
mod error;
mod folder;
mod h264;
mod mp4;
mod options;
mod sampling;
mod source;
mod video;

pub use error::{Problem, VideoError};
pub use options::{
    Limits, MAX_DECODED_FRAMES, MAX_DECODED_PIXELS, MAX_FILE_BYTES, MAX_FRAME_PIXELS,
    MAX_FRAME_SIDE, MAX_HELD_PIXELS, MAX_INDEX_BYTES, MAX_SOURCE_FRAMES, VideoOptions,
};
pub use sampling::sample_indices;
pub use video::{Progress, Video, VideoKind};
