/// An HCA that is open during an object's lifetime.
#pragma once

#include <drop_in/devices.hpp>

#include <ci/ci.h>

#include <vector>

namespace irpverbs::drop_in {

class open_hca {
public:
    /// Opens the device. The up-calls, none for null, receive the context. Throws
    /// dispatch::status_error. IRQL: PASSIVE_LEVEL.
    explicit open_hca(const device& which, void* context = nullptr,
                      const IB_CA_DISPATCH* up_calls = nullptr);
    /// Closes it; the objects created with it are destroyed before. No up-call follows. IRQL:
    /// PASSIVE_LEVEL.
    ~open_hca();
    open_hca(const open_hca&) = delete;
    open_hca& operator=(const open_hca&) = delete;

    IB_CA* ca() const noexcept { return ca_; }
    DEVICE_OBJECT* fdo() const noexcept { return fdo_; }

    /// The attributes of the HCA, its ports and their tables, an IB_CA_ATTR in one block. Throws
    /// dispatch::status_error. IRQL: PASSIVE_LEVEL.
    std::vector<UCHAR> attributes() const;

private:
    DEVICE_OBJECT* fdo_;
    IB_CA* ca_;
};

/// The attributes of a device. The process keeps it open for the next call, until a verb of it
/// fails: its daemon has ended. Throws dispatch::status_error. IRQL: PASSIVE_LEVEL.
std::vector<UCHAR> attributes_of(const device& which);

} // namespace irpverbs::drop_in
