//! A component at work.

use crate::Limits;
use crate::value::{lift, lower};
use plait_control_runtime::{Content, Failure, Inputs, Outputs, Port, Signature, Type, Value};
use std::sync::Arc;
use wasmtime::component::{ComponentExportIndex, InstancePre, Val};
use wasmtime::{ResourceLimiter, Store, Trap};

/// A loaded component: compiled, and instantiated for each run.
pub(crate) struct Application {
    instance: InstancePre<Used>,
    entry: ComponentExportIndex,
    signature: Signature,
    /// Of each input and each output, its type in the component.
    inputs: Vec<Type>,
    outputs: Vec<Type>,
    limits: Limits,
}

/// What a run has used of what it may.
pub(crate) struct Used {
    memory: usize,
    exceeded: bool,
}

impl Application {
    pub fn new(
        instance: InstancePre<Used>,
        entry: ComponentExportIndex,
        signature: Signature,
        limits: Limits,
    ) -> Self {
        let inside = |port: &Port| match port.optional {
            true => Type::Option(Box::new(port.schema.clone())),
            false => port.schema.clone(),
        };
        let inputs = signature.inputs.iter().map(inside).collect();
        let outputs = signature.outputs.iter().map(inside).collect();
        Self { instance, entry, signature, inputs, outputs, limits }
    }

    fn parameters(&self, inputs: &Inputs) -> Result<Vec<Val>, Failure> {
        let parameter = |(port, due): (&Port, &Type)| {
            let content = inputs.content(&port.view).map(Content::value);
            let value = match (port.optional, content) {
                (false, None) => return Err(Failure::Absent(port.view.clone())),
                (false, Some(value)) => value.clone(),
                (true, content) => Value::Option(content.map(|value| Arc::new(value.clone()))),
            };
            lower(due, &value).map_err(|fault| Failure::Mismatch { view: port.view.clone(), fault })
        };
        self.signature.inputs.iter().zip(&self.inputs).map(parameter).collect()
    }

    fn call(&self, parameters: &[Val]) -> Result<Val, Failure> {
        let mut store =
            Store::new(self.instance.engine(), Used { memory: self.limits.memory, exceeded: false });
        store.limiter(|used| used);
        // What it hands out grows on this side of the border; it is bounded like what it has itself.
        store.set_hostcall_fuel(self.limits.memory);
        let mut given = [Val::Bool(false)];
        let called = store.set_fuel(self.limits.fuel).and_then(|()| {
            let instance = self.instance.instantiate(&mut store)?;
            let run = instance.get_func(&mut store, self.entry);
            let run = run.ok_or_else(|| wasmtime::Error::msg("`run` is gone"))?;
            run.call(&mut store, parameters, &mut given)
            // What it would tidy up after itself ends with the instance.
        });
        let [given] = given;
        called.map(|()| given).map_err(|fault| match fault.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => Failure::Exhausted(format!("{} units of fuel", self.limits.fuel)),
            _ if store.data().exceeded => {
                Failure::Exhausted(format!("{} bytes of memory", self.limits.memory))
            }
            Some(trap) => Failure::Crashed(trap.to_string()),
            None => Failure::Crashed(fault.root_cause().to_string()),
        })
    }
}

impl plait_control_runtime::Application for Application {
    fn signature(&self) -> Signature {
        self.signature.clone()
    }

    fn run(&self, inputs: &Inputs, outputs: &mut Outputs) -> Result<(), Failure> {
        let other = || Failure::Crashed("it gave something of another type than it said".to_owned());
        let fields = match self.call(&self.parameters(inputs)?)? {
            Val::Result(Ok(Some(fields))) => match *fields {
                Val::Record(fields) => fields,
                _ => return Err(other()),
            },
            Val::Result(Err(Some(said))) => match *said {
                Val::String(said) => return Err(Failure::Failed(said)),
                _ => return Err(other()),
            },
            _ => return Err(other()),
        };
        for ((port, due), (_, found)) in self.signature.outputs.iter().zip(&self.outputs).zip(fields) {
            let value = match (port.optional, lift(due, found).ok_or_else(other)?) {
                (false, value) => value,
                (true, Value::Option(Some(value))) => Arc::unwrap_or_clone(value),
                (true, _) => continue,
            };
            outputs.put(port.view.clone(), Content::plain(value))?;
        }
        Ok(())
    }
}

impl ResourceLimiter for Used {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        self.exceeded |= desired > self.memory;
        Ok(desired <= self.memory)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        // An entry is a pointer and what belongs to it.
        let bytes = desired.saturating_mul(16);
        self.exceeded |= bytes > self.memory;
        Ok(bytes <= self.memory)
    }

    fn memories(&self) -> usize {
        // Choice: one, so that the bound is a bound.
        1
    }

    fn tables(&self) -> usize {
        4
    }

    fn instances(&self) -> usize {
        16
    }
}
