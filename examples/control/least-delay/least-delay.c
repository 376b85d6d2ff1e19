// Paths of least delay between all nodes (Floyd and Warshall), as a control application.
//
//   clang --target=wasm32 -O2 -mbulk-memory -nostdlib -Wl,--no-entry -o least-delay.core.wasm least-delay.c
//
// The component model's canonical ABI lays records and lists out as C does: a list is a pointer and a count.

#include <stddef.h>
#include <stdint.h>

struct link {
    uint32_t source, target;
    uint64_t delay;
};

struct route {
    uint32_t source, destination, next_hop;
    uint64_t delay;
};

// result<outputs, string>: both cases are a pointer and a length.
struct result {
    uint8_t failed;
    const void *start;
    size_t count;
};

// Memory is taken and never given back: the instance ends with the run.
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

#define MOST 512
#define NEVER UINT64_MAX

static uint32_t names[MOST];
static size_t nodes;

static size_t node(uint32_t name)
{
    size_t place = 0;
    while (place < nodes && names[place] != name)
        place++;
    if (place == nodes && nodes < MOST)
        names[nodes++] = name;
    return place;
}

static const char too_many[] = "more than 512 nodes";

__attribute__((export_name("run"))) struct result *run(const struct link *links, size_t count)
{
    static struct result result;

    for (size_t i = 0; i < count; i++)
        if (node(links[i].source) == MOST || node(links[i].target) == MOST) {
            result = (struct result){1, too_many, sizeof too_many - 1};
            return &result;
        }

    uint64_t *delay = take(nodes * nodes * sizeof *delay, 8);
    uint32_t *hop = take(nodes * nodes * sizeof *hop, 4);
    for (size_t i = 0; i < nodes * nodes; i++)
        delay[i] = NEVER;
    for (size_t i = 0; i < count; i++) {
        size_t way = node(links[i].source) * nodes + node(links[i].target);
        if (links[i].delay < delay[way]) {
            delay[way] = links[i].delay;
            hop[way] = links[i].target;
        }
    }
    for (size_t by = 0; by < nodes; by++)
        for (size_t from = 0; from < nodes; from++) {
            uint64_t first = delay[from * nodes + by];
            if (first == NEVER)
                continue;
            for (size_t to = 0; to < nodes; to++) {
                uint64_t second = delay[by * nodes + to], sum;
                if (second == NEVER || __builtin_add_overflow(first, second, &sum))
                    continue;
                if (sum < delay[from * nodes + to]) {
                    delay[from * nodes + to] = sum;
                    hop[from * nodes + to] = hop[from * nodes + by];
                }
            }
        }

    struct route *routes = take(nodes * nodes * sizeof *routes, 8);
    size_t found = 0;
    for (size_t from = 0; from < nodes; from++)
        for (size_t to = 0; to < nodes; to++)
            if (from != to && delay[from * nodes + to] != NEVER)
                routes[found++] = (struct route){
                    names[from], names[to], hop[from * nodes + to], delay[from * nodes + to]};
    result = (struct result){0, routes, found};
    return &result;
}
