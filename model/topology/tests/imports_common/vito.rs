//! VITO's XML.

/// Most of what the schema has.
pub const HYBRID: &str = r#"<?xml version="1.0"?>
<experiment name="hybrid" seed="7" repeats="5" duration="40s">
  <description>Two
    paths.</description>
  <factor name="far" levels="10ms 100ms"/>
  <factor name="burst" levels="4542B 9084B"/>
  <bridge name="eb1"/>
  <bridge name="eb2"/>
  <bridge name="lan"/>
  <bridge name="unused"/>
  <evm hostname="manager" role="mvm"/>
  <evm hostname="client" role="nvm" template="debian" cpu="2">
    <interface name="wan0" bridge="eb1" ip="10.1.0.1/24">
      <link delay="10ms" jitter="1ms" loss="0.5%" reorder="1%" duplicate="0.1%" corrupt="0.01%"
            rate="10Mbit" burst="$burst" latency="10ms"/>
    </interface>
    <interface name="wan1" bridge="eb2" ip="10.2.0.1/24">
      <link order="tbf netem" delay="$far" rate="5Mbit" limit="64KiB"/>
    </interface>
    <interface name="lan0" bridge="lan" ip="10.3.0.1/24"><link delay="1ms"/></interface>
    <interface name="fast0" vf="enp3s0f0:2" ip="10.9.0.1/24"/>
    <log packets="off" tcp="50ms" files="/var/log/app.log"/>
  </evm>
  <evm hostname="server" template="debian">
    <interface name="wan0" bridge="eb1" ip="10.1.0.2/24"/>
    <interface name="wan1" bridge="eb2" ip="10.2.0.2/24"/>
    <interface name="lan0" bridge="lan"/>
  </evm>
  <evm hostname="relay" role="avm" acts="router">
    <interface name="lan0" bridge="lan" ip="10.3.0.3/24"/>
    <log tcp="off"/>
  </evm>
  <command evm="server" at="0s" background="true">iperf3 -s</command>
  <command evm="client" at="1s" name="up" timeout="30s" expect="any">iperf3 -c server &amp;&amp; echo "$HOME: done"</command>
  <command evm="client" at="5s">tc qdisc change dev wan0 root netem delay 50ms</command>
  <command evm="manager" at="9s">true</command>
</experiment>
"#;
