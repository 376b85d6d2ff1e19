// One application that misbehaves in as many ways as it is compiled.

#include <stddef.h>
#include <stdint.h>

struct result {
    uint8_t failed;
    const void *start;
    size_t count;
};

static struct result result;
volatile uint32_t nothing;

__attribute__((export_name("run"))) struct result *run(uint32_t speed)
{
#if defined TRAPS
    __builtin_trap();
#elif defined SPINS
    for (;;)
        nothing++;
#elif defined RECURSES
    uint32_t here = ++nothing;
    return run(speed + here) + here;
#elif defined HOARDS
    while (__builtin_wasm_memory_grow(0, 16) != (size_t)-1)
        ;
    __builtin_trap();
#elif defined SWELLS
    // All of its memory, each byte of which is a value outside.
    result.count = __builtin_wasm_memory_size(0) * 65536;
    while (__builtin_wasm_memory_grow(0, 16) != (size_t)-1)
        result.count += 16 * 65536;
#elif defined STRAYS
    result.start = (const void *)0xfffffff0;
    result.count = 64;
#elif defined DECLINES
    result = (struct result){1, "not at that speed", 17};
#elif defined MUMBLES
    result = (struct result){1, "\xff\xfe", 2};
#elif defined REMEMBERS
    // What it kept from a run before, if it could.
    static uint8_t runs;
    runs++;
    result = (struct result){0, &runs, 1};
#endif
    return &result;
}
