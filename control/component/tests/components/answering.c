// An application over a stream, written as for one batch at a time.

#include "heap.h"
#include <stdint.h>

struct flow {
    uint32_t from;
    uint32_t to;
};

struct answer {
    uint32_t to;
    struct {
        uint8_t there;
        uint32_t value;
    } port;
};

struct result {
    uint8_t failed;
    struct {
        struct answer *ports;
        size_t count;
    } answers;
};

__attribute__((export_name("run"))) struct result *run(const struct flow *flows, size_t count)
{
    static struct result result;
    struct answer *all = cabi_realloc(NULL, 0, _Alignof(struct answer), count * sizeof *all);
    for (size_t flow = 0; flow < count; flow++) {
        // Stations are where their numbers say; those from 100 on nobody knows.
        all[flow].to = flows[flow].to;
        all[flow].port.there = flows[flow].to < 100;
        all[flow].port.value = flows[flow].to;
    }
    result.answers.ports = all;
    result.answers.count = count;
    return &result;
}
