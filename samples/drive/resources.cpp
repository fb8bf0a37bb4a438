#include "resources.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include <windows/wdk/resources.h>

namespace drive {

namespace {

constexpr std::int64_t first_port = 0x1000;

std::vector<char> list_of(const std::vector<CM_PARTIAL_RESOURCE_DESCRIPTOR>& descriptors) {
    CM_RESOURCE_LIST head{};
    head.Count = 1;
    head.List[0].InterfaceType = PNPBus;
    CM_PARTIAL_RESOURCE_LIST& partial = head.List[0].PartialResourceList;
    partial.Version = 1;
    partial.Revision = 1;
    partial.Count = static_cast<ULONG>(descriptors.size());
    constexpr std::size_t before =
        offsetof(CM_RESOURCE_LIST, List[0].PartialResourceList.PartialDescriptors);
    const std::size_t length = descriptors.size() * sizeof(CM_PARTIAL_RESOURCE_DESCRIPTOR);
    std::vector<char> made(before + length);
    std::memcpy(made.data(), &head, before);
    std::memcpy(made.data() + before, descriptors.data(), length);
    return made;
}

CM_PARTIAL_RESOURCE_DESCRIPTOR interrupt_at(ULONG vector, USHORT level) {
    CM_PARTIAL_RESOURCE_DESCRIPTOR made{};
    made.Type = CmResourceTypeInterrupt;
    made.ShareDisposition = CmResourceShareShared;
    made.Flags = CM_RESOURCE_INTERRUPT_LEVEL_SENSITIVE;
    made.u.Interrupt.Level = level;
    made.u.Interrupt.Vector = vector;
    made.u.Interrupt.Affinity = ~KAFFINITY{0};
    return made;
}

CM_PARTIAL_RESOURCE_DESCRIPTOR range_of(UCHAR type, USHORT flags, std::int64_t start,
                                        ULONG length) {
    CM_PARTIAL_RESOURCE_DESCRIPTOR made{};
    made.Type = type;
    made.ShareDisposition = CmResourceShareDeviceExclusive;
    made.Flags = flags;
    made.u.Generic.Start.QuadPart = start;
    made.u.Generic.Length = length;
    return made;
}

_CM_RESOURCE_LIST* list_in(std::vector<char>& bytes) {
    return bytes.empty() ? nullptr : reinterpret_cast<_CM_RESOURCE_LIST*>(bytes.data());
}

} // namespace

resource_lists::resource_lists(const std::vector<resource>& what, ULONG vector, KIRQL level) {
    if (what.empty()) return;
    std::vector<CM_PARTIAL_RESOURCE_DESCRIPTOR> raw;
    std::vector<CM_PARTIAL_RESOURCE_DESCRIPTOR> translated;
    std::int64_t port = first_port;
    for (const resource& each : what) {
        switch (each.kind) {
        case resource_kind::interrupt:
            raw.push_back(interrupt_at(vector, static_cast<USHORT>(vector)));
            translated.push_back(interrupt_at(vector, level));
            continue;
        case resource_kind::port:
            raw.push_back(range_of(CmResourceTypePort, CM_RESOURCE_PORT_IO, port, each.bytes));
            port += each.bytes;
            break;
        case resource_kind::memory:
            raw.push_back(range_of(CmResourceTypeMemory, CM_RESOURCE_MEMORY_READ_WRITE,
                                   reinterpret_cast<std::int64_t>(add_memory(each.bytes)),
                                   each.bytes));
            break;
        }
        translated.push_back(raw.back());
    }
    raw_ = list_of(raw);
    translated_ = list_of(translated);
}

_CM_RESOURCE_LIST* resource_lists::raw() { return list_in(raw_); }
_CM_RESOURCE_LIST* resource_lists::translated() { return list_in(translated_); }

// Registers begin at a page, as where a bus maps them.
char* resource_lists::add_memory(std::size_t bytes) {
    const std::size_t whole = (bytes + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;
    auto* const made = static_cast<char*>(std::aligned_alloc(PAGE_SIZE, whole));
    if (made == nullptr) throw std::bad_alloc();
    std::memset(made, 0, whole);
    memory_.emplace_back(made);
    return made;
}

void resource_lists::free_memory::operator()(char* memory) const { std::free(memory); }

} // namespace drive
