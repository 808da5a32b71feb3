//! Jinja's filters by name.

// Every filter has the signature of `FilterFn`: some give their value back, others only look at it.
#![allow(clippy::needless_pass_by_value)]

pub(crate) mod html;
mod numbers;
pub(crate) mod order;
mod select;
mod sequences;
mod text;

use crate::error::{Result, TemplateError, quote};
use crate::evaluate::{Args, Interpreter};
use crate::value::Value;

pub(crate) type FilterFn = fn(&mut Interpreter<'_>, Value, Args) -> Result<Value>;

/// Filters of jinja2 that are left out: random, or with rules of whole libraries behind them.
const REFUSED: [&str; 5] = ["pprint", "random", "striptags", "urlize", "wordwrap"];

/// The filter of a name; an error for one that is left out on purpose.
pub(crate) fn find(name: &str) -> Option<Result<FilterFn, ()>> {
    if REFUSED.contains(&name) {
        return Some(Err(()));
    }
    text_filter(name).or_else(|| other_filter(name)).map(Ok)
}

fn text_filter(name: &str) -> Option<FilterFn> {
    Some(match name {
        "capitalize" => text::capitalize,
        "center" => text::center,
        "e" | "escape" => html::escape,
        "forceescape" => html::force_escape,
        "format" => text::format,
        "indent" => text::indent,
        "join" => text::join,
        "lower" => text::lower,
        "replace" => text::replace,
        "safe" => html::safe,
        "string" => text::string,
        "title" => text::title,
        "tojson" => text::to_json,
        "trim" => text::trim,
        "truncate" => text::truncate,
        "upper" => text::upper,
        "urlencode" => html::url_encode,
        "wordcount" => text::word_count,
        "xmlattr" => html::xml_attributes,
        _ => return None,
    })
}

fn other_filter(name: &str) -> Option<FilterFn> {
    Some(match name {
        "abs" => numbers::abs,
        "attr" => sequences::attr,
        "batch" => sequences::batch,
        "count" | "length" => sequences::length,
        "d" | "default" => sequences::default,
        "dictsort" => order::dict_sort,
        "filesizeformat" => numbers::file_size,
        "first" => sequences::first,
        "float" => numbers::float,
        "groupby" => order::group_by,
        "int" => numbers::int,
        "items" => sequences::items,
        "last" => sequences::last,
        "list" => sequences::list,
        "map" => select::map,
        "max" => order::max,
        "min" => order::min,
        "reject" => select::reject,
        "rejectattr" => select::reject_attr,
        "reverse" => sequences::reverse,
        "round" => numbers::round,
        "select" => select::select,
        "selectattr" => select::select_attr,
        "slice" => sequences::slice,
        "sort" => order::sort,
        "sum" => sequences::sum,
        "unique" => order::unique,
        _ => return None,
    })
}

/// Runs a filter whose name is known only now, a level deeper: filters can be told to run filters.
fn run(interpreter: &mut Interpreter<'_>, name: &str, value: Value, args: Args) -> Result<Value> {
    match find(name) {
        Some(Ok(filter)) => interpreter.deeper(|interpreter| filter(interpreter, value, args)),
        Some(Err(())) => Err(TemplateError::unsupported(format!("the filter {}", quote(name)))),
        None => Err(TemplateError::runtime(format!("no filter is named {}", quote(name)))),
    }
}
