/// Large tables as they come: the first records are there before the last are sent.
#pragma once

#include <saa/async.hpp>

#include <memory>

namespace irpverbs::saa {

namespace detail {

class stream_source;

/// Asks at once; what `args` names is read before the return.
NT_API std::shared_ptr<stream_source> open_stream(ibmf_saa_handle_t handle,
                                                  const ibmf_saa_access_args_t& args, uint_t flags);
NT_API void close_stream(stream_source& of);

struct next_call {
    std::shared_ptr<stream_source> of;
    int status = IBMF_FAILURE;
    record_block records{};

    CCHAR stack_size() const { return 1; }
    NT_API void start(IRP* irp);
};

template <class Host>
struct next_records : next_call {
    found<Host> result(ULONG_PTR) && { return {status, record_list<Host>(std::move(records))}; }
};

} // namespace detail

/// All records that match, in the order of the SA's table, in pieces. A stream is one question, not
/// shared with others, and not answered again when it breaks. Moved, not copied; its end withdraws
/// the question, and what waits for records completes with STATUS_CANCELLED.
/// What was not taken is kept, a megabyte of it; then the SA is held up, and who leaves it so for
/// longer than it has patience finds the stream broken.
template <class Host>
class record_stream {
public:
    /// Ownership: the template is copied. `flags`: as ibmf_sa_access. IRQL: PASSIVE_LEVEL.
    record_stream(ibmf_saa_handle_t handle, const query_template<Host>& wanted,
                  uint_t flags = IBMF_SAA_BULK)
        : source_(detail::open_stream(handle, arguments(wanted), flags)) {}
    record_stream(record_stream&&) noexcept = default;
    record_stream& operator=(record_stream&&) = delete;
    ~record_stream() {
        if (source_ != nullptr) detail::close_stream(*source_);
    }

    /// The next records, at least one: void(error_code, found<Host>). None and IBMF_SUCCESS: there
    /// were no more. Other statuses, as of ibmf_sa_access, come when all that was received before
    /// has been given, and again each time. Cancelling it withdraws this call alone.
    template <class Token = boost::asio::deferred_t>
    auto next(Token&& token = {}) {
        return irp::detail::initiate(detail::next_records<Host>{{source_}},
                                     std::forward<Token>(token));
    }

private:
    static ibmf_saa_access_args_t arguments(const query_template<Host>& wanted) {
        return {layout_of(&wanted.record).attribute_id,
                IBMF_SAA_RETRIEVE,
                wanted.components,
                const_cast<Host*>(&wanted.record),
                sizeof(Host),
                nullptr,
                nullptr};
    }

    std::shared_ptr<detail::stream_source> source_;
};

} // namespace irpverbs::saa
