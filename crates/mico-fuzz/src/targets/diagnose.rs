//! Folders of pictures with label maps, objects and questions, as `mico diagnose` reads them.

use mico_eval::diagnose::{Check, Folder, Labeling, Source};

use super::Target;
use crate::folder::with_folder;
use crate::seen::Seen;

pub(super) const TARGET: Target = Target {
    name: "diagnose",
    about: "label maps, objects.jsonl and queries.jsonl of mico diagnose",
    run,
    tokens: &[
        "image",
        "box",
        "category",
        "expression",
        "question",
        "IHDR",
        "IDAT",
        "IEND",
        "PLTE",
        "a.png",
        "../a.png",
        "1e308",
        "-1",
    ],
    short_run: 2000,
};

fn run(data: &[u8], seen: &mut Seen) {
    with_folder(data, "objects.jsonl", |root| {
        let labeling = Labeling { classes: 20, void: Some(255) };
        for check in Folder::checks(root) {
            let Some(folder) = seen.result(check.name(), Folder::open(root, &[check], labeling))
            else {
                continue;
            };
            let pictures = folder.pictures(check);
            seen.accepted(format_args!("{check}: {} pictures", pictures.len().min(3)));
            for picture in pictures.into_iter().take(4) {
                let size = seen.result("picture", folder.image(picture)).map(|image| image.size());
                if check == Check::Information
                    && let Some(labels) = seen.result("labels", folder.labels(picture))
                {
                    let inside = (labels.size().width as usize, labels.size().height as usize);
                    assert!(labels.at(0, 0).is_none_or(|label| label < 20));
                    assert_eq!(labels.at(inside.0, inside.1), None);
                }
                let boxes = folder.objects(picture).into_iter().map(|object| object.place);
                let boxes = boxes.chain(folder.queries(picture).into_iter().map(|q| q.place));
                for place in boxes {
                    let clipped = size.and_then(|size| place.clipped(size));
                    seen.accepted(format_args!("box inside: {}", clipped.is_some()));
                }
            }
        }
    });
}
