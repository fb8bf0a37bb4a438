#include "transactions.hpp"

#include "as_result.hpp"
#include "datagrams.hpp"

#include <ibmf/async.hpp>

#include <fmt/format.h>

namespace irpctl {

namespace ibmf = irpverbs::ibmf;

namespace {

class message {
public:
    explicit message(ibmf_handle_t owner) : owner_(owner) {
        if (ibmf::alloc_msg(owner, raw_) != IBMF_SUCCESS) throw std::bad_alloc();
    }
    ~message() { ibmf::free_msg(owner_, raw_); }
    message(const message&) = delete;
    message& operator=(const message&) = delete;

    ibmf_msg_t* operator->() const { return raw_; }
    ibmf_msg_t* get() const { return raw_; }

private:
    ibmf_handle_t owner_;
    ibmf_msg_t* raw_ = nullptr;
};

/// The bytes of a message's send buffers.
struct send_parts {
    explicit send_parts(const mad_request& what)
        : class_header(what.class_header), data(what.data) {
        ibmf::store(header, what.header);
    }
    ibmf_msg_bufs_t buffers() {
        return {reinterpret_cast<ib_mad_hdr_t*>(header.data()), class_header.data(),
                class_header.size(), data.data(), data.size()};
    }
    alignas(ib_mad_hdr_t) std::array<std::uint8_t, ibmf::mad_header_size> header{};
    std::vector<std::uint8_t> class_header;
    std::vector<std::uint8_t> data;
};

std::vector<std::uint8_t> bytes_of(const void* from, std::size_t size) {
    const auto* const first = static_cast<const std::uint8_t*>(from);
    return {first, first + size};
}

mad_response response_in(const ibmf_msg_t& came) {
    const ibmf_msg_bufs_t& parts = came.im_msgbufs_recv;
    const std::vector<std::uint8_t> header = bytes_of(parts.im_bufs_mad_hdr, ibmf::mad_header_size);
    mad_response made;
    made.header = ibmf::load_mad_header(std::span(header).first<ibmf::mad_header_size>());
    made.class_header = bytes_of(parts.im_bufs_cl_hdr, parts.im_bufs_cl_hdr_len);
    made.data = bytes_of(parts.im_bufs_cl_data, parts.im_bufs_cl_data_len);
    made.from_lid = came.im_local_addr.ia_remote_lid;
    return made;
}

// GetMulti is a transfer in both directions. Source: IBA 15.4.
uint_t flags_for(const mad_request& what) {
    constexpr std::uint8_t sa_get_multi = 0x14;
    const bool both_ways = what.is_for_the_sa() && what.header.method == sa_get_multi;
    return IBMF_MSG_TRANS_FLAG_SEQ | (both_ways ? IBMF_MSG_TRANS_FLAG_RMPP : 0u);
}

failure not_registered(const open_port& at, int status, const boost::system::error_code& why) {
    return failure(status == IBMF_PORT_IN_USE
                       ? fmt::format("{} port {}: another program manages this class there; "
                                     "irpctl devices lists other ports",
                                     at.which.name, at.attributes.PortNumber)
                       : fmt::format("{} port {}: {}; irpctl devices shows the states of its ports",
                                     at.which.name, at.attributes.PortNumber, why.message()));
}

} // namespace

asio::awaitable<void> with_ibmf(const open_port& at, ibmf_client_type_t type, uint_t flags,
                                std::function<asio::awaitable<void>(ibmf_handle_t)> use) {
    const ibmf_register_info_t info{at.which.guid, at.attributes.PortNumber, type};
    const auto [error, made] = co_await ibmf::register_(info, flags, nullptr, nullptr, as_result);
    if (error) throw not_registered(at, made.status, error);
    std::exception_ptr failed;
    try {
        co_await use(made.handle);
    } catch (...) {
        failed = std::current_exception();
    }
    co_await asio::this_coro::reset_cancellation_state(); // Ctrl-C does not cancel the end
    co_await ibmf::unregister(made.handle, as_result);
    if (failed) std::rethrow_exception(failed);
}

asio::awaitable<std::optional<mad_response>> transact(ibmf_handle_t handle, const mad_request& what,
                                                      std::uint16_t lid, timeouts times) {
    const message asked(handle);
    send_parts parts(what);
    asked->im_msgbufs_send = parts.buffers();
    const IB_MAD_ADDRESS to = address_of(lid, what.header.mgmt_class);
    asked->im_local_addr.ia_remote_lid = to.Lid;
    asked->im_local_addr.ia_remote_qno = to.Qp;
    asked->im_local_addr.ia_q_key = to.QKey;
    asked->im_local_addr.ia_p_key = IB_PKEY_DEFAULT_FULL;
    const ibmf_retrans_t retrans{times.retries, times.milliseconds * 1000, 0, 0};
    const std::uint64_t begun = now_in_ticks();
    const auto [error, status] = co_await ibmf::msg_transport(
        handle, IBMF_QP_HANDLE_DEFAULT, asked.get(), retrans, flags_for(what), as_result);
    if (irpverbs::dispatch::status_of(error) == STATUS_CANCELLED) co_return std::nullopt;
    if (error)
        throw failure(fmt::format("LID {}: {}; --timeout and --retries allow more time", lid,
                                  error.message()));
    mad_response made = response_in(*asked.get());
    made.ticks = now_in_ticks() - begun;
    co_return made;
}

} // namespace irpctl
