#include "quarantine.hpp"

#include "irp_tracker.hpp"
#include "packet/poison.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace irpverbs::irp::verify {
namespace {

constexpr std::size_t most_kept = 128;
constexpr unsigned char pattern = 0xD5;
// Type and Size stay readable: by them IoFreeIrp and IoCallDriver recognise a freed IRP.
constexpr std::size_t readable = 8;

char* poisoned_part(IRP* irp) { return reinterpret_cast<char*>(irp) + readable; }

} // namespace

bool release_freed(IRP* irp) {
    const std::size_t size = irp->Size - readable;
    char* bytes = poisoned_part(irp);
    unpoison(bytes, size);
    const bool untouched = std::all_of(
        bytes, bytes + size, [](char byte) { return static_cast<unsigned char>(byte) == pattern; });
    std::free(irp);
    return untouched;
}

pending_report* release_oldest(irp_tracker& tracker) {
    IRP* oldest = tracker.quarantine.front();
    tracker.quarantine.pop_front();
    const bool untouched = release_freed(oldest);
    const record* past = tracker.find(oldest);
    pending_report* report = nullptr;
    if (!untouched && past != nullptr)
        report = &tracker
                      .violation(rule::WriteAfterFree, past,
                                 "irp#" + std::to_string(past->generation) +
                                     " was written to after it was freed")
                      .with("freed at", past->freed_at);
    tracker.end_record(oldest);
    return report;
}

pending_report* add_to_quarantine(irp_tracker& tracker, IRP* irp) {
    irp->Type = freed_irp_type;
    const std::size_t size = irp->Size - readable;
    unpoison_locations(irp);
    std::memset(poisoned_part(irp), pattern, size);
    poison(poisoned_part(irp), size);
    tracker.quarantine.push_back(irp);
    return tracker.quarantine.size() > most_kept ? release_oldest(tracker) : nullptr;
}

} // namespace irpverbs::irp::verify
