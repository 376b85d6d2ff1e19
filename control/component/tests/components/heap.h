// Memory for what a component is given and gives: it ends with the run, and so nothing is ever given back.

#include <stddef.h>

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
