// DMA adapters for plain memory. A logical address is the address of the process, so that a device
// which a test simulates reads and writes the caller's buffer itself. Transfers go page by page, as
// where pages that follow one another have no neighbours in memory.
#include "standard.hpp"

#include "irql_rules.hpp"

#include <dispatch/support/faults.hpp>
#include <dispatch/support/scheduled_spin.hpp>
#include <irp/mdl.h>
#include <irp/support/dma_rules.hpp>
#include <windows/wdk/memory.h>
#include <windows/wdk/resources.h>
#include <windows/wdk/virtual_memory.h>

#include <deque>
#include <mutex>
#include <new>
#include <utility>

using namespace irpverbs::windows;
using irpverbs::dispatch::detail::check_freed_use;
using irpverbs::dispatch::detail::fault_point;
using irpverbs::dispatch::detail::scheduled_spin;
using irpverbs::dispatch::detail::verifying;
using irpverbs::irp::verify::dma_mistake;
using irpverbs::irp::verify::report_dma_mistake;

namespace {

constexpr ULONG tag = 0x20616d44; // Dma

/// The registers of one transfer; its address is the MapRegisterBase.
struct map_registers {
    ULONG count;
    bool mapped = false; // and not flushed
};

struct channel_request {
    DEVICE_OBJECT* device;
    map_registers* registers;
    PDRIVER_CONTROL routine;
    void* context;
};

struct list_memory {
    SCATTER_GATHER_LIST* list;
    bool from_pool; // else the caller's

    bool operator==(const list_memory&) const = default;
};

struct adapter : DMA_ADAPTER {
    ULONG most_registers;
    bool scatter_gather;

    scheduled_spin lock;
    // Guarded by lock:
    std::vector<const void*> common_buffers;
    std::vector<map_registers*> registers;
    std::vector<list_memory> lists;
    std::deque<channel_request> waiting;
    map_registers* in_channel = nullptr; // of the channel's owner
    bool channel_is_owned = false;
};

adapter& used(DMA_ADAPTER* which) {
    if (verifying()) check_freed_use(which, "a DMA adapter is used");
    return static_cast<adapter&>(*which);
}

ULONG pages_of(const void* address, ULONG length) {
    return static_cast<ULONG>(ADDRESS_AND_SIZE_TO_SPAN_PAGES(address, length));
}

PHYSICAL_ADDRESS logical_address(const MDL& mdl, const void* current) {
    const auto offset =
        static_cast<const char*>(current) - static_cast<const char*>(MmGetMdlVirtualAddress(&mdl));
    return MmGetPhysicalAddress(static_cast<char*>(mdl.MappedSystemVa) + offset);
}

/// Returns false if the element is not there.
template <class Element>
bool remove_element(std::vector<Element>& from, const std::type_identity_t<Element>& gone) {
    const auto found = std::find(from.begin(), from.end(), gone);
    if (found == from.end()) return false;
    from.erase(found);
    return true;
}

// Map registers

map_registers* allocate_registers(adapter& self, ULONG count) {
    auto* const made = new (std::nothrow) map_registers{count};
    if (made == nullptr) return nullptr;
    const std::lock_guard guard(self.lock);
    self.registers.push_back(made);
    return made;
}

void free_registers(adapter& self, map_registers* gone, ULONG count) {
    bool known = false;
    bool mapped = false;
    {
        const std::lock_guard guard(self.lock);
        known =
            std::find(self.registers.begin(), self.registers.end(), gone) != self.registers.end() &&
            count <= gone->count;
        if (known) {
            mapped = std::exchange(gone->mapped, false);
            gone->count -= count;
            if (gone->count == 0) {
                remove_element(self.registers, gone);
                delete gone;
            }
        }
    }
    if (!known) report_dma_mistake(dma_mistake::freed_map_registers, &self, count);
    if (mapped) report_dma_mistake(dma_mistake::not_flushed, &self, count);
}

void set_mapped(adapter& self, void* base, bool mapped) {
    const std::lock_guard guard(self.lock);
    for (map_registers* const each : self.registers)
        if (each == base) each->mapped = mapped;
}

// The channel

/// The next to own the channel, or none: it is free then.
bool next_owner(adapter& self, channel_request& next) {
    const std::lock_guard guard(self.lock);
    self.channel_is_owned = !self.waiting.empty();
    self.in_channel = nullptr;
    if (self.waiting.empty()) return false;
    next = self.waiting.front();
    self.waiting.pop_front();
    self.in_channel = next.registers;
    return true;
}

// Calls the owners' routines one after the other until one keeps the channel, or no one waits.
void pass_channel_on(adapter& self) {
    channel_request owner{};
    while (next_owner(self, owner)) {
        map_registers* const registers = owner.registers;
        const ULONG count = registers->count;
        const IO_ALLOCATION_ACTION action =
            owner.routine(owner.device, owner.device->CurrentIrp, registers, owner.context);
        if (action == KeepObject) return;
        if (action == DeallocateObject) free_registers(self, registers, count);
    }
}

NTSTATUS allocate_channel(DMA_ADAPTER* which, DEVICE_OBJECT* device, ULONG count,
                          PDRIVER_CONTROL routine, void* context) {
    VERIFY_IRQL(AllocateAdapterChannel);
    adapter& self = used(which);
    if (count > self.most_registers || fault_point("windows.dma_channel"))
        return STATUS_INSUFFICIENT_RESOURCES;
    map_registers* const registers = allocate_registers(self, count);
    if (registers == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    {
        const std::lock_guard guard(self.lock);
        self.waiting.push_back({device, registers, routine, context});
        if (std::exchange(self.channel_is_owned, true)) return STATUS_SUCCESS;
    }
    pass_channel_on(self);
    return STATUS_SUCCESS;
}

void free_channel(DMA_ADAPTER* which) {
    VERIFY_IRQL(FreeAdapterChannel);
    adapter& self = used(which);
    map_registers* registers = nullptr;
    {
        const std::lock_guard guard(self.lock);
        registers = self.in_channel;
    }
    if (registers == nullptr) return report_dma_mistake(dma_mistake::freed_channel, &self, 1);
    free_registers(self, registers, registers->count);
    pass_channel_on(self);
}

void free_map_registers(DMA_ADAPTER* which, void* base, ULONG count) {
    VERIFY_IRQL(FreeMapRegisters);
    free_registers(used(which), static_cast<map_registers*>(base), count);
}

PHYSICAL_ADDRESS map_transfer(DMA_ADAPTER* which, MDL* mdl, void* base, void* current,
                              ULONG* length, BOOLEAN) {
    VERIFY_IRQL(MapTransfer);
    adapter& self = used(which);
    const auto rest = static_cast<ULONG>(PAGE_SIZE - BYTE_OFFSET(current));
    if (self.scatter_gather) *length = std::min(*length, rest);
    set_mapped(self, base, true);
    return logical_address(*mdl, current);
}

BOOLEAN flush_buffers(DMA_ADAPTER* which, MDL*, void* base, void*, ULONG, BOOLEAN) {
    VERIFY_IRQL(FlushAdapterBuffers);
    set_mapped(used(which), base, false);
    return TRUE;
}

// Common buffers

void* allocate_common_buffer(DMA_ADAPTER* which, ULONG length, PHYSICAL_ADDRESS* logical, BOOLEAN) {
    VERIFY_IRQL(AllocateCommonBuffer);
    adapter& self = used(which);
    void* const made = MmAllocateContiguousMemory(length, {});
    if (made == nullptr) return nullptr;
    *logical = MmGetPhysicalAddress(made);
    const std::lock_guard guard(self.lock);
    self.common_buffers.push_back(made);
    return made;
}

void free_common_buffer(DMA_ADAPTER* which, ULONG, PHYSICAL_ADDRESS, void* gone, BOOLEAN) {
    VERIFY_IRQL(FreeCommonBuffer);
    adapter& self = used(which);
    bool known = false;
    {
        const std::lock_guard guard(self.lock);
        known = remove_element(self.common_buffers, gone);
    }
    if (known)
        MmFreeContiguousMemory(gone);
    else
        report_dma_mistake(dma_mistake::freed_common_buffer, &self, 1);
}

// Scatter/gather lists

ULONG list_size(ULONG pages) {
    return static_cast<ULONG>(sizeof(SCATTER_GATHER_LIST) + pages * sizeof(SCATTER_GATHER_ELEMENT));
}

void fill_list(SCATTER_GATHER_LIST& list, const MDL& mdl, const char* current, ULONG length) {
    list.NumberOfElements = 0;
    list.Reserved = 0;
    while (length != 0) {
        const ULONG part =
            std::min<ULONG>(length, static_cast<ULONG>(PAGE_SIZE - BYTE_OFFSET(current)));
        list.Elements[list.NumberOfElements++] = {logical_address(mdl, current), part, 0};
        current += part;
        length -= part;
    }
}

bool lies_in(const MDL& mdl, const void* current, ULONG length) {
    const auto before = static_cast<ULONG_PTR>(static_cast<const char*>(current) -
                                               static_cast<char*>(MmGetMdlVirtualAddress(&mdl)));
    return before <= mdl.ByteCount && length <= mdl.ByteCount - before;
}

// `list` has room for the pages of the transfer.
NTSTATUS give_list(adapter& self, DEVICE_OBJECT* device, const MDL& mdl, void* current,
                   ULONG length, PDRIVER_LIST_CONTROL routine, void* context, list_memory memory) {
    fill_list(*memory.list, mdl, static_cast<const char*>(current), length);
    {
        const std::lock_guard guard(self.lock);
        self.lists.push_back(memory);
    }
    routine(device, device->CurrentIrp, memory.list, context);
    return STATUS_SUCCESS;
}

NTSTATUS calculate_list(DMA_ADAPTER* which, MDL* mdl, void* current, ULONG length, ULONG* size,
                        ULONG* registers) {
    used(which);
    if (mdl != nullptr && !lies_in(*mdl, current, length)) return STATUS_BUFFER_TOO_SMALL;
    const ULONG pages = pages_of(current, length);
    *size = list_size(pages);
    if (registers != nullptr) *registers = pages;
    return STATUS_SUCCESS;
}

NTSTATUS get_list(DMA_ADAPTER* which, DEVICE_OBJECT* device, MDL* mdl, void* current, ULONG length,
                  PDRIVER_LIST_CONTROL routine, void* context, BOOLEAN) {
    VERIFY_IRQL(GetScatterGatherList);
    adapter& self = used(which);
    if (!lies_in(*mdl, current, length)) return STATUS_BUFFER_TOO_SMALL;
    const ULONG pages = pages_of(current, length);
    if (pages > self.most_registers) return STATUS_INSUFFICIENT_RESOURCES;
    void* const memory = ExAllocatePoolWithTag(NonPagedPoolNx, list_size(pages), tag);
    if (memory == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    return give_list(self, device, *mdl, current, length, routine, context,
                     {static_cast<SCATTER_GATHER_LIST*>(memory), true});
}

NTSTATUS build_list(DMA_ADAPTER* which, DEVICE_OBJECT* device, MDL* mdl, void* current,
                    ULONG length, PDRIVER_LIST_CONTROL routine, void* context, BOOLEAN,
                    void* buffer, ULONG size) {
    VERIFY_IRQL(BuildScatterGatherList);
    adapter& self = used(which);
    if (!lies_in(*mdl, current, length) || size < list_size(pages_of(current, length)))
        return STATUS_BUFFER_TOO_SMALL;
    return give_list(self, device, *mdl, current, length, routine, context,
                     {static_cast<SCATTER_GATHER_LIST*>(buffer), false});
}

void put_list(DMA_ADAPTER* which, SCATTER_GATHER_LIST* gone, BOOLEAN) {
    VERIFY_IRQL(PutScatterGatherList);
    adapter& self = used(which);
    for (const bool from_pool : {true, false}) {
        {
            const std::lock_guard guard(self.lock);
            if (!remove_element(self.lists, {gone, from_pool})) continue;
        }
        if (from_pool) ExFreePoolWithTag(gone, tag);
        return;
    }
    report_dma_mistake(dma_mistake::freed_list, &self, 1);
}

NTSTATUS mdl_of_list(DMA_ADAPTER*, SCATTER_GATHER_LIST*, MDL* original, MDL** made) {
    *made = original; // its pages are those of the list
    return STATUS_SUCCESS;
}

// The adapter

ULONG alignment(DMA_ADAPTER*) { return 1; }
ULONG counter(DMA_ADAPTER*) { return 0; } // no transfer of a system's DMA controller is under way

void put_adapter(DMA_ADAPTER* which) {
    VERIFY_IRQL(PutDmaAdapter);
    adapter& self = used(which);
    const std::pair<dma_mistake, std::size_t> left[] = {
        {dma_mistake::left_common_buffer, self.common_buffers.size()},
        {dma_mistake::left_channel, self.channel_is_owned},
        {dma_mistake::left_map_registers, self.registers.size()},
        {dma_mistake::left_list, self.lists.size()}};
    for (const auto& [mistake, count] : left)
        if (count != 0) report_dma_mistake(mistake, &self, count);
    for (map_registers* const each : self.registers)
        delete each;
    self.~adapter();
    ExFreePoolWithTag(&self, tag);
}

DMA_OPERATIONS operations() {
    DMA_OPERATIONS made{};
    made.Size = static_cast<ULONG>(offsetof(DMA_OPERATIONS, GetDmaAdapterInfo)); // of version 2
    made.PutDmaAdapter = put_adapter;
    made.AllocateCommonBuffer = allocate_common_buffer;
    made.FreeCommonBuffer = free_common_buffer;
    made.AllocateAdapterChannel = allocate_channel;
    made.FlushAdapterBuffers = flush_buffers;
    made.FreeAdapterChannel = free_channel;
    made.FreeMapRegisters = free_map_registers;
    made.MapTransfer = map_transfer;
    made.GetDmaAlignment = alignment;
    made.ReadDmaCounter = counter;
    made.GetScatterGatherList = get_list;
    made.PutScatterGatherList = put_list;
    made.CalculateScatterGatherList = calculate_list;
    made.BuildScatterGatherList = build_list;
    made.BuildMdlFromScatterGatherList = mdl_of_list;
    return made;
}

} // namespace

extern "C" {

PDMA_ADAPTER IoGetDmaAdapter(PDEVICE_OBJECT, PDEVICE_DESCRIPTION DeviceDescription,
                             PULONG NumberOfMapRegisters) {
    VERIFY_IRQL(IoGetDmaAdapter);
    static DMA_OPERATIONS only = operations();
    const DEVICE_DESCRIPTION& wanted = *DeviceDescription;
    if (wanted.Version > DEVICE_DESCRIPTION_VERSION2) return nullptr;
    void* const memory = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(adapter), tag);
    if (memory == nullptr) return nullptr;
    auto* const made = new (memory) adapter{};
    made->Version = static_cast<USHORT>(std::max<ULONG>(wanted.Version, 1));
    made->Size = sizeof(adapter);
    made->DmaOperations = &only;
    made->scatter_gather = wanted.ScatterGather != FALSE;
    made->most_registers = wanted.MaximumLength / PAGE_SIZE + 1;
    *NumberOfMapRegisters = made->most_registers;
    return made;
}

} // extern "C"
