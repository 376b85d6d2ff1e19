//! A core module and its world become a component.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The component of a module that follows the canonical ABI of the world in `wit`.
pub fn component(mut module: Vec<u8>, wit: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("world.wit", wit)?;
    let world = resolve.select_world(package, None)?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    Ok(ComponentEncoder::default().module(&module)?.validate(true).encode()?)
}
