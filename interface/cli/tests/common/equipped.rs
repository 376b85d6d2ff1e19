//! What tests of guests start from.

use super::common::{Person, installed, skip};
use plait_testbed_guest::Image;
use plait_testbed_runtime::control::{Directory, Testbed};
use std::time::Instant;

/// A person with root's rights and an image, where both can be had.
pub fn prepared() -> Option<(Person, Image)> {
    let person = Person::root()?;
    for program in ["qemu-system-x86_64", "mmdebstrap", "tc"] {
        if !installed(program) {
            return None;
        }
    }
    let started = Instant::now();
    match Image::prepare(&[]) {
        Ok(image) => {
            println!("the image was ready after {:?}", started.elapsed());
            Some((person, image))
        }
        Err(error) => {
            skip(&format!("no image for guests could be had: {error}"));
            None
        }
    }
}

/// A testbed as guests want it.
pub fn handle(person: &Person, testbed: &str) -> Testbed {
    Testbed::find_in(Directory::at(person.sockets()).unwrap(), Some(testbed)).unwrap()
}
