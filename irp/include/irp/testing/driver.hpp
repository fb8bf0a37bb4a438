/// A driver for the life of a scope.
#pragma once

#include <irp/testing/driver.h>

#include <string>
#include <string_view>

namespace irpverbs::irp {

/// IrpLoadDriver.
inline NTSTATUS load_driver(PDRIVER_INITIALIZE entry, std::u16string_view name,
                            DRIVER_OBJECT*& driver) {
    std::u16string text(name);
    UNICODE_STRING string{static_cast<USHORT>(text.size() * sizeof(WCHAR)),
                          static_cast<USHORT>(text.size() * sizeof(WCHAR)),
                          reinterpret_cast<PWSTR>(text.data())};
    return IrpLoadDriver(entry, &string, &driver);
}

/// IrpUnloadDriver.
inline NTSTATUS unload_driver(DRIVER_OBJECT* driver) { return IrpUnloadDriver(driver); }

/// A loaded driver. The constructor throws dispatch::status_error when the driver's entry point
/// fails; the destructor unloads it.
class NT_API loaded_driver {
public:
    explicit loaded_driver(PDRIVER_INITIALIZE entry, std::u16string_view name = u"Test");
    ~loaded_driver();
    loaded_driver(const loaded_driver&) = delete;
    loaded_driver& operator=(const loaded_driver&) = delete;

    DRIVER_OBJECT* get() const noexcept { return driver_; }

    /// Unloads the driver now. Statuses: those of IrpUnloadDriver.
    NTSTATUS unload();

private:
    DRIVER_OBJECT* driver_ = nullptr;
};

} // namespace irpverbs::irp
