//! VTC-Bench: questions that need resolution against those that do not, from sample logs of lmms-eval or
//! from a run of `mico eval`.

mod logs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mico_score::rules::vtc;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::manifest::MANIFEST;
use logs::{Answers, Logs, answers, logs, reference};

/// The tasks, by what their logs' names contain, the longer before the shorter.
const TASKS: [&str; 8] =
    ["mmbench_en", "mmbench_cn", "mmstar", "ocrbench", "chartqa", "gqa", "mme", "pope"];
/// The downsampling factors that make groups.
const FACTORS: [u32; 5] = [2, 3, 4, 5, 10];

/// Where the logs are.
#[derive(Debug, Clone, Copy)]
pub struct Folders<'a> {
    /// The reference model's `Downsample` folder, or one above it.
    pub data: &'a Path,
    /// The model that is measured: sample logs, or the folder of a run.
    pub target: &'a Path,
    /// The same unpruned, if there are logs of that.
    pub vanilla: Option<&'a Path>,
}

/// One task's groups at one factor.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Task {
    /// The name of the task, one of VTC-Bench's eight.
    #[serde(rename = "task")]
    pub name: &'static str,
    /// Questions that need resolution.
    pub group_a: usize,
    /// Questions that do not.
    pub group_b: usize,
    /// Percent right of those that need it.
    pub acc_a: Option<f64>,
    /// Percent right of those that do not.
    pub acc_b: Option<f64>,
}

/// All tasks at one factor. Means are of all eight tasks, or not at all.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Factor {
    /// The factor by which the reference model's images were downsampled.
    pub downsample: u32,
    /// The tasks there are answers to.
    pub tasks: Vec<Task>,
    /// Mean of the questions that need resolution.
    pub acc_a: Option<f64>,
    /// Mean of those that do not.
    pub acc_b: Option<f64>,
    /// The first in percent of the unpruned model's.
    pub rel_a: Option<f64>,
    /// The second in percent of the unpruned model's.
    pub rel_b: Option<f64>,
    /// How far these two are apart.
    pub gap: Option<f64>,
}

/// One setting of the model that is measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Target {
    /// What it is called; empty for sample logs.
    pub setting: String,
    /// The budget T of the setting; `None` if it prunes nothing or is not known.
    pub budget: Option<usize>,
    /// The names of tasks that the setting has no answers to.
    pub missing: Vec<&'static str>,
    /// What came out, by downsampling factor.
    pub factors: Vec<Factor>,
}

/// What VTC-Bench says of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The name of the benchmark, the same in every report.
    pub task: &'static str,
    /// The folder with the reference model's logs.
    pub reference: PathBuf,
    /// Every setting that is measured.
    pub targets: Vec<Target>,
}

/// Scores the answers of a model on the questions that the reference model gets wrong at low resolution,
/// and on those that it gets right.
pub fn score(folders: &Folders<'_>) -> Result<Report> {
    let reference = reference(folders.data)?;
    let full = logs(&reference.join("1"))?;
    let mut settings = if folders.target.join(MANIFEST).is_file() {
        answers(folders.target)?
    } else {
        let logs = logs(folders.target)?;
        vec![Answers { setting: String::new(), budget: None, unpruned: false, logs }]
    };
    let mut vanilla = folders.vanilla.map(logs).transpose()?;
    if let (None, Some(at)) = (&vanilla, settings.iter().position(|each| each.unpruned)) {
        // A run holds the unpruned model's answers itself.
        vanilla = Some(settings.remove(at).logs);
    }
    let reduced = reduced(&reference)?;
    let targets = settings.into_iter().map(|Answers { setting, budget, logs, .. }| {
        let factors = reduced.iter().map(|(downsample, reduced)| {
            let groups = |task: &str| Some(vtc::groups(full.get(task)?, reduced.get(task)?));
            factor(*downsample, &groups, &logs, vanilla.as_ref())
        });
        let factors = factors.collect();
        let missing = TASKS.into_iter().filter(|task| !logs.contains_key(task)).collect();
        Target { setting, budget, missing, factors }
    });
    Ok(Report { task: "vtcbench", targets: targets.collect(), reference })
}

/// The reference model's logs at each factor there are some of.
fn reduced(reference: &Path) -> Result<Vec<(u32, Logs)>> {
    let mut reduced = Vec::new();
    for downsample in FACTORS {
        let folder = reference.join(downsample.to_string());
        if folder.is_dir() {
            reduced.push((downsample, logs(&folder)?));
        }
    }
    if reduced.is_empty() {
        let reason = "no folder 2, 3, 4, 5 or 10 with logs".to_owned();
        return Err(Error::Incompatible { path: reference.to_owned(), reason });
    }
    Ok(reduced)
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

impl Report {
    /// The report as a plain-text table, for people.
    pub fn text(&self) -> String {
        let shown = |value: Option<f64>| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
        };
        let mut lines = vec![format!("reference {}", self.reference.display())];
        for target in &self.targets {
            if !target.setting.is_empty() {
                let budget =
                    target.budget.map_or_else(String::new, |budget| format!(" at T={budget}"));
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
}
