#include "datagrams.hpp"

#include "as_result.hpp"

#include <dispatch/machine.hpp>

#include <algorithm>
#include <array>

namespace irpctl {

namespace ibmf = irpverbs::ibmf;
namespace irp = irpverbs::irp;

namespace {

constexpr LONGLONG ticks_per_millisecond = 10'000;

using datagram = std::array<std::uint8_t, ibmf::mad_size>;

datagram datagram_of(const mad_request& what) {
    datagram bytes{};
    const ibmf::class_layout layout = ibmf::layout_of(what.header.mgmt_class);
    ibmf::store(std::span(bytes).first<ibmf::mad_header_size>(), what.header);
    std::ranges::copy(what.class_header, bytes.begin() + layout.class_header_offset);
    std::ranges::copy(what.data, bytes.begin() + layout.data_offset());
    return bytes;
}

IB_MAD_SEND sending(const datagram& bytes, const mad_request& what, std::uint16_t lid) {
    IB_MAD_SEND send{};
    send.To = address_of(lid, what.header.mgmt_class);
    send.Data = bytes.data();
    send.Length = static_cast<ULONG>(bytes.size());
    return send;
}

std::optional<mad_response> response_of(const ci::received_mad& came, std::uint64_t transaction) {
    ibmf::mad_view view;
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(came.data.data());
    if (ibmf::mad_view::parse({bytes, came.data.size()}, view) != ibmf::mad_fault::none)
        return std::nullopt;
    if (static_cast<std::uint32_t>(view.header().transaction_id) != transaction)
        return std::nullopt;
    mad_response made;
    made.header = view.header();
    made.class_header.assign(view.class_header().begin(), view.class_header().end());
    made.data.assign(view.data().begin(), view.data().end());
    made.from_lid = came.from.Lid;
    return made;
}

} // namespace

IB_MAD_ADDRESS address_of(std::uint16_t lid, std::uint8_t mgmt_class) {
    IB_MAD_ADDRESS to{};
    to.Lid = lid;
    if ((mgmt_class & 0x7F) == MAD_MGMT_CLASS_SUBN_LID_ROUTED) return to; // of QP0
    to.Qp = 1;
    to.QKey = IB_QP1_QKEY;
    return to;
}

std::uint64_t now_in_ticks() { return irpverbs::dispatch::machine::current().interrupt_time(); }

asio::awaitable<datagram_client> datagram_client::open(const open_port& at,
                                                       const mad_request& like) {
    IB_MAD_AGENT_ATTR attr{};
    attr.PortNumber = at.attributes.PortNumber;
    attr.ManagementClass = like.header.mgmt_class;
    attr.ClassVersion = like.header.class_version;
    for (unsigned i = 0; i < 3; ++i)
        attr.Oui[i] = static_cast<UCHAR>(like.oui >> 8 * (2 - i));
    datagram_client made;
    made.agent_ = co_await ci::register_mad_agent(at.ca, attr, asio::use_awaitable);
    co_return made;
}

asio::awaitable<outcome> datagram_client::exchange(const mad_request& what, std::uint16_t lid,
                                                   irp::ticks time_limit) {
    const datagram bytes = datagram_of(what);
    IB_MAD_SEND send = sending(bytes, what, lid);
    send.ResponseTimeout = static_cast<ULONG>(time_limit.count() / ticks_per_millisecond);
    const std::uint64_t begun = now_in_ticks();
    const ci::mad_stream responses = agent_.datagrams();
    co_await ci::send_mad(agent_, send, asio::use_awaitable);
    for (;;) {
        const auto gone = static_cast<LONGLONG>(now_in_ticks() - begun);
        const irp::ticks left(std::max(time_limit.count() - gone, LONGLONG{0}));
        auto [error, came] = co_await responses.next(irp::within(left, as_result));
        const NTSTATUS status = irpverbs::dispatch::status_of(error);
        if (status == STATUS_IO_TIMEOUT) co_return outcome{};
        if (status == STATUS_CANCELLED) co_return outcome{std::nullopt, true};
        if (error) throw boost::system::system_error(error);
        if (std::optional<mad_response> found = response_of(came, what.header.transaction_id)) {
            found->ticks = now_in_ticks() - begun;
            co_return outcome{std::move(found)};
        }
        ++late_;
    }
}

asio::awaitable<void> datagram_client::send_only(const mad_request& what, std::uint16_t lid) {
    const datagram bytes = datagram_of(what);
    co_await ci::send_mad(agent_, sending(bytes, what, lid), asio::use_awaitable);
}

asio::awaitable<void> datagram_client::close() { co_await agent_.async_close(asio::use_awaitable); }

} // namespace irpctl
