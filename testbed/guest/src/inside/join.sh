# Run in a node: puts a TAP in the place of each of the node's interfaces, and becomes QEMU.
#
#     join.sh KERNEL-BYTES INTERFACE... -- QEMU-ARGUMENTS...   <kernel-and-root
#
# What an interface receives leaves by its TAP and the other way round, before the node's own stack sees it.
#
# Choice: `ip` and `tc` do it, from inside. Plait itself never starts them, but a guest is an instrument, and
# this way the testbed needs to know nothing of guests.
set -e
kernel_size=$1
shift

# The kernel's redirection, as the link engine uses it: a filter that matches all.
redirect() {
    tc qdisc replace dev "$1" clsact
    tc filter replace dev "$1" ingress prio 1 handle 800::800 protocol all \
        u32 match u32 0 0 action mirred egress redirect dev "$2"
}

number=0
while [ "$1" != -- ]; do
    tap=guest$number
    ip link delete $tap 2>/dev/null || true
    ip tuntap add dev $tap mode tap vnet_hdr
    # The node itself says nothing on the guest's wire.
    ip link set dev $tap addrgenmode none mtu "$(cat "/sys/class/net/$1/mtu")" txqueuelen 10000
    ip link set dev $tap up
    redirect "$1" $tap
    redirect $tap "$1"
    number=$((number + 1))
    shift
done
shift

# Files without a name: memory of the node, gone with QEMU.
folder=/run/guest.$$
trap 'rm -rf $folder; exit 1' TERM
mkdir $folder
exec 3<>$folder/kernel 4<>$folder/root
rm -r $folder
head -c "$kernel_size" >&3
cat >&4
exec </dev/null qemu-system-x86_64 -kernel /proc/self/fd/3 -initrd /proc/self/fd/4 "$@"
