//! The OpenH264 decoder, or a stub without it: the only module that depends on the feature `h264`.

#[cfg(not(feature = "h264"))]
pub(super) use absent::Decoder;
#[cfg(feature = "h264")]
pub(super) use open::Decoder;

#[cfg(feature = "h264")]
mod open {
    use openh264::OpenH264API;
    use openh264::decoder::{DecodedYUV, DecoderConfig, Flush};
    use openh264::formats::YUVSource;

    use crate::error::{Problem, plain};
    use crate::h264::color::Planes;

    /// The OpenH264 decoder, configured to return every picture without delay.
    pub(in crate::h264) struct Decoder(openh264::decoder::Decoder);

    impl Decoder {
        pub(in crate::h264) fn new() -> Result<Self, Problem> {
            let settings = DecoderConfig::new().flush_after_decode(Flush::NoFlush);
            openh264::decoder::Decoder::with_api_config(OpenH264API::from_source(), settings)
                .map(Self)
                .map_err(|error| Problem::Io(plain(&format!("no H.264 decoder: {error}"))))
        }

        /// Decodes a byte stream of NAL units; the error is the decoder's explanation.
        pub(in crate::h264) fn decode(
            &mut self,
            stream: &[u8],
        ) -> Result<Option<Picture<'_>>, String> {
            let picture = self.0.decode(stream).map_err(|error| explain(&error))?;
            Ok(picture.map(Picture))
        }
    }

    /// A decoded picture in the decoder's own memory.
    pub(in crate::h264) struct Picture<'a>(DecodedYUV<'a>);

    impl Picture<'_> {
        pub(in crate::h264) fn dimensions(&self) -> (usize, usize) {
            self.0.dimensions()
        }

        pub(in crate::h264) fn planes(&self) -> Planes<'_> {
            let (luma_stride, chroma_stride, _) = self.0.strides();
            let (y, u, v) = (self.0.y(), self.0.u(), self.0.v());
            Planes { y, u, v, luma_stride, chroma_stride }
        }
    }

    /// Translates the decoder's error flags to text.
    fn explain(error: &openh264::Error) -> String {
        const MEANINGS: [(i64, &str); 5] = [
            (0x4000, "the decoder is out of memory"),
            (0x04, "its data is damaged"),
            (0x02, "a picture it refers to is missing"),
            (0x40, "a picture it refers to is missing"),
            (0x10, "its parameter sets are missing or damaged"),
        ];
        let code = error.native_code();
        let meaning = MEANINGS.iter().find(|(bit, _)| code & bit != 0);
        meaning.map_or_else(|| plain(&error.to_string()), |(_, text)| (*text).to_owned())
    }
}

#[cfg(not(feature = "h264"))]
mod absent {
    use crate::error::Problem;
    use crate::h264::color::Planes;

    /// A decoder that cannot be created; H.264 tracks are rejected before one is needed.
    pub(in crate::h264) enum Decoder {}

    impl Decoder {
        pub(in crate::h264) fn new() -> Result<Self, Problem> {
            Err(Problem::Io("no H.264 decoder in this build".into()))
        }

        pub(in crate::h264) fn decode(&mut self, _: &[u8]) -> Result<Option<Picture>, String> {
            match *self {}
        }
    }

    pub(in crate::h264) enum Picture {}

    impl Picture {
        pub(in crate::h264) fn dimensions(&self) -> (usize, usize) {
            match *self {}
        }

        pub(in crate::h264) fn planes(&self) -> Planes<'_> {
            match *self {}
        }
    }
}
