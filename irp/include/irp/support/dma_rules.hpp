// The rules about DMA adapters: a driver frees what it takes from one, once.
#pragma once

#include <dispatch/ntdef.h>

namespace irpverbs::irp::verify {

/// The values are the first parameters of bug check 0xE6.
enum class dma_mistake : ULONG_PTR {
    freed_common_buffer = 0x03, // and so on: freed what it does not have
    freed_channel = 0x04,
    freed_map_registers = 0x05,
    freed_list = 0x06,
    left_common_buffer = 0x07, // and so on: put the adapter with something left
    left_channel = 0x08,
    left_map_registers = 0x09,
    left_list = 0x0A,
    not_flushed = 0x0D,
};

/// Reports the mistake if the verifier is on. `count`: of what is left, or freed too much.
NT_API void report_dma_mistake(dma_mistake which, const void* adapter, ULONG_PTR count);

} // namespace irpverbs::irp::verify
