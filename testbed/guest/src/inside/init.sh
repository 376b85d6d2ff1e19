#!/bin/sh
# Process 1 of a guest. It mounts what programs expect, opens the control port, and then runs what the host
# asks, one thing after the other, until the host hangs up.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb

# The kernel's initial root is no mount that namespaces can be made from; the same files under another mount
# are.
if [ "$1" != moved ]; then
    mkdir -p /proc /sys /run /tmp /root /var/tmp /new
    mount --rbind / /new
    cd /new
    mount --move . /
    exec chroot . /bin/sh /init moved
fi

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts -o ptmxmode=666 pts /dev/pts
mount -t tmpfs run /run
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
chmod 1777 /tmp /dev/shm
ln -sf /proc/self/fd /dev/fd
ln -sf /proc/self/mounts /etc/mtab
: >/etc/resolv.conf
[ -e /etc/passwd ] || echo 'root:x:0:0:root:/root:/bin/sh' >/etc/passwd
[ -e /etc/group ] || echo 'root:x:0:' >/etc/group
ulimit -n 65536
modprobe -a virtio_pci virtio_console virtio_net

port=
while [ -z "$port" ]; do
    for found in /sys/class/virtio-ports/*; do
        [ "$(cat "$found/name" 2>/dev/null)" = plait ] && port=/dev/${found##*/}
    done
    [ -n "$port" ] || sleep 0.02
done
exec 3<>"$port"
printf 'plait-guest 1 %s\n' "$(uname -r)" >&3

# A request is a line of number, seconds, size of the script, size of its input; then both. The answer is a
# line of number, exit code or `timeout`, size of the output, size of the errors; then both.
here=/run/plait-guest
mkdir $here
while read -r number seconds script input <&3; do
    # New files: a program that was left in the background may still write to the old ones.
    rm -f $here/*
    head -c "$script" <&3 >$here/script
    head -c "$input" <&3 >$here/input
    (
        cd /root || exit
        exec 3>&-
        # Whoever finishes leaves its code: a program may well end with the code that `timeout` would give.
        timeout -s KILL "$seconds" sh -c 'sh "$0/script"; echo $? >"$0/code"' $here \
            <$here/input >$here/out 2>$here/err
    )
    code=timeout
    [ -s $here/code ] && code=$(cat $here/code)
    out=$(stat -c %s $here/out) err=$(stat -c %s $here/err)
    { echo "$number $code $out $err"; head -c "$out" $here/out; head -c "$err" $here/err; } >&3
done
echo o >/proc/sysrq-trigger
sleep 60
