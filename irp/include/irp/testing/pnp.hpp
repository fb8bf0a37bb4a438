/// Plug and Play and power for tests: a device on a bus, from AddDevice to IRP_MN_REMOVE_DEVICE.
#pragma once

#include <irp/device.h>

#include <functional>

namespace irpverbs::irp {

/// The Plug and Play manager's view of one device. Each member that sends a request sends it to the
/// top of the stack, waits for its completion and returns its status; it keeps the order that the
/// Plug and Play manager keeps, and sends nothing and returns STATUS_INVALID_DEVICE_STATE out of
/// turn. One thread calls the members. IRQL: PASSIVE_LEVEL. Source: WDK "State Transitions for PnP
/// Devices". The device has a key below Enum in the registry (ROOT\IRPVERBS\0000, 0001, ...), and
/// may have device interfaces (device_interface.h).
class NT_API pnp_device {
public:
    enum class state : unsigned char {
        added, // not started, or its start failed
        started,
        stop_pending,
        stopped,
        remove_pending,
        surprise_removed,
        removed, // also before the first add()
    };

    /// Serves the requests that reach the bus and concern neither Plug and Play nor power. It
    /// completes the IRP, or pends it.
    using bus_routine = std::function<NTSTATUS(DEVICE_OBJECT* device, IRP* irp)>;

    /// Creates the physical device. Without `hardware`, those requests complete with
    /// STATUS_INVALID_DEVICE_REQUEST. Throws dispatch::status_error.
    explicit pnp_device(bus_routine hardware = {});
    /// Removes the device, by surprise if it was started, and deletes the physical device with its
    /// interfaces. Its files are closed.
    ~pnp_device();
    pnp_device(const pnp_device&) = delete;
    pnp_device& operator=(const pnp_device&) = delete;

    DEVICE_OBJECT* physical_device() const noexcept { return physical_; }
    DEVICE_OBJECT* top() const { return IoGetAttachedDevice(physical_); }
    pnp_device::state current() const noexcept { return state_; }

    /// The vector of the device's interrupt line, for IrpRaiseInterrupt (interrupt.h).
    ULONG interrupt_vector() const;
    /// The level at which the processor takes that interrupt.
    KIRQL interrupt_irql() const;

    /// IRP_MN_START_DEVICE brings the lists, which stay the caller's; null, as at first: none.
    void set_resources(_CM_RESOURCE_LIST* raw, _CM_RESOURCE_LIST* translated) noexcept;

    /// In some simulated runs the bus pends IRP_MN_START_DEVICE and IRP_MN_SET_POWER from now on,
    /// and completes them 10 ms later from a DPC.
    void let_bus_pend() noexcept { bus_pends_ = true; }

    /// Calls the driver's AddDevice: for a lower filter, then the function driver, then an upper
    /// filter. Its status; STATUS_INVALID_DEVICE_REQUEST: the driver has no AddDevice.
    NTSTATUS add(DRIVER_OBJECT* driver);

    NTSTATUS start();
    /// Sends a request with a minor function that is not defined: STATUS_NOT_SUPPORTED, if each
    /// driver passes it down untouched.
    NTSTATUS send_unknown();
    /// A query that fails is followed by the cancel request.
    NTSTATUS query_stop();
    NTSTATUS cancel_stop();
    NTSTATUS stop();
    /// STATUS_DEVICE_BUSY: the drivers agree, but a file is open; the cancel request was sent.
    NTSTATUS query_remove();
    NTSTATUS cancel_remove();
    /// The device is gone from the bus.
    NTSTATUS surprise_removal();
    /// STATUS_DEVICE_BUSY: a file is open, and nothing was sent. STATUS_CANNOT_DELETE: a driver
    /// left its device attached.
    NTSTATUS remove();

    /// IRP_MN_QUERY_POWER and IRP_MN_SET_POWER. Drivers request device power themselves when the
    /// system's changes (PoRequestPowerIrp).
    NTSTATUS query_power(SYSTEM_POWER_STATE wanted);
    NTSTATUS set_power(SYSTEM_POWER_STATE wanted);
    NTSTATUS query_power(DEVICE_POWER_STATE wanted);
    NTSTATUS set_power(DEVICE_POWER_STATE wanted);
    /// The power that the bus has received last for the device.
    DEVICE_POWER_STATE device_power() const noexcept { return power_; }

private:
    static NTSTATUS dispatch(DEVICE_OBJECT* device, IRP* irp);
    NTSTATUS serve_power(IRP* irp);
    bool is_in(std::initializer_list<state> states) const;
    bool has_open_file() const;
    NTSTATUS send(UCHAR major, UCHAR minor, const IO_STACK_PARAMETERS& parameters = {});
    NTSTATUS send_power(UCHAR minor, POWER_STATE_TYPE type, POWER_STATE wanted);

    DRIVER_OBJECT bus_{};
    bool bus_pends_ = false;
    _CM_RESOURCE_LIST* raw_resources_ = nullptr;
    _CM_RESOURCE_LIST* translated_resources_ = nullptr;
    DEVICE_OBJECT* physical_ = nullptr;
    bus_routine hardware_;
    state state_ = state::removed;
    state before_query_ = state::removed;
    DEVICE_POWER_STATE power_ = PowerDeviceD3;
};

} // namespace irpverbs::irp
