// Feeds any sequence of datagrams, times and calls to each side of a transfer.
#include <rmpp/double_sided.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <vector>

namespace {

using namespace irpverbs::ibmf;
using namespace irpverbs::ibmf::rmpp;

void require(bool condition) {
    if (!condition) std::abort();
}

class script {
public:
    explicit script(mad_bytes bytes) : bytes_(bytes) {}
    bool ended() const { return at_ >= bytes_.size(); }
    std::uint8_t next() { return ended() ? std::uint8_t{0} : bytes_[at_++]; }
    std::uint32_t word() {
        std::uint32_t value = 0;
        for (int i = 0; i < 4; ++i)
            value = value << 8 | next();
        return value;
    }

private:
    mad_bytes bytes_;
    std::size_t at_ = 0;
};

// Headers are mostly plausible (close segment numbers, known lengths), so that transfers proceed.
rmpp_header any_header(script& from) {
    const std::uint8_t shape = from.next();
    rmpp_header header{.type = static_cast<rmpp_type>(1 + (shape & 3)),
                       .flags = static_cast<std::uint8_t>(rmpp_active | (shape >> 2 & 6))};
    if ((shape & 0xC0) == 0xC0) {
        header.version = from.next();
        header.type = static_cast<rmpp_type>(from.next());
        header.flags = from.next() & 7;
        header.status = static_cast<rmpp_status>(from.next());
        header.response_time = from.next() & 31;
        header.segment = from.word();
        header.length_or_window = from.word();
        return header;
    }
    static constexpr std::array<std::uint32_t, 8> lengths{0, 220, 20, 21, 120, 440, 1100, 221};
    header.segment = from.next();
    const std::uint8_t second = from.next();
    header.length_or_window =
        header.type == rmpp_type::ack ? header.segment + second % 16u : lengths[second % 8];
    return header;
}

struct datagram {
    std::array<std::uint8_t, mad_size> bytes{};
    explicit datagram(script& from) {
        store(header_at<mad_header::size>(mad_buffer(bytes), 0),
              mad_header{.mgmt_class = MAD_MGMT_CLASS_SUBN_ADM, .method = 0x92});
        store(header_at<rmpp_header::size>(mad_buffer(bytes), mad_header_size), any_header(from));
    }
};

// `side` is an engine of RMPP; `check` tests invariants of that engine.
template <class Side, class Transmit, class Cancel, class Check>
void play(script& from, Side& side, Transmit transmit, Cancel cancel, Check check) {
    ticks now = 0;
    std::array<std::uint8_t, mad_size> out{};
    while (!from.ended()) {
        const bool ended = !side.result().running();
        const outcome before = side.result();
        switch (from.next() % 8) {
        case 0:
            if (side.deadline() != never) now = std::max(now, side.deadline());
            side.expire(now);
            break;
        case 1:
            now += from.next() * millisecond;
            break;
        case 2:
            if (from.next() == 0) cancel(now);
            break;
        case 3:
            check(from.next(), now);
            break;
        default: {
            const datagram bytes(from);
            mad_view view;
            require(mad_view::parse(bytes.bytes, view) == mad_fault::none);
            side.receive(view, now);
        }
        }
        for (int sent = 0; transmit(out, now); ++sent)
            require(sent < 1000);
        require(!ended || side.result() == before); // a result is final
    }
    // After any sequence, the transfer ends by its timers.
    for (int i = 0; i < 1000 && side.deadline() != never; ++i) {
        now = std::max(now, side.deadline());
        side.expire(now);
        while (transmit(out, now))
            ;
    }
    require(side.deadline() == never);
}

std::uint64_t data_size(const message_buffer& buffer) { return buffer.data().size(); }

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    script from({data, size});
    const std::uint8_t which = from.next();
    const settings chosen{.window = 1u + which / 4 % 16, .size_limit = 4000};
    std::array<std::uint8_t, 24 + 20> headers{};
    const std::vector<std::uint8_t> payload(200 * (from.next() % 16u) + 7, 0x5A);
    const std::span<const std::uint8_t, 44> all(headers);
    const message sent{all.first<24>(), all.subspan<24, 20>(), payload};
    message_buffer buffer;
    switch (which % 3) {
    case 0: {
        receiver side(chosen, buffer);
        play(
            from, side, [&](mad_buffer to, ticks) { return side.transmit(to); },
            [&](ticks now) { side.cancel(now); },
            [&](std::uint8_t window, ticks now) {
                side.set_window(window % 32u, now);
                require(data_size(buffer) == side.received() && side.received() <= 4000);
            });
        break;
    }
    case 1: {
        sender side(chosen, sent);
        play(
            from, side, [&](mad_buffer to, ticks now) { return side.transmit(to, now); },
            [&](ticks) { side.cancel(); }, [](std::uint8_t, ticks) {});
        break;
    }
    default: {
        requester side(chosen, sent, buffer);
        play(
            from, side, [&](mad_buffer to, ticks now) { return side.transmit(to, now); },
            [&](ticks now) { side.cancel(now); }, [](std::uint8_t, ticks) {});
    }
    }
    return 0;
}
