//! Command that writes scenes: as a stream of records for training, or as PNG files for inspection.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use mico_scenes::{KINDS, Question, Scene, Split, ask, scene, vocabulary, write_record};
use mico_util::SplitMix64;

const USAGE: &str = "usage: scenes vocabulary
       scenes stream SEED FIRST COUNT QUESTIONS [--no-pixels]   (training split, records on stdout)
       scenes pictures SEED FIRST COUNT FOLDER                  (benchmark split, PNG and items.jsonl)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that closes the pipe early is not an error.
        Err(Failure::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => {
            eprintln!("scenes: {message}\n{USAGE}");
            ExitCode::from(2)
        }
        Err(Failure::Io(error)) => {
            eprintln!("scenes: {error}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn run(arguments: &[&str]) -> Result<(), Failure> {
    match *arguments {
        ["vocabulary"] => {
            let mut out = io::stdout().lock();
            Ok(vocabulary().iter().try_for_each(|word| writeln!(out, "{word}"))?)
        }
        ["stream", seed, first, count, questions, ref rest @ ..] => {
            let pixels = match *rest {
                [] => true,
                ["--no-pixels"] => false,
                _ => return Err(Failure::Usage(format!("{} is unknown", rest.join(" ")))),
            };
            let questions = number(questions)? as usize;
            let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
            for index in span(first, count)? {
                let (scene, mut rng) = scene(Split::Train, number(seed)?, index);
                let asked = several(&scene, &mut rng, questions);
                write_record(&mut out, &scene, &asked, pixels)?;
            }
            Ok(out.flush()?)
        }
        ["pictures", seed, first, count, folder] => {
            let folder = PathBuf::from(folder);
            let mut items = BufWriter::new(File::create(folder.join("items.jsonl"))?);
            for index in span(first, count)? {
                let (scene, mut rng) = scene(Split::Benchmark, number(seed)?, index);
                let name = format!("scene-{index}.png");
                let png = scene.render().to_png().map_err(io::Error::other)?;
                std::fs::write(folder.join(&name), png)?;
                for question in several(&scene, &mut rng, KINDS.len()) {
                    let item = serde_json::json!({ "image": name, "item": question });
                    writeln!(items, "{item}")?;
                }
            }
            Ok(items.flush()?)
        }
        _ => Err(Failure::Usage("not understood".into())),
    }
}

/// Up to `wanted` different questions, cycling through all kinds from a random one on.
fn several(scene: &Scene, rng: &mut SplitMix64, wanted: usize) -> Vec<Question> {
    let mut asked: Vec<Question> = Vec::with_capacity(wanted);
    let start = rng.below(KINDS.len());
    for turn in 0..wanted * 20 {
        if asked.len() == wanted {
            break;
        }
        let question = ask(scene, KINDS[(start + turn) % KINDS.len()], rng);
        asked.extend(question.filter(|question| !asked.contains(question)));
    }
    asked
}

fn span(first: &str, count: &str) -> Result<std::ops::Range<u64>, Failure> {
    let first = number(first)?;
    Ok(first..first.saturating_add(number(count)?))
}

fn number(text: &str) -> Result<u64, Failure> {
    text.parse().map_err(|_| Failure::Usage(format!("{text} is no number")))
}
