// A software fabric that only the subnet manager under test configures.
#pragma once

#include "../hca/mad_client.hpp"

#include <dispatch/support/faults.hpp>
#include <subnet_manager/subnet_manager.hpp>
#include <support/coroutines.hpp>
#include <support/topology_file.hpp>

#include <string>

namespace irpverbs::testing {

/// The URI of a fabric without initial configuration.
inline std::string unmanaged(const std::string& topology = "") {
    return "software:" + topology + "?unmanaged";
}

/// A subnet manager that has been started; the destructor waits until it has stopped.
class running_manager {
public:
    explicit running_manager(subnet_manager::manager_options options)
        : manager_(std::move(options)) {
        EXPECT_STREQ(name_of(started()), "STATUS_SUCCESS");
    }
    ~running_manager() { stop(); }
    running_manager(const running_manager&) = delete;
    running_manager& operator=(const running_manager&) = delete;

    subnet_manager::manager* operator->() { return &manager_; }

    NTSTATUS wait_until_up() {
        call_result<void> up;
        manager_.wait_until_up(up.handler());
        return up.status();
    }
    NTSTATUS stop() {
        call_result<void> stopped;
        manager_.stop(stopped.handler());
        return stopped.status();
    }

private:
    NTSTATUS started() {
        call_result<void> done;
        manager_.start(done.handler());
        return done.status();
    }

    subnet_manager::manager manager_;
};

/// Checks once a second of virtual time, for at most five minutes.
template <class Reached>
bool eventually(const Reached& reached) {
    for (int i = 0; i < 300 && !reached(); ++i) {
        LARGE_INTEGER second;
        second.QuadPart = -10'000'000;
        KeDelayExecutionThread(KernelMode, FALSE, &second);
    }
    return reached();
}

/// Allocations fail by the machine's choices, or none does.
inline void set_memory_short(bool is_short) {
    namespace detail = irpverbs::dispatch::detail;
    constexpr auto bit = static_cast<std::uint32_t>(detail::check::low_resources);
    const std::uint32_t others = detail::enabled_checks.load() & ~bit;
    detail::set_enabled_checks(is_short ? others | bit : others);
}

} // namespace irpverbs::testing
