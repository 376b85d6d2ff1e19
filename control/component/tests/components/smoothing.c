// An application that remembers what it has seen in a view of its own.

#include "heap.h"
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
