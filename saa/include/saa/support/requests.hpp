// An access as an IRP, for the C++ wrappers and for packages above. IoStatus.Information is the
// IBMF_ status.
#ifndef IRPVERBS_SAA_SUPPORT_REQUESTS_HPP
#define IRPVERBS_SAA_SUPPORT_REQUESTS_HPP

#include <irp/wdm.h>
#include <saa/ibmf_saa.h>

#include <cstdlib>
#include <memory>

namespace irpverbs::saa {

struct query;
struct session;

namespace detail {

struct free_memory {
    void operator()(void* memory) const noexcept { std::free(memory); }
};

/// Contiguous records, allocated by malloc.
struct record_block {
    std::unique_ptr<void, free_memory> bytes;
    std::size_t length = 0;
};

/// Receives the records of a long response before its end, in order. IRQL: <= DISPATCH_LEVEL.
class record_sink {
public:
    virtual ~record_sink() = default;
    virtual void append(record_block&& records) = 0;
    /// Returns true to stop the transfer; the sink resumes the query when there is room.
    virtual bool pause_if_full(query& which) = 0;
};

/// The stack locations that an IRP of start_access needs. IRQL: any.
NT_API CCHAR request_stack_size();

/// The library's part of an access in progress.
struct waiter {
    IRP* irp = nullptr;
    query* waits_for = nullptr;
    session* by = nullptr;
    LIST_ENTRY of_query{};
    LIST_ENTRY of_session{};
};

/// Lives until its IRP has been completed.
struct access_request {
    int status = IBMF_FAILURE;         // set before the IRP is completed
    bool refused = false;              // the call returns the status, not the request
    bool keeps_session = false;        // the completion handler releases the session
    record_block records;              // the records that the sink did not receive
    std::shared_ptr<record_sink> sink; // null: all records arrive at the end
    waiter waits;
};

/// Starts an access. The IRP is the caller's, with request_stack_size() free locations; the request
/// lives until the IRP has been completed, and the memory that `args` names until the return. IRQL:
/// <= DISPATCH_LEVEL. Completes with ibmf::status_of() the access's status, which is also
/// request.status; `refused` is set if the access was not begun. Cancellation ends the access with
/// STATUS_CANCELLED.
NT_API void start_access(IRP* irp, access_request& request, ibmf_saa_handle_t handle,
                         const ibmf_saa_access_args_t& args, uint_t flags);

} // namespace detail

} // namespace irpverbs::saa

#endif
