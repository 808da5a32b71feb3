//! The built-in example: generated scenes, whose labels, objects and boxes are known.

use mico_scenes::{Kind, LABELS, Object, SIDE, Scene, Split, ask, scene};
use mico_util::SplitMix64;
use mico_vision::{RgbImage, Size};

use super::source::{Check, LabelMap, LabeledObject, PixelBox, Query, Source};

/// Questions about one picture, as many as the paper has on average.
const QUERIES: usize = 2;
/// Attempts at them; an object is asked about once.
const TRIES: usize = 20;
/// Sets the random numbers of the questions apart from those of the scenes.
const ASKING: u64 = 0x7265_6c65;

/// Scenes of the benchmark split. Classes are the background and every shape in every colour;
/// questions are of the kind that asks where an object is.
#[derive(Debug, Clone)]
pub struct Scenes {
    seed: u64,
    pictures: usize,
}

impl Scenes {
    /// The first `pictures` scenes of a seed.
    pub fn new(seed: u64, pictures: usize) -> Self {
        Self { seed, pictures }
    }

    fn scene(&self, picture: usize) -> Scene {
        scene(Split::Benchmark, self.seed, picture as u64).0
    }
}

fn place(object: &Object) -> Option<PixelBox> {
    PixelBox::new(object.pixel_box().map(|value| value as f64))
}

impl Source for Scenes {
    fn name(&self) -> String {
        format!("tiny v{}, benchmark split, seed {}", mico_scenes::VERSION, self.seed)
    }

    fn classes(&self) -> usize {
        LABELS
    }

    fn pictures(&self, _: Check) -> Vec<usize> {
        (0..self.pictures).collect()
    }

    fn title(&self, picture: usize) -> String {
        format!("scene {picture}")
    }

    fn image(&self, picture: usize) -> Result<RgbImage, String> {
        let pixels = self.scene(picture).render().pixels;
        RgbImage::new(Size::square(SIDE as u32), pixels).map_err(|error| error.to_string())
    }

    fn labels(&self, picture: usize) -> Result<LabelMap, String> {
        let values = self.scene(picture).labels().into_iter().map(u16::from).collect();
        LabelMap::new(Size::square(SIDE as u32), values, None, LABELS)
    }

    fn objects(&self, picture: usize) -> Vec<LabeledObject> {
        let marked = |object: &Object| {
            Some(LabeledObject { place: place(object)?, category: object.name() })
        };
        self.scene(picture).objects.iter().filter_map(marked).collect()
    }

    fn queries(&self, picture: usize) -> Vec<Query> {
        let scene = self.scene(picture);
        let mut rng = SplitMix64::keyed(&[ASKING, self.seed, picture as u64]);
        let mut queries: Vec<Query> = Vec::new();
        for _ in 0..TRIES {
            let asked = ask(&scene, Kind::Locate, &mut rng);
            let query = asked.and_then(|asked| {
                let object = scene.objects.get(*asked.objects.first()?)?;
                Some(Query { place: place(object)?, text: asked.text })
            });
            if let Some(query) = query.filter(|query| !queries.contains(query)) {
                queries.push(query);
            }
            if queries.len() == QUERIES {
                break;
            }
        }
        queries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_hold_what_labels_and_questions_name() {
        let scenes = Scenes::new(5, 10);
        for picture in scenes.pictures(Check::Relevance) {
            let (map, objects) = (scenes.labels(picture).unwrap(), scenes.objects(picture));
            assert_eq!(map.size(), scenes.image(picture).unwrap().size());
            for object in &objects {
                let PixelBox { x0, y0, x1, y1 } = object.place;
                let middle = map.at(f64::midpoint(x0, x1) as usize, f64::midpoint(y0, y1) as usize);
                assert!(middle.is_some_and(|label| label > 0), "{object:?}");
            }
            let queries = scenes.queries(picture);
            assert_eq!(queries.len(), QUERIES);
            for query in queries {
                let named = objects.iter().find(|object| query.text.contains(&object.category));
                assert_eq!(named.map(|object| object.place), Some(query.place));
            }
        }
    }
}
