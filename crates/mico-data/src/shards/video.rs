//! Converts rows of video benchmarks to items, and finds the video files.

use std::path::{Path, PathBuf};

use mico_score::{Fields, Track};
use serde_json::json;

use super::item::{Item, Seen};
use super::row::{Failure, Row};
use crate::fields::put;

/// Folders that may hold the videos, relative to the dataset's folder.
const FOLDERS: [&str; 5] = ["videos", "video", "data", "", "../videos"];
/// File endings that are tried in this order; the first is for names that have one already.
const ENDINGS: [&str; 6] = ["", ".mp4", ".MP4", ".mkv", ".webm", ".avi"];

/// The text of an option column that is not used.
const UNUSED: &str = "N/A";

/// The folder that holds the videos of each MVBench task.
const MVBENCH: [(&str, &str); 20] = [
    ("action_antonym", "ssv2_video"),
    ("action_count", "perception/videos"),
    ("action_localization", "sta/sta_video"),
    ("action_prediction", "star/Charades_v1_480"),
    ("action_sequence", "star/Charades_v1_480"),
    ("character_order", "perception/videos"),
    ("counterfactual_inference", "clevrer/video_validation"),
    ("egocentric_navigation", "vlnqa"),
    ("episodic_reasoning", "tvqa/frames_fps3_hq"),
    ("fine_grained_action", "Moments_in_Time_Raw/videos"),
    ("fine_grained_pose", "nturgbd"),
    ("moving_attribute", "clevrer/video_validation"),
    ("moving_count", "clevrer/video_validation"),
    ("moving_direction", "clevrer/video_validation"),
    ("object_existence", "clevrer/video_validation"),
    ("object_interaction", "star/Charades_v1_480"),
    ("object_shuffle", "perception/videos"),
    ("scene_transition", "scene_qa/video"),
    ("state_change", "perception/videos"),
    ("unexpected_action", "FunQA_test/test"),
];

/// The item of a row; `label` is the split or task in the file's name.
pub(super) fn item(
    track: Track,
    row: &mut Row<'_>,
    mut fields: Fields,
    (label, place): (&str, &str),
) -> Result<Item, Failure> {
    for name in ["duration", "domain", "sub_category", "task_type"] {
        put(&mut fields, name, row.text(name)?);
    }
    let (name, video, folder) = match track {
        Track::VideoMme => {
            fields.insert("options".into(), json!(row.texts("options")?));
            fields.insert("answer".into(), json!(row.need("answer")?));
            (row.text("question_id")?, row.need("videoID")?, None)
        }
        Track::MvBench => {
            let candidates = row.texts("candidates")?;
            let answer = row.need("answer")?;
            if !candidates.contains(&answer) {
                return Err("the answer is none of the candidates".into());
            }
            fields.insert("candidates".into(), json!(candidates));
            fields.insert("answer".into(), json!(answer));
            let task = fields.entry("task_type").or_insert_with(|| json!(label));
            let task = task.as_str().unwrap_or(label).to_owned();
            let folder = MVBENCH.iter().find(|(name, _)| *name == task).map(|(_, folder)| *folder);
            (Some(format!("{task}/{place}")), row.need("video")?, folder)
        }
        Track::LongVideoBench => {
            put_options(row, &mut fields)?;
            for name in ["duration_group", "question_category"] {
                put(&mut fields, name, row.text(name)?);
            }
            (Some(row.need("id")?), row.need("video_path")?, None)
        }
        _ => {
            fields.insert("answer".into(), json!(row.need("answer")?));
            (row.text("question_id")?, row.need("video_name")?, None)
        }
    };
    let name = name.unwrap_or_else(|| place.to_owned());
    let cluster = Some(video.clone());
    let seen = Seen::Video { name: video, folder };
    Ok(Item { name, cluster, fields, seen, pixels: None })
}

/// Sets the options in use, and the index of the right one among them.
fn put_options(row: &mut Row<'_>, fields: &mut Fields) -> Result<(), Failure> {
    let correct = row.integer("correct_choice")?;
    let mut options = Vec::new();
    let mut place = None;
    for number in 0..5 {
        let text = row.text(&format!("option{number}"))?;
        let Some(text) = text.filter(|text| text != UNUSED) else { continue };
        if number == correct {
            place = Some(options.len());
        }
        options.push(text);
    }
    let place = place.ok_or_else(|| format!("correct_choice is {correct}, which is no option"))?;
    fields.insert("options".into(), json!(options));
    fields.insert("correct_choice".into(), json!(place));
    Ok(())
}

/// The path of the video `name` in a dataset's folder, a file or a folder of frames; if it does not
/// exist, the path where it is expected.
pub(super) fn find(dir: &Path, name: &str, folder: Option<&str>) -> PathBuf {
    for base in FOLDERS {
        let base = dir.join(base);
        let inner = folder.map(|folder| base.join(folder));
        for place in inner.into_iter().chain([base]) {
            for ending in ENDINGS {
                let path = place.join(format!("{name}{ending}"));
                if !name.is_empty() && (path.is_file() || (ending.is_empty() && path.is_dir())) {
                    return path;
                }
            }
        }
    }
    dir.join("videos").join(name)
}
