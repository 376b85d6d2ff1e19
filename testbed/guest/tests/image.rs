//! Making images, with the distribution's real packages.

use plait_testbed_guest::Image;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn an_image_is_whole_or_not_there() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: only root may make a Debian root");
    }
    if !Path::new("/usr/bin/mmdebstrap").exists() {
        return println!("skipped: mmdebstrap is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let (cache, temporary) = (folder.path().join("cache"), folder.path().join("temporary"));
    fs::create_dir(&temporary).unwrap();

    // Whoever makes one is killed on the way.
    let mut maker = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "a_maker_that_is_killed"])
        .env("GUEST_CACHE", &cache)
        .env("TMPDIR", &temporary)
        .spawn()
        .unwrap();
    let started = Instant::now();
    while names(&temporary).is_empty() && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(1500));
    maker.kill().unwrap();
    maker.wait().unwrap();
    assert_eq!(names(&cache), BTreeSet::from(["lock".to_owned()]));

    // Two at once then make one, or both learn why it cannot be had.
    let made = std::thread::scope(|scope| {
        let two = [(); 2].map(|()| scope.spawn(|| Image::prepare_in(&cache, &[])));
        two.map(|one| one.join().unwrap())
    });
    let [Ok(image), Ok(same)] = &made else {
        assert!(made.iter().all(Result::is_err), "{made:?}");
        assert_eq!(names(&cache), BTreeSet::from(["lock".to_owned()]));
        return println!("skipped: no packages could be had: {}", made[0].as_ref().unwrap_err());
    };
    assert_eq!(image, same);
    assert_eq!(names(&cache).len(), 3, "{:?}", names(&cache));
    println!("{:.1} s, of which some for who was killed", started.elapsed().as_secs_f64());
    for (file, least) in [(&image.kernel, 5 << 20), (&image.root, 30 << 20)] {
        assert!(fs::metadata(file).unwrap().len() > least, "{}", file.display());
    }
    // The bootstrap tool of the one who was killed has noticed by now, and cleaned up after itself.
    let started = Instant::now();
    while !names(&temporary).is_empty() && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(names(&temporary), BTreeSet::new());
}

/// Not a test: the process that the test above kills.
#[test]
#[ignore = "a part of another test"]
fn a_maker_that_is_killed() {
    Image::prepare_in(Path::new(&std::env::var_os("GUEST_CACHE").unwrap()), &[]).unwrap();
}
