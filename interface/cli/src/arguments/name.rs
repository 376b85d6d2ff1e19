//! Names of agents and controllers, which are names of files, too.

/// A name that is a file's: nothing else may be reached by it.
///
/// # Errors
/// What makes one.
pub fn name(text: &str) -> Result<String, String> {
    let good = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if text.is_empty() || text.starts_with('.') || !text.chars().all(good) {
        return Err("letters, digits, - and _ make one".to_owned());
    }
    Ok(text.to_owned())
}
