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

struct next_any : next_call {
    const record_type* type = nullptr;
    any_found result(ULONG_PTR) && { return {status, type, std::move(records)}; }
};

/// The source of a stream: its end withdraws the question.
class stream_end {
public:
    explicit stream_end(std::shared_ptr<stream_source> of) : of_(std::move(of)) {}
    stream_end(stream_end&&) noexcept = default;
    stream_end& operator=(stream_end&&) = delete;
    ~stream_end() {
        if (of_ != nullptr) close_stream(*of_);
    }
    const std::shared_ptr<stream_source>& get() const { return of_; }

private:
    std::shared_ptr<stream_source> of_;
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

    /// The next records, at least one: void(error_code, found<Host>). None and IBMF_SUCCESS: there
    /// were no more. Other statuses, as of ibmf_sa_access, come when all that was received before
    /// has been given, and again each time. Cancelling it withdraws this call alone.
    template <class Token = boost::asio::deferred_t>
    auto next(Token&& token = {}) {
        return irp::detail::initiate(detail::next_records<Host>{{source_.get()}},
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

    detail::stream_end source_;
};

/// The same of records whose type is chosen while the program runs.
class any_record_stream {
public:
    /// Ownership: the query is read before the return. `flags`: as ibmf_sa_access. IRQL:
    /// PASSIVE_LEVEL.
    any_record_stream(ibmf_saa_handle_t handle, any_query wanted, uint_t flags = IBMF_SAA_BULK)
        : type_(detail::answer_type_of(wanted)),
          source_(detail::open_stream(handle, detail::arguments_of(wanted), flags)) {}

    /// As record_stream::next: void(error_code, any_found).
    template <class Token = boost::asio::deferred_t>
    auto next(Token&& token = {}) {
        return irp::detail::initiate(detail::next_any{{source_.get()}, type_},
                                     std::forward<Token>(token));
    }

private:
    const record_type* type_;
    detail::stream_end source_;
};

} // namespace irpverbs::saa
