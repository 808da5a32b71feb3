//! VTC-Bench: questions that need resolution against those that do not, from sample logs of lmms-eval or
//! from a run of `mico eval`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use mico_eval::{Journal, MANIFEST, Manifest, Setting};
use mico_score::rules::vtc;
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::output;

/// The tasks, by what their logs' names contain, the longer before the shorter.
const TASKS: [&str; 8] =
    ["mmbench_en", "mmbench_cn", "mmstar", "ocrbench", "chartqa", "gqa", "mme", "pope"];
/// The downsampling factors that make groups.
const FACTORS: [u32; 5] = [2, 3, 4, 5, 10];

/// Where the logs are.
pub(super) struct Folders<'a> {
    /// The reference model's `Downsample` folder, or one above it.
    pub(super) data: &'a Path,
    /// The model that is measured: sample logs, or the folder of a run.
    pub(super) target: &'a Path,
    /// The same unpruned, if there are logs of that.
    pub(super) vanilla: Option<&'a Path>,
}

/// One task's groups at one factor.
#[derive(Debug, Serialize)]
struct Task {
    #[serde(rename = "task")]
    name: &'static str,
    group_a: usize,
    group_b: usize,
    acc_a: Option<f64>,
    acc_b: Option<f64>,
}

/// All tasks at one factor. Means are of all eight tasks, or not at all.
#[derive(Debug, Serialize)]
struct Factor {
    downsample: u32,
    tasks: Vec<Task>,
    acc_a: Option<f64>,
    acc_b: Option<f64>,
    rel_a: Option<f64>,
    rel_b: Option<f64>,
    gap: Option<f64>,
}

/// One setting of the model that is measured.
#[derive(Debug, Serialize)]
struct Target {
    /// What it is called; empty for sample logs.
    setting: String,
    budget: Option<usize>,
    missing: Vec<&'static str>,
    factors: Vec<Factor>,
}

#[derive(Debug, Serialize)]
struct Document {
    task: &'static str,
    reference: PathBuf,
    targets: Vec<Target>,
}

/// Whether each question was answered rightly, by task and document.
type Logs = BTreeMap<&'static str, BTreeMap<String, bool>>;

pub(super) fn run(folders: &Folders<'_>, json: bool) -> Result<(), Failure> {
    let reference = reference(folders.data)?;
    let full = logs(&reference.join("1"))?;
    let mut settings = if folders.target.join(MANIFEST).is_file() {
        answers(folders.target)?
    } else {
        vec![Answers { setting: String::new(), budget: None, logs: logs(folders.target)? }]
    };
    let mut vanilla = folders.vanilla.map(logs).transpose()?;
    let whole = Setting::Unpruned.label();
    if let (None, Some(at)) = (&vanilla, settings.iter().position(|each| each.setting == whole)) {
        // A run holds the unpruned model's answers itself.
        vanilla = Some(settings.remove(at).logs);
    }
    let mut reduced = Vec::new();
    for downsample in FACTORS {
        let folder = reference.join(downsample.to_string());
        if folder.is_dir() {
            reduced.push((downsample, logs(&folder)?));
        }
    }
    if reduced.is_empty() {
        let reference = reference.display();
        return Err(Failure::failed(format!("{reference}: no folder 2, 3, 4, 5 or 10 with logs")));
    }
    let targets = settings.into_iter().map(|Answers { setting, budget, logs }| {
        let factors = reduced.iter().map(|(downsample, reduced)| {
            let groups = |task: &str| Some(vtc::groups(full.get(task)?, reduced.get(task)?));
            factor(*downsample, &groups, &logs, vanilla.as_ref())
        });
        let factors = factors.collect();
        let missing = TASKS.into_iter().filter(|task| !logs.contains_key(task)).collect();
        Target { setting, budget, missing, factors }
    });
    let document = Document { task: "vtcbench", targets: targets.collect(), reference };
    if json { output::json(&document) } else { output::line(&text(&document)) }
}

/// A setting's answers.
struct Answers {
    setting: String,
    budget: Option<usize>,
    logs: Logs,
}

/// The answers of a run, by setting. Documents are numbered as in the sample logs, which files read from
/// parquet tell.
fn answers(folder: &Path) -> Result<Vec<Answers>, Failure> {
    let manifest = Manifest::read(folder)?;
    let columns = mico_eval::columns(&manifest, &Journal::read(folder)?)?;
    let mut all = Vec::new();
    for (at, setting) in manifest.settings.iter().enumerate() {
        let mut logs = Logs::new();
        for column in &columns {
            let Some(task) = TASKS.into_iter().find(|task| *task == column.spec.name) else {
                continue;
            };
            let judged = column.answers[at].iter().flatten();
            let right = judged.map(|judged| {
                let number = judged.record.fields.get("doc_id").map(Value::to_string);
                (number.unwrap_or_else(|| judged.record.item.clone()), judged.is_right())
            });
            logs.insert(task, right.collect());
        }
        all.push(Answers { setting: setting.label(), budget: setting.tokens(), logs });
    }
    Ok(all)
}

fn factor(
    downsample: u32,
    groups: &dyn Fn(&str) -> Option<vtc::Groups>,
    target: &Logs,
    vanilla: Option<&Logs>,
) -> Factor {
    let tasks = |logs: &Logs| -> Vec<Task> {
        let task = |task: &'static str| {
            let (groups, answers) = (groups(task)?, logs.get(task)?);
            Some(Task {
                name: task,
                group_a: groups.hard.len(),
                group_b: groups.easy.len(),
                acc_a: percent(&groups.hard, answers),
                acc_b: percent(&groups.easy, answers),
            })
        };
        TASKS.into_iter().filter_map(task).collect()
    };
    let mean = |tasks: &[Task], of: fn(&Task) -> Option<f64>| {
        let sum: f64 = tasks.iter().map(of).sum::<Option<f64>>()?;
        (tasks.len() == TASKS.len()).then(|| sum / TASKS.len() as f64)
    };
    let own = tasks(target);
    let whole = vanilla.map(tasks);
    let rel = |of: fn(&Task) -> Option<f64>| {
        let whole = mean(whole.as_deref()?, of).filter(|value| *value > 0.0)?;
        Some(100.0 * mean(&own, of)? / whole)
    };
    let (rel_a, rel_b) = (rel(|task| task.acc_a), rel(|task| task.acc_b));
    Factor {
        downsample,
        acc_a: mean(&own, |task| task.acc_a),
        acc_b: mean(&own, |task| task.acc_b),
        rel_a,
        rel_b,
        gap: rel_a.zip(rel_b).map(|(a, b)| (b - a).abs()),
        tasks: own,
    }
}

/// A group's accuracy; none of an empty group.
fn percent(group: &[String], answers: &BTreeMap<String, bool>) -> Option<f64> {
    (!group.is_empty()).then(|| vtc::group_percent(group, answers))
}

/// The folder whose subfolders are named by the downsampling factor.
fn reference(data: &Path) -> Result<PathBuf, Failure> {
    let direct = [data.to_owned(), data.join("Downsample")];
    if let Some(found) = direct.into_iter().find(|folder| folder.join("1").is_dir()) {
        return Ok(found);
    }
    let named = |error: std::io::Error| Failure::failed(format!("{}: {error}", data.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(data).map_err(named)? {
        let folder = entry.map_err(named)?.path().join("Downsample");
        if folder.join("1").is_dir() {
            found.push(folder);
        }
    }
    found.sort();
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => {
            let message =
                format!("{}: no folder Downsample/1 with the reference's logs", data.display());
            Err(Failure::failed(message))
        }
        several => {
            let names: Vec<String> =
                several.iter().map(|path| path.display().to_string()).collect();
            Err(Failure::misused(format!("--data has several references: {}", names.join(", "))))
        }
    }
}

fn logs(folder: &Path) -> Result<Logs, Failure> {
    let named = |error: std::io::Error| Failure::failed(format!("{}: {error}", folder.display()));
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(named)? {
        paths.push(entry.map_err(named)?.path());
    }
    paths.sort();
    let mut logs = Logs::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
    {
        let name = path.file_stem().map(|name| name.to_string_lossy().to_lowercase());
        let name = name.unwrap_or_default();
        let Some(task) = TASKS.into_iter().find(|task| names(&name, task)) else { continue };
        if logs.insert(task, log(path, task)?).is_some() {
            let message = format!("{}: two logs of {task}", folder.display());
            return Err(Failure::failed(message));
        }
    }
    if logs.is_empty() {
        let message = format!(
            "{}: no logs, accepted: jsonl files named by {}",
            folder.display(),
            TASKS.join(", ")
        );
        return Err(Failure::failed(message));
    }
    Ok(logs)
}

/// Whether a log's name has the task in it as a word of its own: `videomme` is no `mme`.
fn names(name: &str, task: &str) -> bool {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    name.match_indices(task).any(|(at, _)| {
        let (before, after) = (&name[..at], &name[at + task.len()..]);
        !letter(before.chars().next_back()) && !letter(after.chars().next())
    })
}

fn log(path: &Path, task: &str) -> Result<BTreeMap<String, bool>, Failure> {
    let failed = |message: String| Failure::failed(format!("{}: {message}", path.display()));
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let mut answers = BTreeMap::new();
    for (number, line) in (1..).zip(BufReader::new(file).lines()) {
        let line = line.map_err(|error| failed(format!("line {number}: {error}")))?;
        if line.trim().is_empty() {
            continue;
        }
        let record: Value = serde_json::from_str(&line)
            .map_err(|error| failed(format!("line {number}: no JSON ({error})")))?;
        let id = match record.get("doc_id") {
            Some(Value::String(id)) => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            _ => return Err(failed(format!("line {number}: no doc_id"))),
        };
        if answers.insert(id.clone(), vtc::correct(task, &record)).is_some() {
            return Err(failed(format!("line {number}: a second record of document {id}")));
        }
    }
    Ok(answers)
}

fn text(document: &Document) -> String {
    let shown =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let mut lines = vec![format!("reference {}", document.reference.display())];
    for target in &document.targets {
        if !target.setting.is_empty() {
            let budget = target.budget.map_or_else(String::new, |budget| format!(" at T={budget}"));
            lines.push(format!("{}{budget}", target.setting));
        }
        if !target.missing.is_empty() {
            lines.push(format!("no means: no answers to {}", target.missing.join(", ")));
        }
        for factor in &target.factors {
            lines.push(format!(
                "downsampled by {}: A {} B {}; Rel A {} B {}, gap {}",
                factor.downsample,
                shown(factor.acc_a),
                shown(factor.acc_b),
                shown(factor.rel_a),
                shown(factor.rel_b),
                shown(factor.gap)
            ));
            for task in &factor.tasks {
                let (a, b) = (shown(task.acc_a), shown(task.acc_b));
                let (name, hard, easy) = (task.name, task.group_a, task.group_b);
                lines.push(format!("  {name}: A {a} of {hard}, B {b} of {easy}"));
            }
        }
    }
    lines.join("\n")
}
