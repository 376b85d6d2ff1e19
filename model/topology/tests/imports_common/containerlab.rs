//! containerlab's topology files.

/// FRR routers with hosts, inheritance, both forms of links, and most of what has no place here.
pub const LAB: &str = r#"# yaml-language-server: $schema=https://example.net/clab.schema.json
name: two-sites
prefix: ""
mgmt:
  network: mgmt
  ipv4-subnet: 172.20.30.0/24

topology:
  defaults:
    kind: linux
    env: {SITE: both}
  kinds:
    linux:
      sysctls:
        net.ipv4.tcp_ecn: 1
        kernel.msgmax: 65536
  groups:
    routers:
      image: quay.io/frrouting/frr:10.2.1
      binds:
        - __clabNodeName__/frr.conf:/etc/frr/frr.conf:ro
        - daemons:/etc/frr/daemons
    hosts:
      image: alpine:3
  nodes:
    r1: {group: routers}
    r2: {group: routers, cpu: 0.5, memory: 512mib, cpu-set: "0-1"}
    pc1:
      group: hosts
      exec:
        - ip link set eth1 up
        - ip addr add 192.168.1.2/24 dev eth1
        - ip -6 a add dev eth1 2001:db8:1::2/64
        - ip route add 192.168.0.0/16 via 192.168.1.1 dev eth1
        - ip r a default via 172.20.30.1
        - echo "started at $(date)" > /tmp/started
      binds:
        - ./pc1/index.html:/srv/index.html
        - /lib/modules:/lib/modules
        - pc1/www:/srv/www
      ports: ["8080:80"]
      mgmt-ipv4: 172.20.30.9
    pc2:
      group: hosts
      exec:
        - >
          ash -c 'ip link set dev eth1 up &&
          ip addr add dev eth1 192.168.2.2/24 &&
          sysctl -w net.ipv4.ip_forward=1'
      sysctls: {net.ipv4.tcp_ecn: 0}
    pc3: {group: hosts}
    lan0:
      kind: bridge
    core1:
      kind: nokia_srlinux
      image: ghcr.io/nokia/srlinux
      startup-config: core1.cfg
    outside: {kind: host}
  links:
    - endpoints: ["r1:eth1", "r2:eth1"]
      mtu: 9000
    - type: veth
      mtu: 1400
      endpoints:
        - node: r1
          interface: eth2
          mac: 00:c1:ab:00:00:01
          ipv4: 10.9.0.1/30
        - node: core1
          interface: ethernet-1/1
          ipv4: 10.9.0.2/30
    - endpoints: ["pc1:eth1", "lan0:pc1"]
    - endpoints: ["r1:eth3", "lan0:r1"]
    - endpoints: ["pc2:eth1", "r2:eth2"]
      ipv4: ["", "192.168.2.1/24"]
    - endpoints: ["pc2:eth2", "pc3:eth1"]
    - endpoints: ["pc3:eth2", "host:pc3"]
    - type: vxlan
      endpoint: {node: pc3, interface: eth3}
      remote: 10.0.0.9
      vni: 100
"#;

/// A lab that leaves addresses to whoever builds it.
pub const BARE_LAB: &str = "name: bare\ntopology:\n  nodes:\n    a: {kind: linux, image: frrouting/frr}\n\
\x20   b: {kind: linux, image: \"docker.io/frrouting/frr:v8.4.1\"}\n  links:\n    - endpoints: [a:eth1, b:eth1]\n";
