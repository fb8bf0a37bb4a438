#include "raw_umad.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <infiniband/umad.h>
#include <infiniband/umad_sa.h>

namespace irpverbs::testing {

namespace {

constexpr int retries = 1;
constexpr std::uint32_t qp1_key = 0x80010000;

} // namespace

raw_umad::raw_umad() {
    umad_init();
    port_ = umad_open_port(nullptr, 0);
    agent_ = umad_register(port_, UMAD_CLASS_SUBN_ADM, UMAD_SA_CLASS_VERSION, 1, nullptr);
    EXPECT_GE(agent_, 0);
}

raw_umad::~raw_umad() {
    umad_unregister(port_, agent_);
    umad_close_port(port_);
}

std::vector<std::uint8_t> raw_umad::ask(const std::vector<std::uint8_t>& request, std::uint16_t lid,
                                        int milliseconds) {
    const int return_deadline = 3 * milliseconds + 3000; // the kernel returns an unanswered request
    const std::size_t head = umad_size();
    std::vector<std::uint8_t> buffer(head + request.size());
    std::ranges::copy(request, buffer.begin() + static_cast<std::ptrdiff_t>(head));
    umad_set_addr(buffer.data(), lid, 1, 0, static_cast<int>(qp1_key));
    EXPECT_EQ(umad_send(port_, agent_, buffer.data(), static_cast<int>(request.size()),
                        milliseconds, retries),
              0);
    int length = static_cast<int>(request.size());
    int came = umad_recv(port_, buffer.data(), &length, return_deadline);
    if (came == -ENOSPC) {
        buffer.resize(head + static_cast<std::size_t>(length));
        came = umad_recv(port_, buffer.data(), &length, return_deadline);
    }
    EXPECT_EQ(came, agent_);
    if (came != agent_ || umad_status(buffer.data()) != 0) return {};
    const auto begin = buffer.begin() + static_cast<std::ptrdiff_t>(head);
    return {begin, begin + length};
}

} // namespace irpverbs::testing
