//! Prints what is read of a track: `list_samples <folder> <track> [layout]`.

use std::path::PathBuf;

use mico_data::{Layout, Visual, open, open_as};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [root, track, rest @ ..] = arguments.as_slice() else {
        return Err("usage: list_samples <folder> <track> [layout]".into());
    };
    let (root, track) = (PathBuf::from(root), track.parse()?);
    let dataset = match rest {
        [name, ..] => {
            let layout = Layout::ALL.into_iter().find(|layout| layout.name() == name);
            open_as(&root, track, layout.ok_or("unknown layout")?)?
        }
        [] => open(&root, track)?,
    };
    println!("{} {:?} {}", dataset.layout, dataset.rows, dataset.fingerprint()?);
    let mut samples = dataset.samples()?;
    for sample in samples.by_ref() {
        match sample {
            Ok(sample) => {
                let visuals: Vec<String> = sample
                    .visuals
                    .iter()
                    .map(|visual| match visual {
                        Visual::Encoded(bytes) => format!("{} bytes", bytes.len()),
                        Visual::File(path) | Visual::Video(path) => path.display().to_string(),
                    })
                    .collect();
                let fields = serde_json::to_string(&sample.fields)?;
                println!("{} [{}] {fields} {visuals:?}", sample.id, sample.cluster);
            }
            Err(damaged) => println!("DAMAGED {damaged}"),
        }
    }
    let (damaged, dropped) = (samples.damaged(), samples.dropped());
    println!("damaged {damaged}, without image {dropped}, outside {}", samples.outside());
    Ok(())
}
