//! Makes a component of a core module and its world: `componentize MODULE.wasm WORLD.wit COMPONENT.wasm`. Bytecode
//! Alliance's `wasm-tools component embed` and `component new` do the same.

mod encode;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, world, component] = &arguments[..] else {
        return Err("componentize MODULE.wasm WORLD.wit COMPONENT.wasm".into());
    };
    let encoded = encode::component(std::fs::read(module)?, &std::fs::read_to_string(world)?)?;
    std::fs::write(component, encoded)?;
    Ok(())
}
