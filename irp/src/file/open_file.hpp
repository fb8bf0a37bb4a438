// The library's part of a file object.
#pragma once

#include <irp/file.h>

#include <dispatch/machine.hpp>
#include <dispatch/support/object.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <string>

namespace irpverbs::irp {

struct open_file : FILE_OBJECT {
    std::u16string name; // FileName
    dispatch::detail::object_reference device;
    dispatch::detail::object_reference related;
    IRP* last_irp = nullptr;                  // reserved for IRP_MJ_CLEANUP and IRP_MJ_CLOSE
    const dispatch::machine* owner = nullptr; // the machine that opened it
    ACCESS_MASK granted = 0;
    LONG handles = 0;
    ULONG sweeps = 0;       // guarded by IrpListLock: cancellations so far
    bool created = false;   // the driver completed IRP_MJ_CREATE with success
    bool abandoned = false; // its driver is gone
    WORK_QUEUE_ITEM closing{};
};

inline open_file& open_file_of(FILE_OBJECT& file) { return static_cast<open_file&>(file); }

using file_reference = boost::intrusive_ptr<FILE_OBJECT>;

/// Returns a file object that is not yet open, with one reference; null without memory.
file_reference make_file(DEVICE_OBJECT& device, std::u16string name);

/// Returns the file of a handle. STATUS_SUCCESS; statuses of ObReferenceObjectByHandle.
NTSTATUS file_of(HANDLE handle, KPROCESSOR_MODE mode, ACCESS_MASK access, file_reference& file);

/// The rights that the access bits of a control code ask for.
inline ACCESS_MASK rights_of_control_code(ULONG code) {
    const ULONG bits = code >> 14 & 3;
    return ((bits & FILE_READ_ACCESS) != 0 ? FILE_READ_DATA : 0u) |
           ((bits & FILE_WRITE_ACCESS) != 0 ? FILE_WRITE_DATA : 0u);
}

/// Drops a reference on behalf of a completed request. The last one closes the file later, at
/// PASSIVE_LEVEL, and not inside the driver's completion.
void dereference_completed(FILE_OBJECT& file);

/// Holds a file of FO_SYNCHRONOUS_IO for one request. IRQL: PASSIVE_LEVEL.
class synchronous_turn {
public:
    explicit synchronous_turn(FILE_OBJECT& file);
    ~synchronous_turn();
    synchronous_turn(const synchronous_turn&) = delete;
    synchronous_turn& operator=(const synchronous_turn&) = delete;

private:
    FILE_OBJECT& file_;
};

inline bool is_synchronous(const FILE_OBJECT& file) {
    return (file.Flags & FO_SYNCHRONOUS_IO) != 0;
}

} // namespace irpverbs::irp

inline void intrusive_ptr_add_ref(FILE_OBJECT* file) {
    irpverbs::dispatch::detail::reference_object(file->Header);
}
inline void intrusive_ptr_release(FILE_OBJECT* file) {
    irpverbs::dispatch::detail::dereference_object(file->Header);
}
