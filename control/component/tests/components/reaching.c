// An application that wants to look outside.

#include <stddef.h>
#include <stdint.h>

__attribute__((import_module("$root"), import_name("look"))) uint32_t look(void);

struct result {
    uint8_t failed;
    uint32_t count, unused;
};

__attribute__((export_name("run"))) struct result *run(void)
{
    static struct result result;
    result.count = look();
    return &result;
}
