//! From a component's bytes to an application.

use crate::application::Application;
use crate::schema::{NoSchema, schema};
use plait_control_runtime::{Declared, Kind, Manifest, ManifestFault, Name, Port, Signature, Type};
use std::sync::Arc;
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, Linker, types};
use wasmtime::{Config, Engine};

/// What one run of a component may use, where its manifest does not say less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Instructions of WebAssembly, about.
    pub fuel: u64,
    /// Bytes of memory.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        // Choice: seconds of one processor, and what the views of a network of a thousand nodes need.
        Self { fuel: 4_000_000_000, memory: 256 << 20 }
    }
}

/// Why a component is not taken as an application.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadFault {
    /// It is no component, or one that uses what is switched off.
    #[error("it is no component: {0}")]
    Malformed(String),
    /// It imports something.
    #[error("it imports {0}, and nothing is reachable from inside")]
    Import(String),
    /// It exports something else than `run`.
    #[error("it exports {0}, and there is one entry point, `run`")]
    Export(String),
    /// It exports no function `run`.
    #[error("it exports no function `run`")]
    NoRun,
    /// What `run` gives is not `result<record, string>`.
    #[error("`run` gives {0}, where result<a record with a field for each output, string> is due")]
    Result(String),
    /// A view of it can be none.
    #[error("{view} is {fault}")]
    View {
        /// The parameter's or field's name.
        view: String,
        /// What is wrong.
        fault: NoSchema,
    },
    /// It is optional by its manifest, and no `option` in its code.
    #[error("{0} is optional in its manifest and no `option` in its code")]
    NotOptional(Name),
    /// Its manifest does not say what its code does.
    #[error(transparent)]
    Manifest(#[from] ManifestFault),
}

/// Loads components. What they become shares the loader's engine.
pub struct Loader {
    engine: Engine,
    limits: Limits,
}

impl Loader {
    /// A loader of components that may use so much. Fails where the machine has no compiler for it.
    pub fn new(limits: Limits) -> Result<Self, LoadFault> {
        let mut config = Config::new();
        config
            .consume_fuel(true)
            // The same inputs give the same outputs, on every machine.
            .cranelift_nan_canonicalization(true)
            .relaxed_simd_deterministic(true)
            // Bounds are checked by code, not by faults: no signal handler in the process, and no gigabytes reserved.
            .signals_based_traps(false)
            .memory_reservation(0)
            .memory_guard_size(0);
        let engine = Engine::new(&config).map_err(malformed)?;
        Ok(Self { engine, limits })
    }

    /// A component as an application, to be added under its manifest. Cost: its compilation, milliseconds for
    /// kilobytes.
    ///
    /// Checked are that it imports nothing, that it exports `run` alone, and that this reads and writes exactly what
    /// the manifest says. That a run may use less is the manifest's to say, too.
    pub fn load(
        &self,
        manifest: &Manifest,
        component: &[u8],
    ) -> Result<Arc<dyn plait_control_runtime::Application>, LoadFault> {
        let component = Component::from_binary(&self.engine, component).map_err(malformed)?;
        let outside = component.component_type();
        if let Some((name, _)) =
            outside.imports(&self.engine).find(|(_, item)| !only_types(item, &self.engine))
        {
            return Err(LoadFault::Import(name.to_owned()));
        }
        let mut run = None;
        for (name, item) in outside.exports(&self.engine) {
            match item {
                ComponentItem::ComponentFunc(found) if name == "run" => run = Some(found),
                item if only_types(&item, &self.engine) => {}
                _ => return Err(LoadFault::Export(name.to_owned())),
            }
        }
        let signature = signature(manifest, &run.ok_or(LoadFault::NoRun)?)?;
        manifest.check(&signature)?;
        let entry = component.get_export_index(None, "run").ok_or(LoadFault::NoRun)?;
        let instance = Linker::new(&self.engine).instantiate_pre(&component).map_err(malformed)?;
        let memory = manifest.memory.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let limits = Limits {
            fuel: manifest.fuel.map_or(self.limits.fuel, |fuel| fuel.min(self.limits.fuel)),
            memory: memory.map_or(self.limits.memory, |memory| memory.min(self.limits.memory)),
        };
        Ok(Arc::new(Application::new(instance, entry, signature, limits)))
    }
}

fn malformed(fault: wasmtime::Error) -> LoadFault {
    LoadFault::Malformed(format!("{fault:#}"))
}

/// Types are names for what functions say, and nothing that can be called or kept.
fn only_types(item: &ComponentItem, engine: &Engine) -> bool {
    match item {
        ComponentItem::Type(_) => true,
        ComponentItem::ComponentInstance(inside) => {
            inside.exports(engine).all(|(_, item)| only_types(&item, engine))
        }
        _ => false,
    }
}

fn signature(manifest: &Manifest, run: &ComponentFunc) -> Result<Signature, LoadFault> {
    let mut given = run.results();
    let outputs = match (given.next(), given.next()) {
        (Some(types::Type::Result(result)), None) => match (result.ok(), result.err()) {
            (Some(types::Type::Record(record)), Some(types::Type::String)) => Ok(record),
            _ => Err("another result".to_owned()),
        },
        (Some(other), None) => {
            Err(schema(&other).map_or_else(|fault| fault.to_string(), |due| due.to_string()))
        }
        _ => Err("nothing".to_owned()),
    };
    let outputs = outputs.map_err(LoadFault::Result)?;
    let input = |(name, found): (&str, types::Type)| port(&manifest.inputs, name, &found);
    let output = |field: types::Field<'_>| port(&manifest.outputs, field.name, &field.ty);
    Ok(Signature {
        inputs: run.params().map(input).collect::<Result<_, _>>()?,
        outputs: outputs.fields().map(output).collect::<Result<_, _>>()?,
    })
}

/// A parameter or a field as a view. What the manifest does not declare gets version 1, to be named in the complaint.
fn port(declared: &[Declared], name: &str, found: &types::Type) -> Result<Port, LoadFault> {
    let wrong = |fault| LoadFault::View { view: name.to_owned(), fault };
    let found = schema(found).map_err(wrong)?;
    let name: Name = name.parse().map_err(|fault| wrong(NoSchema::Name(fault)))?;
    let (view, kind, optional) = match declared.iter().find(|declared| declared.view.name == name) {
        Some(declared) => (declared.view.clone(), declared.kind, declared.optional),
        None => (plait_control_runtime::ViewId { name, version: 1 }, Kind::State, false),
    };
    let schema = match (optional, found) {
        (false, found) => found,
        (true, Type::Option(some)) => *some,
        (true, _) => return Err(LoadFault::NotOptional(view.name)),
    };
    Ok(Port { view, kind, schema, optional })
}
