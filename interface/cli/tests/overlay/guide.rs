//! What the guide has people type on three hosts, typed.

use super::*;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Seconds that it may take: the guide's five minutes.
const MOST: f64 = 300.0;

/// The guide's blocks of shell up to the ping: what is done on each host, once for all, and on each again.
fn blocks() -> [String; 3] {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/guide/overlay.md");
    let page = fs::read_to_string(page).unwrap();
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    let blocks: Vec<String> = blocks.take(3).collect();
    blocks.try_into().unwrap()
}

/// The same with what is another on another host.
#[track_caller]
fn on(host: &Host<'_>, block: &str, is_other: &[(&str, String)]) -> String {
    is_other.iter().fold(block.to_owned(), |block, (first, own)| {
        assert!(
            block.contains(*first),
            "the guide says `{first}` no more, of which host {} has another",
            host.number
        );
        block.replace(*first, own)
    })
}

#[test]
fn what_the_guide_says_makes_an_overlay_of_three_hosts() {
    let Some(person) = Person::root() else { return };
    let (hosts, _hub) = Host::on_one_network(&person, [1, 2, 3]);
    let [each, once, found] = blocks();
    let folder = |host: &Host<'_>| person.work().join(host.id());
    // What stays of it, the agent, writes to a file, not to who waits for the rest.
    let types = |host: &Host<'_>, block: &str| {
        let bin = person.program().parent().unwrap().display();
        let line = format!("PATH={bin}:$PATH; cd {}; exec >>said 2>&1\n{block}", folder(host).display());
        host.start(&["sh", "-ec", &line])
    };
    let all = |block: &dyn Fn(&Host<'_>) -> String| {
        let typed: Vec<_> = hosts.iter().map(|host| types(host, &block(host))).collect();
        for (host, typed) in hosts.iter().zip(typed) {
            let ended = typed.wait();
            let said = fs::read_to_string(folder(host).join("said")).unwrap_or_default();
            assert_eq!(ended.code(), Some(0), "{}: {ended:?} {said}", host.id());
        }
    };
    hosts.iter().for_each(|host| fs::create_dir(folder(host)).unwrap());
    let started = Instant::now();
    all(&|host| {
        let own = [
            ("id set 10.0.0.1", format!("id set {}", host.id())),
            ("locator add 192.0.2.1", format!("locator add {}", host.locator())),
            ("10.1.0.1/24", format!("{}/24", host.inner())),
        ];
        on(host, &each, &own)
    });
    let [first, others @ ..] = &hosts;
    assert_eq!(types(first, &once).wait().code(), Some(0));
    for host in others {
        fs::copy(folder(first).join("overlay.key"), folder(host).join("overlay.key")).unwrap();
    }
    // A ping that goes on until somebody stops it is not for here.
    let found = found.replace("ping 10.1.0.2\n", "");
    assert!(!found.contains("ping"), "{found}");
    all(&|_| found.clone());
    let reach = |from: &Host<'_>| hosts.iter().all(|to| from.number == to.number || from.reaches(to));
    assert!(eventually(|| hosts.iter().all(reach)), "{}", stats(&hosts));
    // A machine that does much else takes longer: so it is told, and nothing fails by it.
    let seconds = started.elapsed().as_secs_f64();
    println!("bar overlay-guide {seconds:.1} s <= {MOST} {}", if seconds <= MOST { "ok" } else { "short" });
}
