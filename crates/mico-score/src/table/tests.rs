//! Tables as they are printed.

use super::{Cell, Column, Group, Row, Table};

fn table() -> Table {
    let latency =
        Column { higher_is_better: false, unit: " ms".to_owned(), ..Column::new("Latency", 0) };
    let rel = Column { unit: "%".to_owned(), ..Column::new("Rel", 1) };
    let vanilla =
        Row { reference: true, ..Row::new("Vanilla", [Some(90.0), Some(100.0), Some(1.0)]) };
    let mut mico = Row::new("mico_s1 & co", [Some(80.04), Some(97.44), Some(7.6)]);
    mico.cells[0] = Some(Cell { value: 80.04, note: Some("±0.5 *".to_owned()) });
    Table {
        title: "Scores at 50%".to_owned(),
        corner: "Method".to_owned(),
        columns: vec![Column::new("POPE", 1), rel, latency],
        groups: vec![
            Group { title: None, rows: vec![vanilla] },
            Group {
                title: Some("T = 64".to_owned()),
                rows: vec![
                    Row::new("FastV, \"old\"", [Some(79.96), Some(90.0), Some(9.0)]),
                    mico,
                    Row::new("none", [Some(70.0), None]),
                ],
            },
        ],
        notes: vec!["* p < 0.05".to_owned()],
    }
}

#[test]
fn markdown_is_as_expected() {
    let expected = r#"**Scores at 50%**

| Method | POPE | Rel | Latency |
|---|---:|---:|---:|
| Vanilla | 90.0 | 100.0% | 1 ms |
| *T = 64* |  |  |  |
| FastV, "old" | **80.0** | <ins>90.0%</ins> | <ins>9 ms</ins> |
| mico\_s1 & co | **80.0** ±0.5 \* | **97.4%** | **8 ms** |
| none | <ins>70.0</ins> | – | – |

\* p \< 0.05
"#;
    assert_eq!(table().markdown(), expected);
}

#[test]
fn latex_is_as_expected() {
    let expected = r#"\begin{table}[t]
\centering
\caption{Scores at 50\%}
\begin{tabular}{lccc}
\toprule
Method & POPE & Rel & Latency \\
\midrule
Vanilla & 90.0 & 100.0\% & 1 ms \\
\midrule
\multicolumn{4}{c}{T = 64} \\
\midrule
FastV, "old" & \textbf{80.0} & \underline{90.0\%} & \underline{9 ms} \\
mico\_s1 \& co & \textbf{80.0} {\scriptsize $\pm$0.5 *} & \textbf{97.4\%} & \textbf{8 ms} \\
none & \underline{70.0} & -- & -- \\
\bottomrule
\end{tabular}
\par\smallskip{\footnotesize * p \textless{} 0.05}
\end{table}
"#;
    assert_eq!(table().latex(), expected);
}

#[test]
fn csv_is_as_expected() {
    let expected = "Group,Method,POPE,POPE note,Rel,Latency\r\n\
        ,Vanilla,90.0,,100.0,1\r\n\
        T = 64,\"FastV, \"\"old\"\"\",80.0,,90.0,9\r\n\
        T = 64,mico_s1 & co,80.0,±0.5 *,97.4,8\r\n\
        T = 64,none,70.0,,,\r\n";
    assert_eq!(table().csv(), expected);
}

#[test]
fn html_is_as_expected() {
    let expected = r#"<table>
<caption>Scores at 50%</caption>
<thead><tr><th scope="col">Method</th><th scope="col">POPE</th><th scope="col">Rel</th><th scope="col">Latency</th></tr></thead>
<tbody>
<tr><th scope="row">Vanilla</th><td>90.0</td><td>100.0%</td><td>1 ms</td></tr>
</tbody>
<tbody>
<tr><th scope="rowgroup" colspan="4">T = 64</th></tr>
<tr><th scope="row">FastV, &quot;old&quot;</th><td><strong>80.0</strong></td><td><u>90.0%</u></td><td><u>9 ms</u></td></tr>
<tr><th scope="row">mico_s1 &amp; co</th><td><strong>80.0</strong> <small>±0.5 *</small></td><td><strong>97.4%</strong></td><td><strong>8 ms</strong></td></tr>
<tr><th scope="row">none</th><td><u>70.0</u></td><td>–</td><td>–</td></tr>
</tbody>
</table>
<p>* p &lt; 0.05</p>
"#;
    assert_eq!(table().html(), expected);
}

/// A table of one column.
fn column(values: &[f64], higher_is_better: bool) -> String {
    let rows = values.iter().map(|value| Row::new("x", [Some(*value)])).collect();
    Table {
        title: String::new(),
        corner: String::new(),
        columns: vec![Column { higher_is_better, ..Column::new("c", 1) }],
        groups: vec![Group { title: None, rows }],
        notes: Vec::new(),
    }
    .markdown()
}

#[test]
fn marks_go_by_what_is_shown() {
    let cases: [(&[f64], bool, [&str; 3]); 6] = [
        (&[1.04, 0.96, 0.5], true, ["**1.0**", "**1.0**", "<ins>0.5</ins>"]),
        (&[3.0, 2.0, 2.0], true, ["**3.0**", "<ins>2.0</ins>", "<ins>2.0</ins>"]),
        (&[3.0, 2.0, 1.0], false, ["3.0", "<ins>2.0</ins>", "**1.0**"]),
        (&[1.0, 1.0, 1.0], true, ["**1.0**", "**1.0**", "**1.0**"]),
        (&[-0.01, 0.01, -1.0], true, ["**0.0**", "**0.0**", "<ins>-1.0</ins>"]),
        (&[f64::NAN, f64::INFINITY, 1.0], true, ["–", "–", "1.0"]),
    ];
    for (values, higher_is_better, expected) in cases {
        let text = column(values, higher_is_better);
        let found: Vec<_> = text.lines().skip(2).collect();
        assert_eq!(found, expected.map(|cell| format!("| x | {cell} |")), "{values:?}");
    }
}

#[test]
fn text_never_breaks_the_table() {
    let mut odd = table();
    odd.groups[1].rows[0].label = "a|b\nc\\d{e}~^#$".to_owned();
    let markdown = odd.markdown();
    assert!(markdown.contains("| a\\|b c\\\\d{e}~^#$ |"), "{markdown}");
    let latex = odd.latex();
    let expected = "a|b c\\textbackslash{}d\\{e\\}\\textasciitilde{}\\textasciicircum{}\\#\\$ &";
    assert!(latex.contains(expected), "{latex}");
    assert!(odd.csv().contains("\"a|b\nc\\d{e}~^#$\""));
    odd.columns.clear();
    odd.groups.push(Group { title: Some("empty".to_owned()), rows: Vec::new() });
    assert!(odd.markdown().contains("| *empty* |"));
}
