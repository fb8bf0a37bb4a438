#include "standard.hpp"

#include <windows/wdk/files.h>
#include <windows/wdk/status_codes.h>

namespace {

constexpr ULONG head = offsetof(FILE_FULL_EA_INFORMATION, EaName);

// The bytes of the entry that begins the buffer, or 0 if it doesn't lie in it.
ULONG size_of_entry(const FILE_FULL_EA_INFORMATION* entry, ULONG length) {
    if (length < head) return 0;
    const ULONG size = head + entry->EaNameLength + 1 + entry->EaValueLength;
    const char* const name = reinterpret_cast<const char*>(entry) + head;
    return size <= length && name[entry->EaNameLength] == 0 ? size : 0;
}

} // namespace

extern "C" NTSTATUS IoCheckEaBufferValidity(PFILE_FULL_EA_INFORMATION EaBuffer, ULONG EaLength,
                                            PULONG ErrorOffset) {
    ULONG at = 0;
    while (true) {
        const auto* entry = reinterpret_cast<const FILE_FULL_EA_INFORMATION*>(
            reinterpret_cast<const char*>(EaBuffer) + at);
        const ULONG size = size_of_entry(entry, EaLength - at);
        if (size != 0 && entry->NextEntryOffset == 0) return STATUS_SUCCESS;
        const ULONG aligned = (size + 3) & ~3u;
        if (size == 0 || entry->NextEntryOffset != aligned || aligned > EaLength - at) break;
        at += aligned;
    }
    *ErrorOffset = at;
    return STATUS_EA_LIST_INCONSISTENT;
}
