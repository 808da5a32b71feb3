//! Tries hostile inputs on one reader for as long as it is told, and saves what it finds.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Parser;
use clap::builder::PossibleValuesParser;
use mico_fuzz::campaign::{Campaign, Finding};
use mico_fuzz::seen::shape;
use mico_fuzz::{TARGETS, Target};

/// Input that takes longer is noted and saved.
const SLOW: Duration = Duration::from_secs(1);
/// An input that takes longer ends the program: its reader may never come back.
const HANGS: Duration = Duration::from_mins(1);
/// Inputs that are saved of each kind of finding.
const SAVED: u64 = 3;
/// The time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(30);

/// Try hostile inputs on one reader.
#[derive(Debug, Parser)]
struct Args {
    /// The reader to try.
    #[arg(value_parser = PossibleValuesParser::new(TARGETS.iter().map(|target| target.name)))]
    target: String,
    /// Try these files and nothing else.
    files: Vec<PathBuf>,
    /// The most inputs; no end unless given.
    #[arg(long, default_value_t = u64::MAX, hide_default_value = true)]
    inputs: u64,
    /// The most seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The seed that decides all inputs.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Threads, each with a stream of inputs of its own. Memory is measured of one alone.
    #[arg(long, default_value_t = 1)]
    jobs: u64,
    /// Where findings are written, and the input that is being tried.
    #[arg(long, default_value = "findings")]
    save: PathBuf,
    /// Print every shape of a message that was seen.
    #[arg(long)]
    shapes: bool,
}

/// What all threads have in common.
struct Shared<'a> {
    args: &'a Args,
    target: &'static Target,
    begun: Instant,
    tried: AtomicU64,
    found: AtomicU64,
    /// When each thread began its input, in milliseconds since the beginning; 0 between inputs.
    current: Vec<AtomicU64>,
    /// How often each kind of finding was met.
    kinds: Mutex<BTreeMap<String, u64>>,
    output: Mutex<()>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match campaign(&args) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {}: {error}", args.save.display());
            ExitCode::FAILURE
        }
    }
}

/// The number of findings.
fn campaign(args: &Args) -> io::Result<u64> {
    let Some(target) = Target::find(&args.target) else { return Ok(0) };
    if !args.files.is_empty() {
        return replay(target, &args.files);
    }
    std::fs::create_dir_all(&args.save)?;
    let shared = Shared {
        args,
        target,
        begun: Instant::now(),
        tried: AtomicU64::new(0),
        found: AtomicU64::new(0),
        current: (0..args.jobs.max(1)).map(|_| AtomicU64::new(0)).collect(),
        kinds: Mutex::default(),
        output: Mutex::new(()),
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..shared.current.len())
            .map(|job| {
                let shared = &shared;
                scope.spawn(move || shared.work(job))
            })
            .collect();
        let mut told = Instant::now();
        while !threads.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(50));
            shared.watch();
            if told.elapsed() >= PROGRESS {
                told = Instant::now();
                shared.print(&shared.rate());
            }
        }
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
    })?;
    for (kind, met) in &*shared.kinds.lock().unwrap_or_else(PoisonError::into_inner) {
        shared.print(&format!("{met} times: {kind}"));
    }
    shared.print(&format!("done: {}", shared.rate()));
    Ok(shared.found.into_inner())
}

/// Tries given files.
fn replay(target: &'static Target, files: &[PathBuf]) -> io::Result<u64> {
    let (mut campaign, mut found) = (Campaign::new(target, 0)?, 0);
    for file in files {
        match campaign.attempt(&std::fs::read(file)?) {
            Ok(cost) => println!("{}: {:?}, {} bytes", file.display(), cost.time, cost.memory),
            Err(finding) => {
                println!("{}: {}", file.display(), finding.what);
                found += 1;
            }
        }
    }
    for shape in campaign.seen().shapes() {
        println!("  {shape}");
    }
    Ok(found)
}

impl Shared<'_> {
    /// One stream of inputs.
    fn work(&self, job: usize) -> io::Result<()> {
        let mut campaign = Campaign::new(self.target, self.args.seed + job as u64)?;
        // If the process is killed, this file holds the input that did it.
        let current = self.args.save.join(format!("{}-current-{job}", self.target.name));
        let file = File::create(&current)?;
        // A seed may hang, too.
        self.current[job].store(self.milliseconds(), Ordering::Relaxed);
        if let Err(finding) = campaign.attempt_seeds() {
            self.report("seed", &finding)?;
        }
        self.current[job].store(0, Ordering::Relaxed);
        let limit = Duration::from_secs(self.args.seconds);
        while self.begun.elapsed() < limit
            && self.tried.fetch_add(1, Ordering::Relaxed) < self.args.inputs
        {
            let input = campaign.next_input();
            file.set_len(input.len() as u64)?;
            file.write_all_at(&input, 0)?;
            self.current[job].store(self.milliseconds(), Ordering::Relaxed);
            let outcome = campaign.attempt(&input);
            self.current[job].store(0, Ordering::Relaxed);
            match outcome {
                Err(finding) if self.args.jobs > 1 && finding.what.ends_with("allocated") => {}
                Err(finding) => self.report("found", &finding)?,
                Ok(cost) if cost.time > SLOW => {
                    let what = format!("took {:?}", cost.time);
                    self.report("slow", &Finding { input, what })?;
                }
                Ok(_) => {}
            }
        }
        let (seen, parents) = (campaign.seen(), campaign.parents());
        self.print(&format!("job {job}: {} shapes seen, {parents} inputs kept", seen.len()));
        if self.args.shapes {
            seen.shapes().for_each(|shape| self.print(&format!("  {shape}")));
        }
        std::fs::remove_file(current)
    }

    /// Ends the program if an input takes too long.
    fn watch(&self) {
        let now = self.milliseconds();
        for (job, begun) in self.current.iter().enumerate() {
            let begun = begun.load(Ordering::Relaxed);
            if begun > 0 && u128::from(now.saturating_sub(begun)) > HANGS.as_millis() {
                let name = format!("{}-current-{job}", self.target.name);
                let place = self.args.save.join(name);
                self.print(&format!("an input has taken {HANGS:?}: {}", place.display()));
                std::process::exit(1);
            }
        }
    }

    /// Saves an input and says why.
    fn report(&self, kind: &str, finding: &Finding) -> io::Result<()> {
        let number = if kind == "slow" { 0 } else { self.found.fetch_add(1, Ordering::Relaxed) };
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let met = kinds.entry(shape(&finding.what)).or_default();
        *met += 1;
        if *met > SAVED {
            return Ok(());
        }
        drop(kinds);
        let name = format!("{}-{kind}-{number}-{:08x}", self.target.name, crc(&finding.input));
        let place = self.args.save.join(name);
        std::fs::write(&place, &finding.input)?;
        self.print(&format!("{}: {}", show(&place), finding.what));
        Ok(())
    }

    fn milliseconds(&self) -> u64 {
        1 + u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX - 1)
    }

    fn rate(&self) -> String {
        let (tried, seconds) =
            (self.tried.load(Ordering::Relaxed), self.begun.elapsed().as_secs_f64());
        let found = self.found.load(Ordering::Relaxed);
        let rate = tried as f64 / seconds.max(1e-9);
        format!("{tried} inputs in {seconds:.0} s, {rate:.0} in a second, {found} findings")
    }

    fn print(&self, line: &str) {
        let _guard = self.output.lock();
        println!("{}: {line}", self.target.name);
        let _ = io::stdout().flush();
    }
}

fn crc(data: &[u8]) -> u32 {
    crc32fast::hash(data)
}

fn show(path: &Path) -> String {
    path.display().to_string()
}
