// An application with a second entry point.

#include <stdint.h>

__attribute__((export_name("run"))) uint32_t *run(void)
{
    static uint32_t result[3];
    return result;
}

__attribute__((export_name("stop"))) void stop(void)
{
}
