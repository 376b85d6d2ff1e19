// A TCP port that nobody is to reach, as an application of the OpenFlow controller: of the packets that switches ask about it
// counts all, and who sends to that port has his switch drop what follows.
//
//   clang --target=wasm32 -O2 -mbulk-memory -nostdlib -Wl,--no-entry -DPORT=23 -o port-guard.core.wasm port-guard.c
//
// The component model's canonical ABI lays records and lists out as C does; an option is a byte and what there may be.

#include <stddef.h>
#include <stdint.h>

#ifndef PORT
#define PORT 23
#endif

#define OPTION(type) struct { uint8_t there; type value; }

struct packet_in {
    uint64_t datapath;
    uint8_t version;
    uint32_t in_port;
    OPTION(uint32_t) buffer;
    uint8_t reason, table;
    uint64_t cookie;
    uint16_t total_length;
    const uint8_t *frame;
    size_t length;
};

struct address {
    uint8_t bytes[6];
};

struct network4 {
    uint32_t address;
    uint8_t bits;
};

struct network6 {
    uint64_t high, low;
    uint8_t bits;
};

// An order is for a switch. Of the commands that there are this one gives flows alone, which are the largest.
struct order {
    uint64_t datapath;
    struct {
        uint8_t kind;
        struct {
            uint8_t change, table;
            uint16_t priority;
            uint64_t cookie;
            uint16_t idle_timeout, hard_timeout;
            OPTION(uint32_t) buffer;
            uint8_t tell_removal;
            struct {
                OPTION(uint32_t) in_port;
                OPTION(struct address) eth_src, eth_dst;
                OPTION(uint16_t) eth_type, vlan;
                OPTION(uint8_t) protocol;
                OPTION(struct network4) ipv4_src, ipv4_dst;
                OPTION(struct network6) ipv6_src, ipv6_dst;
                OPTION(uint16_t) source_port, destination_port;
            } fields;
            const void *actions;
            size_t count;
        } flow;
    } command;
};

struct guarded {
    uint64_t seen, refused;
};

struct result {
    uint8_t failed;
    struct {
        struct {
            uint8_t there;
            const struct order *list;
            size_t count;
        } commands;
        struct guarded guarded;
    } outputs;
};

// Memory is taken and never given back: the instance ends with the run. It is nought to begin with.
extern unsigned char __heap_base;
static size_t top;

static void *take(size_t size, size_t align)
{
    if (!top)
        top = (size_t)&__heap_base;
    size_t start = (top + align - 1) / align * align;
    size_t end = start + size, there = __builtin_wasm_memory_size(0) * 65536;
    if (end < start)
        __builtin_trap();
    if (end > there && __builtin_wasm_memory_grow(0, (end - there + 65535) / 65536) == (size_t)-1)
        __builtin_trap();
    top = end;
    return (void *)start;
}

// Where the runtime puts what it passes.
__attribute__((export_name("cabi_realloc"))) void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size)
{
    unsigned char *new = take(size, align);
    __builtin_memcpy(new, old, old_size < size ? old_size : size);
    return new;
}

// Ethernet, IPv4 that is no later fragment, TCP to that port.
static int is_refused(const struct packet_in *packet)
{
    const uint8_t *frame = packet->frame;
    if (packet->length < 34 || frame[12] != 0x08 || frame[13] != 0x00 || frame[23] != 6)
        return 0;
    size_t tcp = 14 + 4 * (size_t)(frame[14] & 15);
    int is_first = (frame[20] & 0x1f) == 0 && frame[21] == 0;
    return is_first && packet->length >= tcp + 4 && (frame[tcp + 2] << 8 | frame[tcp + 3]) == PORT;
}

// An option's three parts, each flat as the canonical ABI passes it, follow the list.
__attribute__((export_name("run"))) struct result *run(const struct packet_in *packets, size_t count, uint32_t is_known,
                                                       uint64_t seen, uint64_t refused)
{
    static struct result result;
    (void)is_known;
    struct order *orders = take(count * sizeof *orders, 8);
    size_t given = 0;

    for (size_t i = 0; i < count; i++) {
        if (!is_refused(&packets[i]))
            continue;
        refused++;
        // One flow for a switch is enough. It is above those of routing, and goes by itself: what outlives its application is
        // gone soon.
        size_t at = 0;
        while (at < given && orders[at].datapath != packets[i].datapath)
            at++;
        if (at < given)
            continue;
        struct order *order = &orders[given++];
        order->datapath = packets[i].datapath;
        order->command.flow.priority = 9000;
        order->command.flow.hard_timeout = 5;
        order->command.flow.fields.eth_type.there = 1;
        order->command.flow.fields.eth_type.value = 0x0800;
        order->command.flow.fields.protocol.there = 1;
        order->command.flow.fields.protocol.value = 6;
        order->command.flow.fields.destination_port.there = 1;
        order->command.flow.fields.destination_port.value = PORT;
        // Without an action it drops.
    }
    result.outputs.commands.there = given > 0;
    result.outputs.commands.list = orders;
    result.outputs.commands.count = given;
    // Where nothing is known yet, both are nought.
    result.outputs.guarded.seen = seen + count;
    result.outputs.guarded.refused = refused;
    return &result;
}
