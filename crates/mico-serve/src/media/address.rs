//! Which addresses the server may connect to on behalf of a client: global ones. Everything that could mean this
//! machine, its network or its cloud's metadata service is refused, also where it is wrapped into another address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks of IPv4 that are not global, with the lengths of their prefixes.
const LOCAL_V4: [([u8; 4], u32); 15] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// Networks of IPv6 that are not global, or that wrap an address of IPv4: mapped and compatible ones, NAT64, Teredo,
/// 6to4.
const LOCAL_V6: [([u16; 8], u32); 12] = [
    // `::`, `::1` and everything that wraps an address of IPv4 in the last 32 bits.
    ([0, 0, 0, 0, 0, 0, 0, 0], 96),
    ([0, 0, 0, 0, 0, 0xffff, 0, 0], 96),
    ([0, 0, 0, 0, 0xffff, 0, 0, 0], 96),
    ([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96),
    ([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48),
    ([0x100, 0, 0, 0, 0, 0, 0, 0], 64),
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 32),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16),
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 9),
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8),
];

/// Whether an address is out in the world.
pub fn is_global(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let bits = address.to_bits();
            !LOCAL_V4.iter().any(|(network, prefix)| {
                let network = Ipv4Addr::from(*network).to_bits();
                (bits ^ network) >> (32 - prefix) == 0
            })
        }
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            !LOCAL_V6.iter().any(|(network, prefix)| {
                let network = Ipv6Addr::from(*network).to_bits();
                (bits ^ network) >> (128 - prefix) == 0
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_last_address_of_every_local_network_is_refused() {
        for (network, prefix) in LOCAL_V4 {
            let first = Ipv4Addr::from(network).to_bits();
            let last = first | (u32::MAX.checked_shr(prefix).unwrap_or(0));
            for bits in [first, last] {
                assert!(!is_global(Ipv4Addr::from_bits(bits).into()), "{network:?}");
            }
        }
        for text in [
            "::",
            "::1",
            "::ffff:8.8.8.8",
            "::8.8.8.8",
            "64:ff9b::808:808",
            "64:ff9b:1::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "feff::1",
            "ff02::1",
            "2001::1",
            "2001:db8::1",
            "2002:808:808::1",
            "100::1",
            "255.255.255.255",
            "169.254.169.254",
        ] {
            assert!(!is_global(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn neighbours_of_local_networks_are_global() {
        for text in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1",
            "2a00:1450::1",
            "2001:4860:4860::8888",
            "64:ff9b:2::1",
            "fbff::1",
        ] {
            assert!(is_global(text.parse().unwrap()), "{text}");
        }
    }
}
