// A call with an output buffer, repeated with a larger buffer until the output fits.
#pragma once

#include <ci/detail/verb.hpp>

#include <cstddef>
#include <vector>

namespace irpverbs::ci::detail {

/// The call has a stack location of its own in the IRP, whose completion routine repeats the call:
/// cancellation and deadline cover all repetitions.
class NT_API retry_on_overflow {
public:
    CCHAR stack_size() const { return 2; }
    void start(IRP* irp);

protected:
    struct steps {
        void (*send)(retry_on_overflow& self, IRP* irp);
        SIZE_T (*needed)(const retry_on_overflow& self); // after STATUS_BUFFER_OVERFLOW
    };

    /// `how` outlives the call.
    retry_on_overflow(const steps& how, SIZE_T first_size) noexcept
        : how_(&how), size_(first_size) {}

    std::vector<std::byte> buffer_;

private:
    static NTSTATUS on_completed(DEVICE_OBJECT*, IRP* irp, void* context);
    bool grow(SIZE_T size) noexcept;
    bool overflowed(const IRP& irp) const;
    void send(IRP* irp);

    const steps* how_;
    SIZE_T size_;
};

} // namespace irpverbs::ci::detail
