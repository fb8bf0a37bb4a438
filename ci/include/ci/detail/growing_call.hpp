// A call with a buffer for its answer, made again with a larger one until the answer fits.
#pragma once

#include <ci/detail/verb.hpp>

#include <cstddef>
#include <vector>

namespace irpverbs::ci::detail {

/// The IRP has a stack location for this, whose completion routine calls again: cancellation and
/// deadline hold for the whole.
class NT_API growing_call {
public:
    CCHAR stack_size() const { return 2; }
    void start(IRP* irp);

protected:
    struct steps {
        void (*send)(growing_call& self, IRP* irp);
        SIZE_T (*needed)(const growing_call& self); // after STATUS_BUFFER_OVERFLOW
    };

    /// `how` lives on.
    growing_call(const steps& how, SIZE_T first_size) noexcept : how_(&how), size_(first_size) {}

    std::vector<std::byte> buffer_;

private:
    static NTSTATUS answered(DEVICE_OBJECT*, IRP* irp, void* context);
    bool grow(SIZE_T size) noexcept;
    bool overflowed(const IRP& irp) const;
    void send(IRP* irp);

    const steps* how_;
    SIZE_T size_;
};

} // namespace irpverbs::ci::detail
