/// Large tables in pieces: the client receives the first records before the SA sends the last.
#pragma once

#include <saa/async.hpp>

#include <memory>

namespace irpverbs::saa {

namespace detail {

class stream_source;

/// Sends the query at once; reads the memory that `args` names before the return.
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

/// The source of a stream. The destructor cancels the query.
class stream_handle {
public:
    explicit stream_handle(std::shared_ptr<stream_source> of) : of_(std::move(of)) {}
    stream_handle(stream_handle&&) noexcept = default;
    stream_handle& operator=(stream_handle&&) = delete;
    ~stream_handle() {
        if (of_ != nullptr) close_stream(*of_);
    }
    const std::shared_ptr<stream_source>& get() const { return of_; }

private:
    std::shared_ptr<stream_source> of_;
};

} // namespace detail

/// All records that match, in the order of the SA's table, in pieces. A stream is one query of its
/// own: the port does not merge it with equal queries, and does not send it again when it breaks.
/// Movable, not copyable. The destructor cancels the query, and a pending next() completes with
/// STATUS_CANCELLED. The stream keeps at most a megabyte of records that were not read; then it
/// stops the SA's transfer. A stream breaks when its client leaves the transfer stopped for longer
/// than the SA waits.
template <class Host>
class record_stream {
public:
    /// Ownership: the constructor copies the template. `flags`: as ibmf_sa_access. IRQL:
    /// PASSIVE_LEVEL.
    record_stream(ibmf_saa_handle_t handle, const query_template<Host>& wanted,
                  uint_t flags = IBMF_SAA_BULK)
        : source_(detail::open_stream(handle, arguments(wanted), flags)) {}

    /// Returns the next records, at least one: void(error_code, found<Host>). No record with
    /// IBMF_SUCCESS is the end of the table. Another status, as of ibmf_sa_access, follows after
    /// all received records, and each further call returns it again. Cancellation ends this
    /// call alone.
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

    detail::stream_handle source_;
};

/// A record_stream whose record type is chosen at run time.
class any_record_stream {
public:
    /// Ownership: the constructor reads the query before it returns. `flags`: as ibmf_sa_access.
    /// IRQL: PASSIVE_LEVEL.
    any_record_stream(ibmf_saa_handle_t handle, any_query wanted, uint_t flags = IBMF_SAA_BULK)
        : type_(detail::response_type_of(wanted)),
          source_(detail::open_stream(handle, detail::arguments_of(wanted), flags)) {}

    /// As record_stream::next: void(error_code, any_found).
    template <class Token = boost::asio::deferred_t>
    auto next(Token&& token = {}) {
        return irp::detail::initiate(detail::next_any{{source_.get()}, type_},
                                     std::forward<Token>(token));
    }

private:
    const record_type* type_;
    detail::stream_handle source_;
};

} // namespace irpverbs::saa
