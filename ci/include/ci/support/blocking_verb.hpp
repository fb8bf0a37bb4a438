// Blocking calls of verbs, for packages above.
#ifndef IRPVERBS_CI_SUPPORT_BLOCKING_VERB_HPP
#define IRPVERBS_CI_SUPPORT_BLOCKING_VERB_HPP

#include <ci/ci.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace irpverbs::ci::detail {

struct verb_result {
    NTSTATUS status;
    ULONG_PTR information;

    bool success() const { return NT_SUCCESS(status); }
    template <class Type>
    Type* object() const {
        return reinterpret_cast<Type*>(information);
    }
};

/// Calls `verb(IRP*)` and waits for its completion. The IRP needs no allocation, so a close can't
/// fail for lack of memory. IRQL: PASSIVE_LEVEL.
template <class Verb>
verb_result call_verb(const Verb& verb) {
    alignas(IRP) std::array<std::byte, IoSizeOfIrp(1)> packet;
    IRP* const irp = reinterpret_cast<IRP*>(packet.data());
    IoInitializeIrp(irp, IoSizeOfIrp(1), 1);
    KEVENT done;
    KeInitializeEvent(&done, NotificationEvent, FALSE);
    const auto set_event = [](DEVICE_OBJECT*, IRP*, void* event) -> NTSTATUS {
        KeSetEvent(static_cast<KEVENT*>(event), IO_NO_INCREMENT, FALSE);
        return STATUS_MORE_PROCESSING_REQUIRED;
    };
    IoSetCompletionRoutine(irp, set_event, &done, TRUE, TRUE, TRUE);
    verb(irp);
    KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr);
    return {irp->IoStatus.Status, irp->IoStatus.Information};
}

/// The attributes of a port with all its tables, if the query succeeds. IRQL: PASSIVE_LEVEL.
class port_block {
public:
    // The tables may grow between two queries.
    port_block(IB_CA* ca, UCHAR number) : words_(words_for(usual_size)) {
        for (int attempt = 0; attempt < 4; ++attempt) {
            const SIZE_T size = words_.size() * sizeof(std::uint64_t);
            status_ = call_verb([&](IRP* irp) {
                          return CiQueryPort(ca, number, size, attributes(), irp);
                      }).status;
            if (status_ != STATUS_BUFFER_OVERFLOW) return;
            words_.resize(words_for(attributes()->Size));
        }
    }

    /// The status of the query; get() returns null unless it is STATUS_SUCCESS.
    NTSTATUS status() const { return status_; }
    const IB_PORT_ATTR* get() const {
        return status_ == STATUS_SUCCESS ? reinterpret_cast<const IB_PORT_ATTR*>(words_.data())
                                         : nullptr;
    }

private:
    // A query may read dozens of files in a driver, so this size rarely needs a second query.
    static constexpr std::size_t usual_size = 4096;

    static std::size_t words_for(std::size_t bytes) { return bytes / sizeof(std::uint64_t) + 1; }
    IB_PORT_ATTR* attributes() { return reinterpret_cast<IB_PORT_ATTR*>(words_.data()); }

    std::vector<std::uint64_t> words_;
    NTSTATUS status_ = STATUS_UNSUCCESSFUL;
};

} // namespace irpverbs::ci::detail

#endif
