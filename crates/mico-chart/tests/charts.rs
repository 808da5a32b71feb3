//! Charts of every kind, with reasonable and with hostile contents.

// Helpers here state their expectations by unwrapping, as tests do.
#![allow(clippy::unwrap_used)]

use mico_chart::{
    Axis, Better, Chart, Interval, Intervals, Point, Reference, Row, Series, Tone, grid,
};
use mico_vision::Size;
use mico_vision::decode::{DecodeOptions, decode};
use roxmltree::{Document, Node};

fn interval(value: f64) -> Interval {
    Interval { value, low: value - 30.0, high: value + 2.0 }
}

/// So many curves over three budgets, and a level.
fn curves(count: usize) -> Chart {
    let curve = |index: usize| {
        let points = [32.0, 64.0, 128.0].map(|x| Point::new(x, interval(x / 2.0)));
        Series::curve(format!("method <{index}>"), points)
    };
    Chart::new("a < b", Axis::new("T").doubling().ticks_at_points(), Axis::new("Acc"))
        .series((0..count).map(curve))
        .references([Reference::level("unpruned", 90.0)])
}

/// Named points of several series with a front.
fn pareto(count: u32) -> Chart {
    let point = |x: f64, y: f64| Point::new(Interval { value: x, low: x - 1.0, high: x + 1.0 }, y);
    let series = (0..count).map(|index| {
        let base = f64::from(index);
        let points = [1.0, 2.0, 3.0]
            .map(|x| point(x + base * 0.1, 90.0 - x * base).labeled(format!("m{index} {x}")));
        Series::curve(format!("m{index}"), points)
    });
    Chart::pareto("quality", ["cost", "gain"], Better::Less)
        .subtitle("of something")
        .series(series)
        .references([Reference::diagonal("equal")])
        .intervals(Intervals::Whiskers, "95 % interval")
}

/// Rows of intervals.
fn rows(count: usize) -> Chart {
    let row = |index: usize| Row { name: format!("row {index}"), note: "0.5 (0.4 to 0.6)".into() };
    let points = (0..count).map(|index| Point::new(interval(40.0), -(index as f64)));
    Chart::new("rows", Axis::new("x"), Axis::rows((0..count).map(row)))
        .series([Series::markers("attention", points)])
        .references([Reference::upright("chance", 0.5)])
        .intervals(Intervals::Whiskers, "95 %")
}

/// A cloud with a line through it, and a star.
fn cloud(count: u32) -> Chart {
    let points = (0..count).map(|i| Point::new(f64::from(i * i % 97), f64::from(i)));
    Chart::new("cloud", Axis::new("x"), Axis::new("y"))
        .series([
            Series::cloud("many", points),
            Series::star("chosen", Point::new(1.0, 2.0)).toned(Tone::Ink),
        ])
        .references([Reference::segment("trend", [(0.0, 0.0), (90.0, 90.0)]).of(0)])
}

fn all(count: u32) -> Vec<Chart> {
    vec![curves(count as usize), pareto(count), rows(count as usize), cloud(count)]
}

/// Every place that a shape names.
fn places(node: Node<'_, '_>) -> Vec<(f64, f64)> {
    let number = |name| node.attribute(name).map(|text: &str| text.parse::<f64>().unwrap());
    let listed = node.attribute("points").unwrap_or_default().split_whitespace().map(|pair| {
        let (x, y) = pair.split_once(',').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    });
    let centers = number("cx").zip(number("cy")).into_iter().chain(number("x").zip(number("y")));
    listed.chain(centers).collect()
}

/// Parses a chart's SVG and holds that all of it is numbers inside of the picture.
fn check(chart: &Chart) -> String {
    let drawing = chart.draw();
    let svg = drawing.svg();
    let document = Document::parse(&svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
    let (width, height) = drawing.size();
    for node in document.descendants().filter(Node::is_element) {
        for (x, y) in places(node) {
            let inside =
                (0.0..=f64::from(width)).contains(&x) && (0.0..=f64::from(height)).contains(&y);
            assert!(inside, "{:?} {x} {y}", node.tag_name());
        }
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf,") && !svg.contains(",inf"), "{svg}");
    svg
}

#[test]
fn everything_is_inside() {
    for count in [0, 1, 2, 3, 5, 8, 13, 30] {
        for chart in all(count) {
            check(&chart);
        }
        let svg = check(&curves(count as usize));
        assert!(svg.contains("a &lt; b") && svg.contains("unpruned"));
        // One curve and its reference need a legend, too.
        assert_eq!(svg.matches("method &lt;").count(), count as usize);
    }
}

#[test]
fn a_png_has_two_pixels_to_a_unit() {
    for chart in all(4) {
        let drawing = chart.draw();
        let (width, height) = drawing.size();
        let png = decode(&drawing.png().unwrap(), &DecodeOptions::default()).unwrap();
        assert_eq!(png.size(), Size::new(2 * width, 2 * height));
        let inked = png.data().chunks_exact(3).filter(|pixel| *pixel != [255; 3]).count();
        assert!(inked > 2000, "{inked} pixels of {}", chart.title);
    }
    let whole = grid(&all(3), 2);
    assert_eq!(whole.size().0, 2 * 1200);
    assert!(whole.svg().matches("<text").count() > 40);
    assert!(grid(&[], 0).png().is_ok());
}

#[test]
fn legends_grow_downwards_and_stay_bounded() {
    let (usual, high) = (curves(3).draw().size(), curves(40).draw().size());
    assert!(usual.0 == high.0 && usual.1 < high.1);
    let svg = check(&curves(500));
    assert!(svg.contains("and 442 more"), "{svg}");
    assert!(curves(500).draw().size().1 < 1500);
    let alone = curves(1).references([]);
    assert!(!check(&alone).contains("method"), "the title names the only series");
}

#[test]
fn what_is_no_number_is_left_out() {
    let mut odd = curves(2);
    odd.series[0].points = vec![Point::new(0.0, 1.0)];
    odd.series[1].points.push(Point::new(256.0, f64::NAN));
    odd.series[1]
        .points
        .push(Point::new(64.0, Interval { value: 3.0, low: f64::NEG_INFINITY, high: f64::NAN }));
    odd.references = vec![
        Reference::level("nowhere", f64::INFINITY),
        Reference::segment("nowhere", [(1.0, 2.0), (-1.0, 2.0)]),
    ];
    let svg = check(&odd);
    assert!(!svg.contains(">256<") && !svg.contains("nowhere"), "{svg}");
    assert!(odd.draw().png().is_ok());
}

#[test]
fn numbers_of_any_size_are_drawn_or_left_out() {
    let numbers = [f64::NAN, f64::INFINITY, f64::MIN, f64::MAX, 1e-308, -1e99, 1e99, 0.0, 1e12];
    for (index, &a) in numbers.iter().enumerate() {
        for &b in &numbers[index..] {
            for mut chart in all(2) {
                let odd = Interval { value: b, low: a, high: f64::NAN };
                for series in &mut chart.series {
                    series.points = vec![Point::new(a, odd), Point::new(odd, a).labeled("odd")];
                }
                check(&chart);
            }
        }
    }
}

#[test]
fn hostile_texts_are_only_texts() {
    let texts = [
        String::new(),
        "x".repeat(100_000),
        "word ".repeat(9_999),
        "</svg><script>alert('x')</script>\"&amp;]]>".into(),
        "\u{0}\u{1}\u{8}\u{b}\u{1f}\u{7f}\u{85}\n\r\t\u{fffe}\u{ffff}".into(),
        "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{645}\u{631}\u{62d}\u{628}\u{627} \u{202e}abc".into(),
        "\u{1f600}\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{4f60}\u{597d} e\u{301}".into(),
        "\u{301}\u{301}\u{301}".into(),
    ];
    for text in texts {
        for mut chart in all(3) {
            chart.title.clone_from(&text);
            chart.subtitle.clone_from(&text);
            chart.x.label.clone_from(&text);
            chart.y.label.clone_from(&text);
            chart.interval_name.clone_from(&text);
            for series in &mut chart.series {
                series.name.clone_from(&text);
                series.points.iter_mut().for_each(|point| point.label.clone_from(&text));
            }
            for reference in &mut chart.references {
                reference.name.clone_from(&text);
            }
            if chart.title.len() < 100 {
                assert!(chart.draw().png().is_ok());
            }
            let svg = check(&chart);
            assert!(
                !svg.contains("<script") && !svg.contains('\u{202e}') && !svg.contains('\u{7}')
            );
            assert!(svg.len() < 60_000, "{} bytes", svg.len());
            let inline = chart.draw().inline_svg(&text);
            assert!(Document::parse(&inline).is_ok(), "{inline}");
        }
    }
}

#[test]
fn rows_have_their_names_and_notes_beside_them() {
    let svg = check(&rows(3));
    for index in 0..3 {
        assert!(svg.contains(&format!(">row {index}<")));
    }
    assert_eq!(svg.matches(">0.5 (0.4 to 0.6)<").count(), 3);
    let tops: Vec<f64> = ["row 0", "row 1", "row 2"]
        .map(|name| {
            let document = Document::parse(&svg).unwrap();
            let node = document.descendants().find(|node| node.text() == Some(name)).unwrap();
            places(node.parent().filter(|n| n.has_tag_name("text")).unwrap_or(node))[0].1
        })
        .to_vec();
    assert!(tops.is_sorted(), "the first row is on top: {tops:?}");
}
