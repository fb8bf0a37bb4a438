// An HCA that a daemon serves: its FDO in this process.
#pragma once

#include "provider/library.hpp"

#include <ci/driver.h>
#include <ci/support/wire.hpp>

#include <string>

namespace irpverbs::hca_user {

class adapter {
public:
    /// `provider` may be null.
    adapter(std::string socket, const ci::wire::hca& served,
            std::unique_ptr<provider_library> provider, bool checks_memory);
    ~adapter();
    adapter(const adapter&) = delete;
    adapter& operator=(const adapter&) = delete;

    static adapter& of(DEVICE_OBJECT* device) {
        return **static_cast<adapter**>(HcaDeviceExtension(device));
    }

    /// Makes the FDO. A failure leaves no FDO and writes the reason to `problem`.
    NTSTATUS start(std::string& problem);

    DEVICE_OBJECT* device() const { return device_; }
    const std::string& socket() const { return socket_; }
    UCHAR ports() const { return static_cast<UCHAR>(served_.ports); }
    ib_guid_t guid() const { return served_.guid; }
    /// The daemon writes all bytes of receives itself, so that a receive fails where a page is not
    /// mapped.
    bool checks_memory() const { return checks_memory_; }
    /// Null: it has no provider.
    const uvp_interface_t* provider() const {
        return provider_ != nullptr ? &provider_->functions() : nullptr;
    }

private:
    const std::string socket_;
    const ci::wire::hca served_;
    const std::unique_ptr<provider_library> provider_;
    const bool checks_memory_;
    DEVICE_OBJECT* device_ = nullptr;
};

/// The operations of the driver.
const HCA_OPERATIONS& operations();

} // namespace irpverbs::hca_user
