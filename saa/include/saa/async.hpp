/// SA access in C++: an async wrapper for every call of the C headers.
///
/// Asynchronous calls have a completion token of Asio as their last parameter, by default one for
/// `co_await`. They complete with an error_code of dispatch::status_category and their result,
/// which includes the IBMF_ status. Handlers, executors, memory, cancellation slots and deadlines
/// (irp::within) are as in irp::call: a deadline covers the time in the port's queue and all
/// retries. Cancellation and deadline cancel this access alone: STATUS_CANCELLED or
/// STATUS_IO_TIMEOUT, and IBMF_TRANS_FAILURE. A wrapper keeps its by-value parameters.
#pragma once

#include <ibmf/async.hpp>
#include <saa/ibmf_saa_extras.h>
#include <saa/queries.hpp>
#include <saa/records.hpp>
#include <saa/support/requests.hpp>

#include <span>
#include <string_view>
#include <utility>

namespace irpverbs::saa {

/// Host-endian records, in the order of the SA's response.
template <class Host>
class record_list {
public:
    record_list() = default;
    explicit record_list(detail::record_block&& from)
        : block_(std::move(from)), size_(block_.length / sizeof(Host)) {}

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    const Host* begin() const noexcept { return static_cast<const Host*>(block_.bytes.get()); }
    const Host* end() const noexcept { return begin() + size_; }
    const Host& operator[](std::size_t index) const noexcept { return begin()[index]; }

    /// All records. The caller may change them in place.
    std::span<Host> span() noexcept { return {static_cast<Host*>(block_.bytes.get()), size_}; }
    /// Keeps only the first `count` records.
    void truncate(std::size_t count) noexcept { size_ = count < size_ ? count : size_; }

private:
    detail::record_block block_;
    std::size_t size_ = 0;
};

/// The result of an access.
template <class Host>
struct found {
    int status = IBMF_FAILURE;
    record_list<Host> records;
};

/// Host-endian records of `type`, in the order of the SA's response.
struct any_found {
    int status = IBMF_FAILURE;
    const record_type* type = nullptr;
    detail::record_block block;

    std::size_t size() const noexcept {
        return type != nullptr ? block.length / type->host_size : 0;
    }
    const void* operator[](std::size_t index) const noexcept {
        return static_cast<const std::byte*>(block.bytes.get()) + index * type->host_size;
    }
};

namespace detail {

inline ibmf_saa_access_args_t arguments_of(any_query& wanted) {
    return {
        wanted.attribute, IBMF_SAA_RETRIEVE, wanted.components, wanted.record.data(), 0, nullptr,
        nullptr};
}

inline const record_type* response_type_of(const any_query& wanted) {
    return find_record(wanted.attribute == SA_MULTIPATHRECORD_ATTRID
                           ? std::uint16_t{SA_PATHRECORD_ATTRID}
                           : wanted.attribute);
}

struct any_access_call {
    ibmf_saa_handle_t handle;
    any_query wanted;
    uint_t flags;
    access_request request;

    CCHAR stack_size() const { return request_stack_size(); }
    void start(IRP* irp) { start_access(irp, request, handle, arguments_of(wanted), flags); }
    any_found result(ULONG_PTR) && {
        return {request.status, response_type_of(wanted), std::move(request.records)};
    }
};

struct keep_all {
    template <class Host>
    void operator()(record_list<Host>&) const {}
};
struct keep_first {
    std::size_t max_records; // 0: all
    template <class Host>
    void operator()(record_list<Host>& records) const {
        if (max_records != 0) records.truncate(max_records);
    }
};
struct keep_one_per_port {
    void operator()(record_list<sa_path_record_t>& records) const {
        records.truncate(one_path_per_port(records.span()));
    }
};

/// An access with a template of its own; `Choose` selects the records of the response to keep.
template <class Asked, class Found, class Choose = keep_all>
struct access_call {
    ibmf_saa_handle_t handle;
    std::uint16_t attribute;
    ibmf_saa_access_type_t type;
    query_template<Asked> wanted;
    uint_t flags;
    Choose choose;
    access_request request;

    CCHAR stack_size() const { return request_stack_size(); }
    void start(IRP* irp) {
        const ibmf_saa_access_args_t args{
            attribute, type, wanted.components, &wanted.record, sizeof(Asked), nullptr, nullptr};
        start_access(irp, request, handle, args, flags);
    }
    found<Found> result(ULONG_PTR) && {
        found<Found> all{request.status, record_list<Found>(std::move(request.records))};
        choose(all.records);
        return all;
    }
};

template <class Host, class Choose, class Token>
auto retrieve(ibmf_saa_handle_t handle, const query_template<Host>& wanted, uint_t flags,
              Choose choose, Token&& token) {
    const Host* const type = nullptr;
    return irp::detail::initiate(
        access_call<Host, Host, Choose>{
            handle, layout_of(type).attribute_id, IBMF_SAA_RETRIEVE, wanted, flags, choose, {}},
        std::forward<Token>(token));
}

} // namespace detail

/// The result of session_open.
struct opened_session {
    int status = IBMF_FAILURE;
    ibmf_saa_handle_t handle = nullptr;
};

/// Wrapper of ibmf_sa_session_open: void(error_code, opened_session).
template <class Token = boost::asio::deferred_t>
auto session_open(ib_guid_t port_guid, ib_smkey_t sm_key,
                  const ibmf_saa_subnet_event_args_t& events, uint_t flags, Token&& token = {}) {
    struct body {
        ib_guid_t port_guid;
        ib_smkey_t sm_key;
        ibmf_saa_subnet_event_args_t events; // without a callback: no events
        uint_t flags;
        opened_session given{};

        int operator()() {
            ibmf_saa_subnet_event_args_t* const wanted =
                events.is_event_callback != nullptr ? &events : nullptr;
            return ibmf_sa_session_open(port_guid, sm_key, wanted, IBMF_VERSION, flags,
                                        &given.handle);
        }
        opened_session result(int status) && {
            given.status = status;
            return given;
        }
    };
    return ibmf::detail::run_blocking(body{port_guid, sm_key, events, flags},
                                      std::forward<Token>(token));
}

/// Wrapper of ibmf_sa_session_close: void(error_code, int).
template <class Token = boost::asio::deferred_t>
auto session_close(ibmf_saa_handle_t handle, Token&& token = {}) {
    return ibmf::detail::run_blocking(
        [handle]() mutable { return ibmf_sa_session_close(&handle, 0); },
        std::forward<Token>(token));
}

/// Wrapper of ibmf_sa_access for a record of type `Host`: void(error_code, found<Response>).
/// `Response` differs from `Host` for MultiPathRecord and TraceRecord only.
template <class Host, class Response = Host, class Token = boost::asio::deferred_t>
auto access(ibmf_saa_handle_t handle, std::uint16_t attribute, ibmf_saa_access_type_t type,
            const query_template<Host>& wanted, uint_t flags = 0, Token&& token = {}) {
    return irp::detail::initiate(
        detail::access_call<Host, Response>{handle, attribute, type, wanted, flags, {}, {}},
        std::forward<Token>(token));
}

/// Returns all records that match: void(error_code, found<Host>).
template <class Host, class Token = boost::asio::deferred_t>
auto retrieve(ibmf_saa_handle_t handle, const query_template<Host>& wanted, uint_t flags = 0,
              Token&& token = {}) {
    return detail::retrieve(handle, wanted, flags, detail::keep_all(), std::forward<Token>(token));
}

/// Returns all records that match, of a type chosen at run time: void(error_code, any_found).
template <class Token = boost::asio::deferred_t>
auto retrieve(ibmf_saa_handle_t handle, any_query wanted, uint_t flags = 0, Token&& token = {}) {
    return irp::detail::initiate(detail::any_access_call{handle, std::move(wanted), flags, {}},
                                 std::forward<Token>(token));
}

/// Wrapper of ibmf_saa_gid_to_pathrecords: void(error_code, found<sa_path_record_t>).
template <class Token = boost::asio::deferred_t>
auto gid_to_pathrecords(ibmf_saa_handle_t handle, const path_criteria& criteria, uint_t flags = 0,
                        Token&& token = {}) {
    return detail::retrieve(handle, path_template(criteria), flags,
                            detail::keep_first{criteria.max_paths}, std::forward<Token>(token));
}

/// A short name for gid_to_pathrecords without flags.
template <class Token = boost::asio::deferred_t>
auto paths(ibmf_saa_handle_t handle, const path_criteria& criteria, Token&& token = {}) {
    return gid_to_pathrecords(handle, criteria, 0, std::forward<Token>(token));
}

/// Wrapper of ibmf_saa_paths_from_gid: void(error_code, found<sa_path_record_t>).
template <class Token = boost::asio::deferred_t>
auto paths_from_gid(ibmf_saa_handle_t handle, ib_gid_t sgid, ib_pkey_t p_key = IBMF_SAA_PKEY_WC,
                    bool reversible = true, uint_t flags = 0, Token&& token = {}) {
    const path_criteria criteria{.sgid = sgid, .p_key = p_key, .reversible = reversible};
    return detail::retrieve(handle, path_template(criteria), flags, detail::keep_one_per_port(),
                            std::forward<Token>(token));
}

/// Wrapper of ibmf_saa_name_to_service_record: void(error_code, found<sa_service_record_t>). The
/// wrapper truncates a name of 64 bytes or more; the caller refuses such names.
template <class Token = boost::asio::deferred_t>
auto name_to_service_record(ibmf_saa_handle_t handle, std::string_view name,
                            ib_pkey_t p_key = IBMF_SAA_PKEY_WC, uint_t flags = 0,
                            Token&& token = {}) {
    return retrieve(handle, service_by_name(name, p_key), flags, std::forward<Token>(token));
}

/// Wrapper of ibmf_saa_id_to_service_record: void(error_code, found<sa_service_record_t>).
template <class Token = boost::asio::deferred_t>
auto id_to_service_record(ibmf_saa_handle_t handle, ib_svc_id_t id,
                          ib_pkey_t p_key = IBMF_SAA_PKEY_WC, uint_t flags = 0,
                          Token&& token = {}) {
    return retrieve(handle, service_by_id(id, p_key), flags, std::forward<Token>(token));
}

/// Wrapper of ibmf_saa_update_service_record: void(error_code, found<sa_service_record_t>), with
/// the record in the SA's response. `type`: IBMF_SAA_UPDATE or IBMF_SAA_DELETE.
template <class Token = boost::asio::deferred_t>
auto update_service_record(ibmf_saa_handle_t handle, const sa_service_record_t& record,
                           ibmf_saa_access_type_t type, uint_t flags = 0, Token&& token = {}) {
    return access(handle, SA_SERVICERECORD_ATTRID, type,
                  type == IBMF_SAA_DELETE ? service_deregistration(record)
                                          : service_registration(record),
                  flags, std::forward<Token>(token));
}

/// Wrappers of the calls of ibmf_saa_extras.h.
inline int query_stats(ibmf_saa_handle_t handle, ibmf_saa_stats_t& stats) {
    return ibmf_saa_query_stats(handle, &stats);
}
inline int event_number(ibmf_saa_handle_t handle, std::uint64_t& number) {
    return ibmf_saa_event_number(handle, &number);
}
inline int query_path_cache(ibmf_saa_handle_t handle, ibmf_saa_path_cache_stats_t& stats) {
    return ibmf_saa_query_path_cache(handle, &stats);
}
struct cached_paths {
    int status = IBMF_FAILURE;
    std::size_t count = 0; // may exceed the size of `paths`
};
inline cached_paths lookup_cached_paths(ibmf_saa_handle_t handle,
                                        const query_template<sa_path_record_t>& wanted,
                                        std::span<sa_path_record_t> paths) {
    auto count = static_cast<uint_t>(paths.size());
    const int status = ibmf_saa_lookup_cached_paths(handle, &wanted.record, wanted.components,
                                                    &count, paths.data());
    return {status, count};
}
inline int limit_port(ibmf_saa_handle_t handle, uint_t in_flight) {
    return ibmf_saa_limit_port(handle, in_flight);
}
inline int limit_responses(ibmf_saa_handle_t handle, std::size_t bytes) {
    return ibmf_saa_limit_responses(handle, bytes);
}

} // namespace irpverbs::saa
