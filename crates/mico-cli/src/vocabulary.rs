//! Words a model cannot know: those that its tokenizer has nothing for but the unknown token.

use mico_engine::tokenizer::Tokenizer;
use mico_util::text::quoted;

/// The longest list of words that is written out.
const LISTED: usize = 100;
/// The most unknown words that are named.
const NAMED: usize = 8;

/// What to say before an answer to a question with unknown words; `None` if there are none. `example` is a
/// question the model was made for.
pub(crate) fn note(tokenizer: &Tokenizer, question: &str, example: Option<&str>) -> Option<String> {
    let unknown = unknown_words(tokenizer, question)?;
    if unknown.is_empty() {
        return None;
    }
    let named: Vec<String> =
        unknown.iter().take(NAMED).map(|word| format!("'{}'", quoted(word))).collect();
    let more = unknown.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let mut note = format!("note: the model does not know {}{more}", named.join(", "));
    let words = known_words(tokenizer);
    if let Some(words) = words {
        note += &["; its words are: ", &words.join(" ")].concat();
    }
    if let Some(example) = example {
        note += &["; ask for example \"", example, "\""].concat();
    }
    Some(note)
}

/// The words of a text that become the unknown token; `None` if the tokenizer has no such token.
fn unknown_words(tokenizer: &Tokenizer, text: &str) -> Option<Vec<String>> {
    let unknown = tokenizer.id(tokenizer.named("unk_token")?)?;
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut found: Vec<String> = Vec::new();
    for word in words {
        let ids = tokenizer.encode_continued(word).ok()?;
        if ids.contains(&unknown) && found.iter().all(|known| known != word) {
            found.push(word.to_owned());
        }
    }
    Some(found)
}

/// All words of a vocabulary, if it is small enough to be read.
fn known_words(tokenizer: &Tokenizer) -> Option<Vec<String>> {
    let specials = tokenizer.specials();
    let tokens = (0..).map_while(|id| tokenizer.token(id)).take(LISTED + 1);
    let is_word = |token: &String| {
        token.chars().all(char::is_alphanumeric)
            && specials.iter().all(|special| special.text != *token)
    };
    let words: Vec<String> = tokens.filter(is_word).collect();
    (words.len() < LISTED && tokenizer.token(LISTED as u32).is_none()).then_some(words)
}

#[cfg(test)]
mod tests {
    use mico_model::ModelFiles;

    use super::*;

    #[test]
    fn unknown_words_are_named_with_what_is_known() {
        let tokenizer = Tokenizer::open(ModelFiles::Memory(&mico_tiny::MODEL)).unwrap();
        let note = |question: &str| note(&tokenizer, question, Some(mico_tiny::EXAMPLE));
        assert_eq!(note(mico_tiny::EXAMPLE), None);
        assert_eq!(note("What Color is the star?"), None);
        let said = note("Describe the cat on my sofa, the cat!").unwrap();
        assert!(said.contains("know 'Describe', 'cat', 'my', 'sofa'; its words"), "{said}");
        assert!(said.contains("purple") && said.contains(mico_tiny::EXAMPLE), "{said}");
        assert!(note("\u{3053}\u{308c}\u{306f}?").unwrap().contains('\u{3053}'));
        let many = note("one two three four five six seven eight nine ten").unwrap();
        assert!(many.contains(" and 2 more"), "{many}");
    }
}
