//! Samples as Parquet hold what the CSV holds.

mod support;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use plait_testbed_archive::parquet::from_csv;
use plait_testbed_experiment::results::records::{
    InterfaceRecord, Iperf3Record, LinkRecord, PingRecord, PrintedRecord, TcpRecord,
};
use plait_testbed_experiment::world::Direction;
use plait_testbed_runtime::sample::TcpState;
use serde::Serialize;
use std::fs::File;
use std::io::Seek;
use support::{LINKS, TCP};

fn parquet_of(csv: &str) -> SerializedFileReader<File> {
    let mut file = tempfile::tempfile().unwrap();
    from_csv(csv.as_bytes(), &file).unwrap();
    file.rewind().unwrap();
    SerializedFileReader::new(file).unwrap()
}

/// Whether a value of the CSV is that of the Parquet.
fn is_same(text: &str, field: &Field) -> bool {
    match field {
        Field::Null => text.is_empty(),
        Field::ULong(value) => text == value.to_string(),
        Field::Double(value) => text.parse::<f64>().unwrap().to_bits() == value.to_bits(),
        Field::Bool(value) => text == value.to_string(),
        Field::Str(value) => text == value,
        _ => false,
    }
}

fn assert_same_rows(csv: &str) {
    let parquet = parquet_of(csv);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let names = reader.headers().unwrap().clone();
    let mut rows = parquet.get_row_iter(None).unwrap();
    for record in reader.records().map(Result::unwrap) {
        let row = rows.next().expect("a row for each of the CSV").unwrap();
        let columns: Vec<_> = row.get_column_iter().collect();
        assert!(columns.iter().map(|(name, _)| name.as_str()).eq(&names));
        for (text, (name, field)) in record.iter().zip(columns) {
            assert!(is_same(text, field), "{name}: {text:?} became {field:?}");
        }
    }
    assert!(rows.next().is_none());
}

#[test]
fn parquet_and_csv_are_equal_row_for_row() {
    assert_same_rows(LINKS);
    assert_same_rows(TCP);
    assert_same_rows("time_s,node\n");
    // More than one group of rows.
    let rows = (0..140_000u64).map(|at| format!("{},n{},{}\n", at as f64 / 1e3, at % 7, at * at));
    assert_same_rows(&format!("time_s,node,bytes\n{}", rows.collect::<String>()));
}

/// The columns of a record that become text.
fn text_columns(record: impl Serialize) -> Vec<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.serialize(record).unwrap();
    let csv = String::from_utf8(writer.into_inner().unwrap()).unwrap();
    assert_same_rows(&csv);
    let row = parquet_of(&csv).get_row_iter(None).unwrap().next().unwrap().unwrap();
    let text = row.get_column_iter().filter(|(_, field)| matches!(field, Field::Str(_)));
    text.map(|(name, _)| name.clone()).collect()
}

#[test]
fn every_column_of_numbers_is_one_of_numbers() {
    let tcp = TcpRecord {
        time_s: 0.5,
        node: "a".into(),
        local: "10.0.0.1:1".into(),
        remote: "10.0.0.2:2".into(),
        state: TcpState::Established,
        congestion_control: "cubic".into(),
        cwnd_packets: 10,
        ssthresh_packets: Some(7),
        srtt_ms: 1.5,
        rttvar_ms: 0.25,
        min_rtt_ms: Some(1.0),
        rto_ms: 204.0,
        mss_bytes: 1448,
        unacked_packets: 1,
        lost_packets: 2,
        retransmits: 3,
        delivery_rate_bps: Some(4),
        pacing_rate_bps: Some(5),
        application_limited: Some(true),
        bytes_acked: Some(6),
        bytes_received: Some(7),
        bytes_sent: Some(8),
    };
    assert_eq!(text_columns(tcp), ["node", "local", "remote", "state", "congestion_control"]);
    let link = LinkRecord {
        time_s: 0.5,
        link: "a-b".into(),
        direction: Direction::Forward,
        packets: 1,
        bytes: 2,
        lost: 3,
        queue_dropped: 4,
        marked: 5,
        queue_packets: 6,
        queue_bytes: 7,
    };
    assert_eq!(text_columns(link), ["link", "direction"]);
    let interface = InterfaceRecord {
        time_s: 0.5,
        node: "a".into(),
        interface: "eth0".into(),
        rx_packets: 1,
        tx_packets: 2,
        rx_bytes: 3,
        tx_bytes: 4,
        rx_dropped: 5,
        tx_dropped: 6,
        rx_errors: 7,
        tx_errors: 8,
    };
    assert_eq!(text_columns(interface), ["node", "interface"]);
    let iperf3 = Iperf3Record {
        time_s: 0.5,
        command: "01-flow".into(),
        node: "a".into(),
        stream: 5,
        seconds: 1.0,
        bytes: 7,
        throughput_bps: 56.5,
        retransmits: Some(0),
    };
    assert_eq!(text_columns(iperf3), ["command", "node"]);
    let ping =
        PingRecord { time_s: 0.5, from: "a".into(), to: "b".into(), sequence: 3, rtt_ms: Some(1.5), lost: 0 };
    assert_eq!(text_columns(ping), ["from", "to"]);
    let (command, node, field) = ("probe".into(), "a".into(), "x.y".into());
    let printed = PrintedRecord { time_s: 0.5, command, node, field, value: 2.5 };
    assert_eq!(text_columns(printed), ["command", "node", "field"]);
}

proptest::proptest! {
    #[test]
    fn no_text_of_samples_does_harm(csv in "(time_s|node|bytes|[,\n\"0-9.ex-])*") {
        let mut file = tempfile::tempfile().unwrap();
        if from_csv(csv.as_bytes(), &file).is_ok() {
            file.rewind().unwrap();
            SerializedFileReader::new(file).unwrap();
        }
    }
}
