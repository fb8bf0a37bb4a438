// The machine's names of devices: folders, symbolic links and devices, by path.
#pragma once

#include "names.hpp"

#include <irp/device.h>
#include <irp/support/named_object.hpp>

#include <dispatch/support/object.hpp>
#include <dispatch/support/scheduled_spin.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace irpverbs::irp {

/// Paths are compared without regard to the case of ASCII letters. Distinct threads may call all
/// members but the destructor; they may throw std::bad_alloc. IRQL: <= DISPATCH_LEVEL.
class object_namespace : public std::enable_shared_from_this<object_namespace> {
public:
    object_namespace();

    /// The namespace of the calling thread's machine.
    static std::shared_ptr<object_namespace> current();

    /// Inserts the device and stores its key in `key`, by which it is removed. STATUS_SUCCESS;
    /// STATUS_OBJECT_NAME_COLLISION, STATUS_OBJECT_PATH_NOT_FOUND, STATUS_OBJECT_PATH_SYNTAX_BAD,
    /// STATUS_OBJECT_NAME_INVALID.
    NTSTATUS insert_device(std::u16string_view path, DEVICE_OBJECT& device, std::u16string& key);
    void remove_device(const std::u16string& key);

    /// Statuses: those of IoCreateSymbolicLink and IoDeleteSymbolicLink.
    NTSTATUS insert_link(std::u16string_view path, std::u16string_view target);
    NTSTATUS remove_link(std::u16string_view path);

    struct found_device {
        DEVICE_OBJECT* device = nullptr;
        dispatch::detail::object_reference reference;
        std::u16string rest; // of the path, behind the device's name
    };
    /// Statuses: those of NtCreateFile for a path.
    NTSTATUS find_device(std::u16string_view path, found_device& found);

    /// named_object.hpp has their rules.
    NTSTATUS insert_object(std::u16string_view path, named_object& object);
    NTSTATUS find_object(std::u16string_view path, const OBJECT_TYPE& type,
                         dispatch::detail::object_reference& found);
    void handle_closed(named_object& object);
    void make_temporary(named_object& object);

    /// Returns a path of a device that has no name yet.
    std::u16string unused_device_path();

private:
    enum class kind : unsigned char { folder, link, device, other };
    struct entry {
        object_namespace::kind kind;
        std::u16string target;                       // of a link
        DEVICE_OBJECT* device = nullptr;             // of a device
        dispatch::detail::object_reference object{}; // of a folder or link: while it is open
    };
    using entries = std::map<std::u16string, entry, std::less<>>;

    // The place that a path leads to.
    struct place {
        NTSTATUS status;
        std::u16string key;      // of the object, or of one that may be inserted there
        entries::iterator which; // end: there is no object, but its folder
        std::u16string rest;
    };
    place walk(std::u16string path, bool follow_last_link);                     // under lock_
    NTSTATUS insert(std::u16string_view path, entry made, std::u16string& key); // under lock_
    entries::iterator place_of(std::u16string_view path, bool of_link, NTSTATUS& status);
    void give_object(std::u16string_view path, const std::u16string& key, entry& at);
    dispatch::detail::object_reference remove_unused(const named_object& object);

    dispatch::detail::scheduled_spin lock_;
    entries entries_;           // guarded by lock_; keys are upper-case paths without links
    ULONG unnamed_devices_ = 0; // guarded by lock_
};

} // namespace irpverbs::irp
