use super::*;
use crate::wire::Detail;

fn image(url: &str) -> MediaUse {
    MediaUse {
        param: "p".to_owned(),
        url: url.to_owned(),
        kind: MediaKind::Image,
        detail: Detail::Auto,
    }
}

/// The smallest picture there is, as a BMP file of one pixel.
pub(crate) const PIXEL: &str =
    "Qk06AAAAAAAAADYAAAAoAAAAAQAAAAEAAAABABgAAAAAAAQAAAATCwAAEwsAAAAAAAAAAAAA////AA==";

#[test]
fn data_urls_of_images_and_lists_of_frames() {
    let sources = MediaSources::default();
    let one = image(&format!("data:image/whatever;base64,{PIXEL}"));
    let found = sources.gather(&[one], VideoSampling::default(), false).unwrap();
    assert!(matches!(&found[0], (param, Media::Image(_)) if param == "p"));
    let mut clip = image(&format!("data:video/jpeg;base64,{PIXEL},{PIXEL},{PIXEL}"));
    clip.kind = MediaKind::Video;
    let frames = |video, takes| sources.gather(std::slice::from_ref(&clip), video, takes);
    let all = frames(VideoSampling::default(), true).unwrap();
    assert!(matches!(&all[0].1, Media::Frames(frames) if frames.len() == 3));
    let two = frames(VideoSampling { frames: Some(2), fps: None }, true).unwrap();
    assert!(matches!(&two[0].1, Media::Frames(frames) if frames.len() == 2));
    let error = frames(VideoSampling::default(), false).unwrap_err();
    assert_eq!(error.code, Code::UnsupportedContent);
}

#[test]
fn what_is_not_allowed_is_refused_by_kind() {
    let sources = MediaSources::default();
    for (url, code) in [
        ("http://127.0.0.1/a.png", Code::HostNotAllowed),
        ("HTTPS://example.org/a.png", Code::HostNotAllowed),
        ("file:///etc/passwd", Code::UnsupportedContent),
        ("/etc/passwd", Code::UnsupportedContent),
        ("C:\\a.png", Code::UnsupportedContent),
        (PIXEL, Code::UnsupportedContent),
        ("", Code::UnsupportedContent),
        ("data:image/png;base64,", Code::ImageInvalid),
        ("data:image/png;base64,AAAA", Code::ImageInvalid),
        ("data:video/mp4;base64,AAAA", Code::UnsupportedContent),
        ("data:application/octet-stream;base64,AAAA", Code::ImageInvalid),
    ] {
        let error = sources.gather(&[image(url)], VideoSampling::default(), true).unwrap_err();
        assert_eq!((error.code, error.param.as_deref()), (code, Some("p")), "{url}: {error}");
    }
}

#[test]
fn limits_hold_before_anything_is_decoded() {
    let mut sources = MediaSources::default();
    let url = format!("data:image/bmp;base64,{PIXEL}");
    sources.limits.image_bytes = 57;
    let code = |sources: &MediaSources, uses: &[MediaUse]| {
        sources.gather(uses, VideoSampling::default(), true).err().map(|error| error.code)
    };
    assert_eq!(code(&sources, &[image(&url)]), Some(Code::ImageTooLarge));
    sources.limits.image_bytes = 58;
    assert_eq!(code(&sources, &[image(&url)]), None);
    sources.limits.total_pixels = 2;
    assert_eq!(code(&sources, &vec![image(&url); 2]), None);
    assert_eq!(code(&sources, &vec![image(&url); 3]), Some(Code::ImageTooLarge));
    let frames = vec!["A"; 65].join(",");
    let mut clip = image(&format!("data:video/jpeg;base64,{frames}"));
    clip.kind = MediaKind::Video;
    assert_eq!(code(&sources, &[clip]), Some(Code::ImageTooLarge));
}
