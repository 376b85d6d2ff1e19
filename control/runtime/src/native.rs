//! Applications that are Rust functions, compiled in.

use crate::{Application, Content, Failure, Inputs, Outputs, Port, Signature, View};
use std::marker::PhantomData;
use std::sync::Arc;

/// A function as an application. What it reads and writes follows from its type: it takes a tuple of `Arc`s of
/// [`View`]s, an `Option` round those that need not be there yet, and gives a tuple of [`View`]s, [`Perhaps`] round
/// those that it may leave as they are.
///
/// That it reaches nothing else is its author's to keep: a closure holds what it likes, and is compiled in with Plait. A
/// component (crate `plait-control-component`) cannot.
///
/// ```
/// use plait_control_runtime::{Application, Failure, View, Wit, native, wit};
/// use std::sync::Arc;
///
/// struct Links { up: Vec<u32> }
/// struct Count { up: u32 }
/// wit!(struct Links { up });
/// wit!(struct Count { up });
/// impl View for Links { const NAME: &'static str = "links"; }
/// impl View for Count { const NAME: &'static str = "count"; }
///
/// let count = native(|(links,): (Arc<Links>,)| Ok((Count { up: links.up.len() as u32 },)));
/// assert_eq!(count.signature().inputs[0].view.to_string(), "links@1");
/// ```
pub fn native<In: Taken, Out: Given>(
    function: impl Fn(In) -> Result<Out, Failure> + Send + Sync + 'static,
) -> Arc<dyn Application> {
    Arc::new(Native { function, types: PhantomData })
}

struct Native<In, Out, F> {
    function: F,
    types: PhantomData<fn(In) -> Out>,
}

impl<In: Taken, Out: Given, F> Application for Native<In, Out, F>
where
    F: Fn(In) -> Result<Out, Failure> + Send + Sync + 'static,
{
    fn signature(&self) -> Signature {
        Signature { inputs: In::ports(), outputs: Out::ports() }
    }

    fn run(&self, inputs: &Inputs, outputs: &mut Outputs) -> Result<(), Failure> {
        (self.function)(In::take(inputs)?)?.give(outputs)
    }
}

/// What a native application takes: a tuple of [`Input`]s.
pub trait Taken: Sized + 'static {
    /// The views.
    fn ports() -> Vec<Port>;
    /// Their contents.
    fn take(inputs: &Inputs) -> Result<Self, Failure>;
}

/// What a native application gives: a tuple of [`Output`]s.
pub trait Given: Sized + 'static {
    /// The views.
    fn ports() -> Vec<Port>;
    /// Writes their contents.
    fn give(self, outputs: &mut Outputs) -> Result<(), Failure>;
}

/// One input: an `Arc` of a view, or an `Option` of it.
pub trait Input: Sized + 'static {
    /// The view.
    fn port() -> Port;
    /// Its content.
    fn take(inputs: &Inputs) -> Result<Self, Failure>;
}

/// One output: a view, [`Perhaps`] one, or a [`Shared`] one.
pub trait Output: Sized + 'static {
    /// The view.
    fn port() -> Port;
    /// Writes its content.
    fn give(self, outputs: &mut Outputs) -> Result<(), Failure>;
}

impl<T: View> Input for Arc<T> {
    fn port() -> Port {
        Port::of::<T>()
    }
    fn take(inputs: &Inputs) -> Result<Self, Failure> {
        inputs.read()
    }
}

impl<T: View> Input for Option<Arc<T>> {
    fn port() -> Port {
        Port::of::<T>().optional()
    }
    fn take(inputs: &Inputs) -> Result<Self, Failure> {
        match inputs.content(&T::id()) {
            Some(_) => inputs.read().map(Some),
            None => Ok(None),
        }
    }
}

impl<T: View> Output for T {
    fn port() -> Port {
        Port::of::<T>()
    }
    fn give(self, outputs: &mut Outputs) -> Result<(), Failure> {
        outputs.write(self)
    }
}

/// A view, or nothing where it stays as it is.
pub struct Perhaps<T>(pub Option<T>);

impl<T: View> Output for Perhaps<T> {
    fn port() -> Port {
        Port::of::<T>().optional()
    }
    fn give(self, outputs: &mut Outputs) -> Result<(), Failure> {
        self.0.map_or(Ok(()), |value| outputs.write(value))
    }
}

/// A view that somebody else has, too: that of an input, perhaps.
pub struct Shared<T>(pub Arc<T>);

impl<T: View> Output for Shared<T> {
    fn port() -> Port {
        Port::of::<T>()
    }
    fn give(self, outputs: &mut Outputs) -> Result<(), Failure> {
        outputs.put(T::id(), Content::shared(self.0))
    }
}

macro_rules! tuple {
    ($($part:ident $place:tt),*) => {
        impl<$($part: Input),*> Taken for ($($part,)*) {
            fn ports() -> Vec<Port> {
                vec![$($part::port()),*]
            }
            #[allow(unused_variables, clippy::unused_unit)]
            fn take(inputs: &Inputs) -> Result<Self, Failure> {
                Ok(($($part::take(inputs)?,)*))
            }
        }
        impl<$($part: Output),*> Given for ($($part,)*) {
            fn ports() -> Vec<Port> {
                vec![$($part::port()),*]
            }
            #[allow(unused_variables)]
            fn give(self, outputs: &mut Outputs) -> Result<(), Failure> {
                $(self.$place.give(outputs)?;)*
                Ok(())
            }
        }
    };
}

tuple!();
tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
