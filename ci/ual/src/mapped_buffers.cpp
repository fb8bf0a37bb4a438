#include "mapped_buffers.hpp"

#include <algorithm>
#include <new>
#include <sys/stat.h>
#include <utility>

namespace irpverbs::ual {

namespace {

constexpr std::size_t unit = std::size_t{1} << 20; // which also limits the number of mappings

// A size beyond all numbers is beyond all limits.
ULONG charge_of(off_t size) {
    const std::size_t units = (static_cast<std::size_t>(size) + unit - 1) / unit;
    return static_cast<ULONG>(std::min<std::size_t>(units, ~ULONG{0}));
}

} // namespace

// Forgets those that have ended.
std::shared_ptr<const mapped_buffer> mapped_buffers::find(dev_t device, ino_t number) {
    std::erase_if(all_, [](const auto& each) { return each.expired(); });
    for (const auto& each : all_)
        if (auto known = each.lock();
            known != nullptr && known->device == device && known->number == number)
            return known;
    return nullptr;
}

// The descriptor is asked for its seals before all else: another file might block.
NTSTATUS mapped_buffers::map(const ci::detail::unique_descriptor& file,
                             std::shared_ptr<const mapped_buffer>& found) try {
    using ci::detail::shared_memory;
    struct stat its {};
    if (!shared_memory::is_always_accessible(file) || fstat(file.get(), &its) != 0)
        return STATUS_INVALID_PARAMETER;
    found = find(its.st_dev, its.st_ino);
    if (found != nullptr) return STATUS_SUCCESS;
    charged_share charge(charged_, charge_of(its.st_size));
    if (!charge) return STATUS_SUCCESS;
    shared_memory mapped = shared_memory::map(file, shared_memory::others::may_write);
    if (!mapped) return STATUS_SUCCESS;
    found = std::make_shared<const mapped_buffer>(
        mapped_buffer{its.st_dev, its.st_ino, std::move(charge), std::move(mapped)});
    all_.push_back(found);
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    found.reset();
    return STATUS_INSUFFICIENT_RESOURCES;
}

} // namespace irpverbs::ual
