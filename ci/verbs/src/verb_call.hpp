// Verbs of ci, called by a thread that waits for their completion.
#pragma once

#include <ci/ci.h>
#include <drop_in/devices.hpp>

#include <cerrno>

namespace irpverbs::verbs {

/// The completion of a verb.
struct outcome {
    NTSTATUS status;
    ULONG_PTR information;

    explicit operator bool() const { return NT_SUCCESS(status); }
    /// 0, or an errno value, which is in errno too, as after a call of the kernel: programs print
    /// either.
    int error() const {
        const int number = drop_in::error_of(status);
        if (number != 0) errno = number;
        return number;
    }
    /// The object that the verb has created. Null and errno after a failure.
    template <class Object>
    Object* object() const {
        if (NT_SUCCESS(status)) return reinterpret_cast<Object*>(information);
        error();
        return nullptr;
    }
};

/// The outcome of a call whose arguments have no place in ci, which would refuse them.
inline constexpr outcome invalid_arguments{STATUS_INVALID_PARAMETER, 0};

/// An IRP and the event of its completion.
class awaited_irp {
public:
    awaited_irp();
    ~awaited_irp();
    awaited_irp(const awaited_irp&) = delete;
    awaited_irp& operator=(const awaited_irp&) = delete;

    /// Null: there is no memory.
    IRP* get() const { return irp_; }
    outcome wait();

private:
    IRP* irp_;
    KEVENT completed_;
};

/// Calls a verb and waits for its completion. In the child of a fork, which has none of the threads
/// that serve the parent's objects, the status is STATUS_FILE_FORCED_CLOSED: EIO. IRQL:
/// PASSIVE_LEVEL.
template <class... Parameters, class... Arguments>
outcome call(NTSTATUS (*verb)(Parameters...), Arguments... arguments) {
    if (drop_in::is_forked_child()) return {STATUS_FILE_FORCED_CLOSED, 0};
    awaited_irp carrier;
    if (carrier.get() == nullptr) return {STATUS_INSUFFICIENT_RESOURCES, 0};
    verb(arguments..., carrier.get());
    return carrier.wait();
}

} // namespace irpverbs::verbs
