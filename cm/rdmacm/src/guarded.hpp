// The border's functions.
#pragma once

#include "cm_id.hpp"

#include <dispatch/status.hpp>
#include <drop_in/devices.hpp>

#include <cerrno>
#include <new>

namespace irpverbs::rdmacm {

/// Calls `body`, which returns an errno value, and returns 0, or -1 with errno. A child of a fork
/// has the parent's ids, and none of the threads that serve them.
template <class Body>
int guarded(const Body& body) noexcept {
    try {
        return as_result(drop_in::is_forked_child() ? EIO : body());
    } catch (const std::bad_alloc&) {
        return as_result(ENOMEM);
    } catch (const dispatch::status_error& error) {
        return as_result(drop_in::error_of(error.status()));
    }
}

} // namespace irpverbs::rdmacm
