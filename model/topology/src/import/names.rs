//! Names that nodes may have, from labels that people wrote on maps.

use crate::resolve::is_no_host;
use std::collections::{HashMap, HashSet};

/// Longest name of a node; RFC 1123's longest host name label.
const LONGEST: usize = 63;

/// The names given so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: HashSet<String>,
    /// How often a name that is shared was asked for, so that the next of a thousand is found at once.
    asked: HashMap<String, usize>,
}

/// A name, and what is lost with the label.
pub(super) struct Given {
    pub name: String,
    pub loss: Option<String>,
}

impl Names {
    /// A name from a label, unlike all before in more than case, since hostnames know no case (RFC 1123). White space
    /// and `+`, which stands for it in REPETITA's files, become hyphens.
    pub fn give(&mut self, label: Option<&str>, fallback: &str) -> Given {
        let (mut name, mut plain) = clean(label.unwrap_or_default());
        let mut loss = None;
        if name.is_empty() {
            (name, plain) = clean(fallback);
            if name.is_empty() {
                name = "node".to_owned();
            }
            loss = Some(format!("has no usable label and is called `{name}`"));
        }
        if is_no_host(&name) {
            name = format!("n{name}");
            if is_no_host(&name) {
                name = name.replace('.', "-");
            }
            name.truncate(LONGEST);
            plain = false;
        }
        let base = name.clone();
        let mut count = 1;
        while !self.taken.insert(name.to_ascii_lowercase()) {
            let asked = self.asked.entry(base.to_ascii_lowercase()).or_insert(1);
            *asked += 1;
            count = *asked;
            let suffix = format!("_{count}");
            name = base.clone();
            name.truncate(LONGEST - suffix.len());
            name += &suffix;
        }
        if count > 1 {
            loss = Some(format!("shares its label with another and is called `{name}`"));
        } else if !plain && loss.is_none() {
            loss = Some(format!("has a label that cannot be a host's name and is called `{name}`"));
        }
        Given { name, loss }
    }
}

/// The label in letters, digits, `-`, `_` and `.`, and whether it reads as before.
fn clean(label: &str) -> (String, bool) {
    let mut name = String::new();
    let mut plain = true;
    for c in label.trim().chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '.' | '-' => name.push(c),
            '+' | ',' | '/' | '(' | ')' | '&' | '\'' => separate(&mut name),
            c if c.is_whitespace() => separate(&mut name),
            c => {
                plain = false;
                match without_marks(c) {
                    Some(letters) => name.push_str(letters),
                    None => separate(&mut name),
                }
            }
        }
    }
    let start = name.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(name.len());
    let mut name = name[start..].to_owned();
    if name.len() > LONGEST {
        name.truncate(LONGEST);
        plain = false;
    }
    (name.trim_end_matches(['-', '.']).to_owned(), plain)
}

fn separate(name: &mut String) {
    if !name.is_empty() && !name.ends_with('-') {
        name.push('-');
    }
}

/// Latin letters without their marks: the ones that European place names have.
fn without_marks(c: char) -> Option<&'static str> {
    Some(match c {
        'á' | 'à' | 'â' | 'ã' | 'å' | 'ă' | 'ą' | 'ā' => "a",
        'Á' | 'À' | 'Â' | 'Ã' | 'Å' | 'Ă' | 'Ą' | 'Ā' => "A",
        'ä' | 'æ' => "ae",
        'Ä' | 'Æ' => "Ae",
        'ç' | 'ć' | 'č' => "c",
        'Ç' | 'Ć' | 'Č' => "C",
        'ď' | 'đ' | 'ð' => "d",
        'Ď' | 'Đ' => "D",
        'é' | 'è' | 'ê' | 'ë' | 'ę' | 'ě' | 'ė' | 'ē' => "e",
        'É' | 'È' | 'Ê' | 'Ë' | 'Ę' | 'Ě' => "E",
        'ğ' => "g",
        'í' | 'ì' | 'î' | 'ï' | 'ı' | 'ī' => "i",
        'Í' | 'Ì' | 'Î' | 'Ï' | 'İ' => "I",
        'ł' | 'ľ' | 'ļ' => "l",
        'Ł' | 'Ľ' => "L",
        'ñ' | 'ń' | 'ň' | 'ņ' => "n",
        'Ñ' | 'Ń' | 'Ň' => "N",
        'ó' | 'ò' | 'ô' | 'õ' | 'ő' => "o",
        'Ó' | 'Ò' | 'Ô' | 'Õ' | 'Ő' => "O",
        'ö' | 'ø' | 'œ' => "oe",
        'Ö' | 'Ø' | 'Œ' => "Oe",
        'ř' => "r",
        'Ř' => "R",
        'ś' | 'š' | 'ş' | 'ș' => "s",
        'Ś' | 'Š' | 'Ş' | 'Ș' => "S",
        'ß' => "ss",
        'ť' | 'ţ' | 'ț' => "t",
        'ú' | 'ù' | 'û' | 'ů' | 'ű' | 'ū' => "u",
        'Ú' | 'Ù' | 'Û' | 'Ů' => "U",
        'ü' => "ue",
        'Ü' => "Ue",
        'ý' | 'ÿ' => "y",
        'ź' | 'ż' | 'ž' => "z",
        'Ź' | 'Ż' | 'Ž' => "Z",
        _ => return None,
    })
}
