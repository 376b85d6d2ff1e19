// Stations that nobody is to hear, as an application of the OpenFlow controller: each gets a rule that denies.
//
//   clang --target=wasm32 -O2 -mbulk-memory -nostdlib -Wl,--no-entry -o quarantine.core.wasm quarantine.c
//
// The component model's canonical ABI lays records and lists out as C does; an option is a byte and what there may be.

#include <stddef.h>
#include <stdint.h>

struct station {
    uint8_t bytes[6];
};

#define OPTION(type) struct { uint8_t there; type value; }

struct network4 {
    uint32_t address;
    uint8_t bits;
};

struct network6 {
    uint64_t high, low;
    uint8_t bits;
};

struct rule {
    uint16_t priority;
    uint8_t access;
    struct {
        OPTION(uint32_t) in_port;
        OPTION(struct station) eth_src, eth_dst;
        OPTION(uint16_t) eth_type, vlan;
        OPTION(uint8_t) protocol;
        OPTION(struct network4) ipv4_src, ipv4_dst;
        OPTION(struct network6) ipv6_src, ipv6_dst;
        OPTION(uint16_t) source_port, destination_port;
    } fields;
};

enum { PERMIT, DENY };

// result<outputs, string>: both cases are a pointer and a length.
struct result {
    uint8_t failed;
    const void *start;
    size_t count;
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

static const char too_many[] = "more than 1000 stations";

__attribute__((export_name("run"))) struct result *run(const struct station *stations, size_t count)
{
    static struct result result;

    if (count > 1000) {
        result = (struct result){1, too_many, sizeof too_many - 1};
        return &result;
    }
    struct rule *rules = take(2 * count * sizeof *rules, 8);
    for (size_t i = 0; i < count; i++) {
        struct rule *from = &rules[2 * i], *to = &rules[2 * i + 1];
        from->priority = to->priority = 8000;
        from->access = to->access = DENY;
        from->fields.eth_src.there = to->fields.eth_dst.there = 1;
        from->fields.eth_src.value = to->fields.eth_dst.value = stations[i];
    }
    result = (struct result){0, rules, 2 * count};
    return &result;
}
