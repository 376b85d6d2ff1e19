//! What a run is about, in words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The words of the report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Report")]
pub struct Question {
    /// Title of the report; the network's name when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The question the run answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Remarks a reader should have, one paragraph each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
