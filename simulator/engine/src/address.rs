//! Addresses as numbers, so that a packet carries four bytes and a table is an array.

use std::collections::HashMap;
use std::net::IpAddr;

/// An address by its place in the [`AddressBook`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressIndex(pub(crate) u32);

/// Every address that a packet of this simulation bears.
#[derive(Debug, Clone, Default)]
pub(crate) struct AddressBook {
    addresses: Vec<IpAddr>,
    /// Who has it; [`NOBODY`] has none.
    owners: Vec<u32>,
    places: HashMap<IpAddr, u32>,
}

/// The owner of an address that no node has.
pub(crate) const NOBODY: u32 = u32::MAX;

impl AddressBook {
    /// The number of an address, which it is given where it has none.
    pub fn intern(&mut self, address: IpAddr) -> AddressIndex {
        let next = self.addresses.len() as u32;
        let place = *self.places.entry(address).or_insert(next);
        if place == next {
            self.addresses.push(address);
            self.owners.push(NOBODY);
        }
        AddressIndex(place)
    }

    /// The number of an address that has one.
    pub fn find(&self, address: IpAddr) -> Option<AddressIndex> {
        self.places.get(&address).copied().map(AddressIndex)
    }

    /// Gives an address to a node; false if another has it.
    pub fn own(&mut self, address: IpAddr, node: u32) -> bool {
        let AddressIndex(place) = self.intern(address);
        let owner = &mut self.owners[place as usize];
        let is_free = *owner == NOBODY || *owner == node;
        if is_free {
            *owner = node;
        }
        is_free
    }

    #[inline]
    pub fn owner(&self, address: AddressIndex) -> u32 {
        self.owners[address.0 as usize]
    }

    #[inline]
    pub fn address(&self, address: AddressIndex) -> IpAddr {
        self.addresses[address.0 as usize]
    }

    pub fn all(&self) -> impl Iterator<Item = (AddressIndex, IpAddr)> + '_ {
        self.addresses.iter().enumerate().map(|(place, address)| (AddressIndex(place as u32), *address))
    }
}
