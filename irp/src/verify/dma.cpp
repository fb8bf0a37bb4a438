#include "irp_tracker.hpp"
#include "options.hpp"

#include <irp/support/dma_rules.hpp>

namespace irpverbs::irp::verify {
namespace {

struct wording {
    rule broken;
    const char* text;
};

wording words_for(dma_mistake which) {
    switch (which) {
    case dma_mistake::freed_common_buffer:
        return {rule::DmaFreedTwice, "a common buffer is freed that the DMA adapter has not given"};
    case dma_mistake::freed_channel:
        return {rule::DmaFreedTwice, "the channel of a DMA adapter is freed that no one has"};
    case dma_mistake::freed_map_registers:
        return {rule::DmaFreedTwice, "more map registers are freed than the DMA adapter has given"};
    case dma_mistake::freed_list:
        return {rule::DmaFreedTwice,
                "a scatter/gather list is put that the DMA adapter has not given"};
    case dma_mistake::left_common_buffer:
        return {rule::DmaAdapterInUse, "a DMA adapter is put whose common buffer was not freed"};
    case dma_mistake::left_channel:
        return {rule::DmaAdapterInUse, "a DMA adapter is put whose channel was not freed"};
    case dma_mistake::left_map_registers:
        return {rule::DmaAdapterInUse, "a DMA adapter is put whose map registers were not freed"};
    case dma_mistake::left_list:
        return {rule::DmaAdapterInUse,
                "a DMA adapter is put whose scatter/gather list was not put"};
    case dma_mistake::not_flushed:
        break;
    }
    return {rule::DmaNotFlushed,
            "map registers are freed after a transfer that FlushAdapterBuffers "
            "did not end: the last data may not have reached memory"};
}

} // namespace

void report_dma_mistake(dma_mistake which, const void* adapter, ULONG_PTR count) {
    if (!enabled(check::io)) return;
    const auto& [broken, text] = words_for(which);
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        report = &tracker.violation(broken, nullptr, text);
        report->found.parameters[0] = static_cast<ULONG_PTR>(which);
        report->parameters(reinterpret_cast<ULONG_PTR>(adapter), count);
    }
    emit(tracker, report);
}

} // namespace irpverbs::irp::verify
