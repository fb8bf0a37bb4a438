// The machine's Plug and Play manager: the devices of buses, their interfaces, and the callbacks
// for these.
#pragma once

#include "interrupt/interrupt_controller.hpp"
#include "names.hpp"
#include "notifications.hpp"

#include <irp/device_interface.h>

#include <dispatch/support/scheduled_spin.hpp>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace irpverbs::irp {

/// Distinct threads may call all members but the destructor; they may throw std::bad_alloc. IRQL:
/// PASSIVE_LEVEL.
class plug_and_play {
public:
    /// The manager of the calling thread's machine. A device of a bus may outlive the machine.
    static std::shared_ptr<plug_and_play> current();

    /// Makes the device known as one of a bus, with a key below Enum.
    void add_device(const DEVICE_OBJECT& physical);
    /// Disables and forgets the device's interfaces, and the device.
    void remove_device(const DEVICE_OBJECT& physical);
    /// Returns the path of the device below Enum; empty: it is not one of a bus.
    std::u16string instance_of(const DEVICE_OBJECT* physical);

    /// Returns the interrupt line of the device; null: it is not one of a bus.
    std::optional<interrupt_line> line_of(const DEVICE_OBJECT* physical);

    /// Statuses: those of IoRegisterDeviceInterface.
    NTSTATUS register_interface(const DEVICE_OBJECT* physical, const GUID& type,
                                std::u16string_view reference, std::u16string& link);
    /// Statuses: those of IoSetDeviceInterfaceState.
    NTSTATUS set_state(std::u16string_view link, bool enable);
    /// Returns the links of the type's interfaces, of one device unless `physical` is null.
    std::vector<std::u16string> links(const GUID& type, const DEVICE_OBJECT* physical,
                                      bool disabled_ones);
    /// Returns the path of the interface's key; empty: there is no such interface.
    std::u16string key_of_interface(std::u16string_view link);

    notifications& callbacks() { return *callbacks_; }

private:
    struct device_interface {
        const DEVICE_OBJECT* physical;
        GUID type;
        std::u16string base;      // the symbolic link of all of this device and type
        std::u16string reference; // may be empty
        bool enabled = false;

        std::u16string link() const { return reference.empty() ? base : base + u'\\' + reference; }
    };

    // Under lock_:
    device_interface* find(std::u16string_view link);
    bool base_is_linked(const device_interface& one) const;
    NTSTATUS enable(device_interface& one);
    void disable(device_interface& one);

    dispatch::detail::scheduled_spin lock_;
    struct bus_device {
        unsigned number;
        std::u16string instance;
    };
    std::map<const DEVICE_OBJECT*, bus_device> bus_devices_; // guarded by lock_
    std::vector<device_interface> interfaces_;               // guarded by lock_
    unsigned devices_ = 0;                                   // so far; guarded by lock_
    const std::shared_ptr<notifications> callbacks_ = std::make_shared<notifications>();
};

/// Returns the path of a device's key from the root.
std::u16string enum_path(std::u16string_view instance);

/// Returns the GUID as {00000000-0000-0000-0000-000000000000}.
std::u16string text_of(const GUID& guid);

inline bool operator==(const GUID& one, const GUID& other) {
    return std::memcmp(&one, &other, sizeof one) == 0;
}

} // namespace irpverbs::irp
