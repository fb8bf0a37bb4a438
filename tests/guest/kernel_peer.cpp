#include "kernel_peer.hpp"

#include <ibmf/mad.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <endian.h>
#include <infiniband/umad_sa.h>

namespace irpverbs::testing {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t longest = 2 << 20;
constexpr std::size_t umad_head = sizeof(ib_user_mad_t);
constexpr auto datagram_time_limit = 500ms;
// With a nonzero timeout of 2 s or less the kernel repeats no segment but the first.
constexpr auto response_time_limit = 5000ms;
constexpr int retries = 10;
constexpr int max_receives = 12; // including late responses

std::span<std::uint8_t, ibmf::mad_header_size> mad_header_of(std::vector<std::uint8_t>& bytes) {
    return std::span(bytes).first<ibmf::mad_header_size>();
}

ibmf::mad_header header_of(const kernel_message& message) {
    return ibmf::load_mad_header(std::span(message.bytes).first<ibmf::mad_header_size>());
}

} // namespace

std::vector<std::uint8_t> pattern(std::size_t size) {
    std::vector<std::uint8_t> made(size);
    for (std::size_t i = 0; i < size; ++i)
        made[i] = static_cast<std::uint8_t>(i * 13 + i / 256);
    return made;
}

// ---- kernel_message

kernel_message kernel_message::of(std::uint8_t method, std::uint32_t transaction,
                                  std::uint32_t modifier, std::span<const std::uint8_t> data,
                                  bool rmpp) {
    kernel_message made;
    made.bytes.resize(rmpp ? headers + data.size() : ibmf::mad_size);
    ibmf::store(mad_header_of(made.bytes), {.mgmt_class = guest_class,
                                            .method = method,
                                            .transaction_id = transaction,
                                            .attribute_id = 0x35,
                                            .attribute_modifier = modifier});
    if (rmpp)
        ibmf::store(std::span(made.bytes).subspan<ibmf::mad_header_size, ibmf::rmpp_header_size>(),
                    {.type = ibmf::rmpp_type::data, .flags = ibmf::rmpp_active});
    ibmf::store_oui(std::span(made.bytes).subspan<ibmf::rmpp_data_offset, 4>(), guest_oui);
    std::ranges::copy(data, made.bytes.begin() + headers);
    return made;
}

std::uint32_t kernel_message::transaction() const {
    return static_cast<std::uint32_t>(header_of(*this).transaction_id);
}

std::uint32_t kernel_message::modifier() const { return header_of(*this).attribute_modifier; }

// ---- kernel_port

kernel_port::kernel_port(const char* device, bool serves)
    : port_(umad_open_port(device, 1)), buffer_(umad_head + longest) {
    EXPECT_GE(port_, 0) << device;
    std::uint8_t oui[] = {guest_oui >> 16, guest_oui >> 8 & 0xFF, guest_oui & 0xFF};
    long methods[16 / sizeof(long)] = {1L << UMAD_METHOD_GET | 1L << UMAD_METHOD_SET |
                                       1L << UMAD_SA_METHOD_GET_TABLE};
    agent_ = umad_register_oui(port_, guest_class, 1, oui, serves ? methods : nullptr);
    EXPECT_GE(agent_, 0) << device;
    umad_port_t described{};
    EXPECT_EQ(umad_get_port(device, 1, &described), 0);
    gid_ = {be64toh(described.gid_prefix), be64toh(described.port_guid)};
    umad_release_port(&described);
}

kernel_port::~kernel_port() {
    umad_unregister(port_, agent_);
    umad_close_port(port_);
}

void kernel_port::send(const kernel_message& what, std::chrono::milliseconds timeout) {
    std::vector<std::uint8_t> whole(umad_head + what.bytes.size());
    auto& head = *reinterpret_cast<ib_user_mad_t*>(whole.data());
    head.addr = what.peer;
    head.addr.qpn = htobe32(1);
    head.addr.qkey = htobe32(UMAD_QKEY);
    std::ranges::copy(what.bytes, whole.begin() + umad_head);
    const int failed = umad_send(port_, agent_, whole.data(), static_cast<int>(what.bytes.size()),
                                 static_cast<int>(timeout.count()), retries);
    // EINVAL: a response to the same request, which arrived twice, is still being sent.
    if (failed != 0 && errno == EINVAL && (what.method() & UMAD_METHOD_RESP_MASK) != 0) return;
    EXPECT_EQ(failed, 0) << what.bytes.size() << " bytes: " << std::strerror(errno);
}

std::optional<kernel_message> kernel_port::receive(std::chrono::milliseconds within) {
    int length = longest;
    if (umad_recv(port_, buffer_.data(), &length, static_cast<int>(within.count())) < 0) return {};
    if (umad_status(buffer_.data()) != 0) return {};
    const auto bytes = std::span(buffer_).subspan(umad_head, static_cast<std::size_t>(length));
    return kernel_message{reinterpret_cast<const ib_user_mad_t*>(buffer_.data())->addr,
                          {bytes.begin(), bytes.end()}};
}

std::optional<kernel_message> kernel_port::ask(kernel_message request, const ib_gid_t& whom) {
    request.peer.grh_present = 1;
    request.peer.hop_limit = 64;
    request.peer.ib_gid.global.subnet_prefix = htobe64(whom.gid_prefix);
    request.peer.ib_gid.global.interface_id = htobe64(whom.gid_guid);
    send(request, request.method() == UMAD_METHOD_GET ? datagram_time_limit : response_time_limit);
    for (int i = 0; i < max_receives; ++i) {
        std::optional<kernel_message> came = receive(response_time_limit);
        if (came && came->transaction() == request.transaction()) return came;
    }
    return {};
}

// ---- kernel_agent

kernel_agent::kernel_agent(const char* device) : port_(device, true) {
    thread_ = std::thread([this] {
        while (!leaving_)
            if (const auto request = port_.receive(50ms)) respond(*request);
    });
}

kernel_agent::~kernel_agent() {
    leaving_ = true;
    thread_.join();
}

void kernel_agent::respond(const kernel_message& request) {
    if (std::ranges::equal(request.data(), pattern(request.data().size()))) ++recognised_;
    const bool single = request.method() == UMAD_METHOD_GET;
    auto made = kernel_message::of(request.method() | UMAD_METHOD_RESP_MASK, 0, 0,
                                   pattern(single ? 100 : request.modifier()), !single);
    std::copy_n(request.bytes.begin() + 8, 8, made.bytes.begin() + 8); // the TransactionID
    made.peer = request.peer;
    port_.send(made, 0ms);
}

} // namespace irpverbs::testing
