#pragma once

#include <dispatch/support/scheduled_spin.hpp>
#include <irp/driver_extension.h>

#include <map>
#include <memory>
#include <utility>

namespace irpverbs::irp {

/// The memory that clients of a machine have attached to driver objects.
class driver_extensions {
public:
    static driver_extensions& current();

    /// Null: there is one. Throws std::bad_alloc.
    void* add(const DRIVER_OBJECT* driver, const void* client, std::size_t size);
    void* find(const DRIVER_OBJECT* driver, const void* client);
    void release(const DRIVER_OBJECT* driver);

private:
    using key = std::pair<const DRIVER_OBJECT*, const void*>;

    dispatch::detail::scheduled_spin lock_;
    std::map<key, std::unique_ptr<char[]>> memory_; // guarded by lock_
};

} // namespace irpverbs::irp
