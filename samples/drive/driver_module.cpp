#include "driver_module.hpp"

#include <dispatch/support/live_objects.hpp>

#include <algorithm>
#include <cstdint>
#include <dlfcn.h>
#include <filesystem>
#include <functional>
#include <link.h>
#include <stdexcept>
#include <unistd.h>

namespace drive {

namespace {

// A path without a slash would be searched in the system's folders.
std::string absolute(const std::string& path) { return std::filesystem::absolute(path).string(); }

using inspection = std::function<void(const dl_phdr_info&)>;

int visit(dl_phdr_info* info, std::size_t, void* held) {
    (*static_cast<inspection*>(held))(*info);
    return 0;
}

bool contains(const dl_phdr_info& info, const void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (int i = 0; i < info.dlpi_phnum; ++i)
        if (info.dlpi_phdr[i].p_type == PT_LOAD &&
            at - (info.dlpi_addr + info.dlpi_phdr[i].p_vaddr) < info.dlpi_phdr[i].p_memsz)
            return true;
    return false;
}

// The part of a segment behind what the loader made read-only after relocation.
std::uintptr_t end_of_read_only(const dl_phdr_info& info) {
    for (int i = 0; i < info.dlpi_phnum; ++i)
        if (info.dlpi_phdr[i].p_type == PT_GNU_RELRO) {
            const std::uintptr_t end =
                info.dlpi_addr + info.dlpi_phdr[i].p_vaddr + info.dlpi_phdr[i].p_memsz;
            return end / static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)) *
                   static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        }
    return 0;
}

// A driver may name functions that the library only declares. Lazy binding ends a run that calls
// one; it costs time in each run, whose variables are reset with the addresses that it found.
void* open_module(const std::string& path) {
    void* const whole = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    return whole != nullptr ? whole : dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
}

// The variables of a driver that was compiled with AddressSanitizer have poisoned bytes between
// them, which memcpy reports. Volatile keeps the compiler from calling it.
__attribute__((no_sanitize("address"), no_sanitize("thread"))) void
copy_with_gaps(const char* from, char* to, std::size_t size) {
    using word [[gnu::may_alias, gnu::aligned(1)]] = std::uint64_t;
    std::size_t at = 0;
    for (; size - at >= sizeof(word); at += sizeof(word))
        *reinterpret_cast<volatile word*>(to + at) =
            *reinterpret_cast<const volatile word*>(from + at);
    for (; at != size; ++at)
        const_cast<volatile char*>(to)[at] = const_cast<const volatile char*>(from)[at];
}

} // namespace

driver_module::driver_module(const std::string& path) : handle_(open_module(absolute(path))) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
    void* const found = dlsym(handle_, "DriverEntry");
    if (found == nullptr) {
        dlclose(handle_);
        throw std::runtime_error(path + " has no function DriverEntry that is visible outside");
    }
    entry_ = reinterpret_cast<PDRIVER_INITIALIZE>(found);
    inspection save = [&](const dl_phdr_info& info) {
        if (!contains(info, found)) return;
        const std::uintptr_t read_only = end_of_read_only(info);
        for (int i = 0; i < info.dlpi_phnum; ++i) {
            const auto& segment = info.dlpi_phdr[i];
            if (segment.p_type != PT_LOAD) continue;
            image_.emplace_back(reinterpret_cast<const char*>(info.dlpi_addr + segment.p_vaddr),
                                segment.p_memsz);
            if ((segment.p_flags & PF_W) == 0) continue;
            const std::uintptr_t begin = std::max(info.dlpi_addr + segment.p_vaddr, read_only);
            const std::uintptr_t end = info.dlpi_addr + segment.p_vaddr + segment.p_memsz;
            char* const memory = reinterpret_cast<char*>(begin);
            if (begin >= end) continue;
            variables& saved =
                saved_.emplace_back(variables{memory, std::vector<char>(end - begin)});
            copy_with_gaps(memory, saved.contents.data(), end - begin);
        }
    };
    dl_iterate_phdr(visit, &save);
}

driver_module::~driver_module() { dlclose(handle_); }

void driver_module::reset_variables() {
    for (const variables& each : saved_)
        copy_with_gaps(each.contents.data(), each.memory, each.contents.size());
}

void driver_module::check_unloaded() const {
    irpverbs::dispatch::detail::check_unloaded_image(image_);
}

} // namespace drive
