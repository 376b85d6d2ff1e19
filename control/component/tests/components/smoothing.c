// An application that remembers what it has seen in a view of its own.

#include <stddef.h>
#include <stdint.h>

struct sample {
    const char *name;
    size_t length;
    uint8_t state;
    struct {
        uint8_t measured;
        double value;
    } quality;
    struct {
        uint8_t there;
        struct {
            uint8_t first;
            int64_t second;
        } value;
    } far;
};

struct result {
    uint8_t failed;
    struct {
        uint8_t there;
        struct {
            uint64_t seen;
            struct sample *latest;
            size_t count;
        } value;
    } memory;
};

extern unsigned char __heap_base;
static unsigned char *top;

__attribute__((export_name("cabi_realloc"))) void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size)
{
    if (!top)
        top = &__heap_base;
    unsigned char *start = (unsigned char *)(((size_t)top + align - 1) / align * align);
    top = start + size;
    while ((size_t)top > __builtin_wasm_memory_size(0) * 65536)
        if (__builtin_wasm_memory_grow(0, 1) == (size_t)-1)
            __builtin_trap();
    __builtin_memcpy(start, old, old_size < size ? old_size : size);
    return start;
}

__attribute__((export_name("run"))) struct result *
run(const char *name, size_t length, uint32_t state, uint32_t measured, double value, uint32_t far,
    uint32_t first, int64_t second, uint32_t known, uint64_t seen, struct sample *latest, size_t count)
{
    static struct result result;
    // Without a name it leaves its memory as it is.
    if (!length)
        return &result;
    struct sample *all = cabi_realloc(latest, count * sizeof *all, 8, (count + 1) * sizeof *all);
    all[count] = (struct sample){
        name, length, state, {measured, value}, {far, {first, second}},
    };
    result.memory.there = 1;
    result.memory.value.seen = known ? seen + 1 : 1;
    result.memory.value.latest = all;
    result.memory.value.count = count + 1;
    return &result;
}
