// Entries of the error log, which are printed as debugger messages.
#include "standard.hpp"

#include <irp/file.h>
#include <windows/wdk/debug.h>
#include <windows/wdk/executive.h>
#include <windows/wdk/io.h>

namespace {

constexpr ULONG tag = 0x72457245; // ErEr

struct entry {
    const DRIVER_OBJECT* driver;
    IO_ERROR_LOG_PACKET packet; // whose end the driver has chosen

    static entry* of(void* packet) { return CONTAINING_RECORD(packet, entry, packet); }
};

const DRIVER_OBJECT* driver_of(const void* object) {
    const auto* const header = static_cast<const OBJECT_HEADER*>(object);
    return header->ObjectType == *IoDeviceObjectType
               ? static_cast<const DEVICE_OBJECT*>(object)->DriverObject
               : static_cast<const DRIVER_OBJECT*>(object);
}

} // namespace

extern "C" {

PVOID IoAllocateErrorLogEntry(PVOID IoObject, UCHAR EntrySize) {
    if (EntrySize < sizeof(IO_ERROR_LOG_PACKET) || EntrySize > ERROR_LOG_MAXIMUM_SIZE)
        return nullptr;
    void* const memory =
        ExAllocatePoolWithTag(NonPagedPoolNx, offsetof(entry, packet) + EntrySize, tag);
    if (memory == nullptr) return nullptr;
    memset(memory, 0, offsetof(entry, packet) + EntrySize);
    auto* const made = static_cast<entry*>(memory);
    made->driver = driver_of(IoObject);
    return &made->packet;
}

void IoWriteErrorLogEntry(PVOID ElEntry) {
    const entry& written = *entry::of(ElEntry);
    DbgPrint("%wZ: error log entry 0x%08x, final status 0x%08x, unique value %u\n",
             &written.driver->DriverName, written.packet.ErrorCode, written.packet.FinalStatus,
             written.packet.UniqueErrorValue);
    IoFreeErrorLogEntry(ElEntry);
}

void IoFreeErrorLogEntry(PVOID ElEntry) { ExFreePoolWithTag(entry::of(ElEntry), tag); }

} // extern "C"
