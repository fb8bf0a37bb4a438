// One request on a file, from its start to its end: the file holds it, so that it can be cancelled.
#pragma once

#include <irp/file_object.h>

namespace irpverbs::irp::detail {

/// Started at most once. From start() until the end, the memory is the library's, which references
/// the file and the IRP. A canceller may hold the request beyond its completion; the last of both
/// ends it.
class NT_API file_request {
public:
    file_request() = default;

    /// Sends the IRP, whose next location holds the request, to the file's stack. At the end, at
    /// IRQL <= DISPATCH_LEVEL on any thread, `end` is called and receives the IRP; with null, the
    /// completion of the IRP continues above that location. Returns the dispatch routine's status.
    NTSTATUS start(FILE_OBJECT& file, IRP* irp, ULONG output_length,
                   void (*end)(file_request* self));

    IRP* irp() const noexcept { return irp_; }
    FILE_OBJECT& file() const noexcept { return *file_; }

    /// Cancels those requests of the file that `matches` selects; returns whether there was one.
    /// `matches` is called with the file's list locked.
    template <class Matches>
    static bool cancel(FILE_OBJECT& file, const Matches& matches) {
        return cancel(
            file,
            [](const file_request& each, const void* context) {
                return (*static_cast<const Matches*>(context))(each);
            },
            &matches);
    }

    /// The thread that issued the request, and its status block: they serve only as identities.
    const KTHREAD* issuer() const noexcept { return issuer_; }
    const IO_STATUS_BLOCK* status_block() const noexcept { return status_block_; }
    void set_identity(const KTHREAD* issuer, const IO_STATUS_BLOCK* status_block) noexcept {
        issuer_ = issuer;
        status_block_ = status_block;
    }

private:
    using predicate = bool (*)(const file_request& each, const void* context);

    static NTSTATUS completed(DEVICE_OBJECT*, IRP* irp, void* context);
    static bool cancel(FILE_OBJECT& file, predicate matches, const void* context);
    static file_request* next_to_cancel(FILE_OBJECT& file, ULONG sweep, predicate matches,
                                        const void* context);
    bool drop();
    void release();

    LIST_ENTRY entry_{}; // in FILE_OBJECT.IrpList
    IRP* irp_ = nullptr;
    FILE_OBJECT* file_ = nullptr;
    void (*end_)(file_request* self) = nullptr;
    const KTHREAD* issuer_ = nullptr;
    const IO_STATUS_BLOCK* status_block_ = nullptr;
    ULONG output_length_ = 0;
    ULONG last_sweep_ = 0; // guarded by IrpListLock: the last cancellation that visited it
    LONG references_ = 0;
};

} // namespace irpverbs::irp::detail
