//! Stop strings, wherever token boundaries fall.

/// Lets text through up to a stop string, and holds back what may become one.
#[derive(Debug)]
pub(super) struct StopGate {
    stops: Vec<String>,
    held: String,
}

impl StopGate {
    pub(super) fn new(stops: Vec<String>) -> Self {
        Self { stops, held: String::new() }
    }

    /// Takes in text; returns what is certain to be part of the answer, and the stop string if one
    /// came up.
    pub(super) fn push(&mut self, text: &str) -> (String, Option<String>) {
        self.held.push_str(text);
        let found = self.stops.iter().filter_map(|stop| Some((self.held.find(stop)?, stop)));
        if let Some((at, stop)) = found.min_by_key(|&(at, stop)| (at, usize::MAX - stop.len())) {
            let stop = Some(stop.clone());
            self.held.truncate(at);
            return (std::mem::take(&mut self.held), stop);
        }
        let certain = self.held.len() - self.open();
        let rest = self.held.split_off(certain);
        (std::mem::replace(&mut self.held, rest), None)
    }

    /// What was held back and is part of the answer after all.
    pub(super) fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// Length of the longest end of the text that a stop string begins with.
    fn open(&self) -> usize {
        let begins = |stop: &String| {
            let starts = stop.char_indices().map(|(at, _)| at).skip(1);
            starts.filter(|&at| self.held.ends_with(&stop[..at])).max().unwrap_or(0)
        };
        self.stops.iter().map(begins).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(stops: &[&str], pieces: &[&str]) -> (String, Option<String>) {
        let stops: Vec<String> = stops.iter().map(ToString::to_string).collect();
        let mut gate = StopGate::new(stops);
        let mut out = String::new();
        for piece in pieces {
            let (text, stop) = gate.push(piece);
            out.push_str(&text);
            if let Some(stop) = stop {
                return (out, Some(stop));
            }
        }
        out.push_str(&gate.finish());
        (out, None)
    }

    #[test]
    fn stops_across_pieces_and_emits_nothing_of_it() {
        assert_eq!(feed(&["###"], &["a#", "#", "#b"]), ("a".into(), Some("###".into())));
        assert_eq!(feed(&["é!"], &["café", "!"]), ("caf".into(), Some("é!".into())));
    }

    #[test]
    fn what_only_looked_like_a_stop_comes_out() {
        assert_eq!(feed(&["END"], &["EN", "EN", "D", "x"]), ("EN".into(), Some("END".into())));
        assert_eq!(feed(&["END"], &["the E", "N"]), ("the EN".into(), None));
    }

    #[test]
    fn the_first_stop_wins() {
        assert_eq!(feed(&["cd", "b"], &["abcd"]), ("a".into(), Some("b".into())));
    }
}
