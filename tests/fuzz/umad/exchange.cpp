// Any order of sends, arrivals and time on an exchange: each message that is delivered is a
// time-out's header, a datagram, or as long as the segments that arrived.
#include <exchange.hpp>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <endian.h>

namespace {

using namespace irpverbs::umad;

void require(bool condition) {
    if (!condition) std::abort();
}

/// Takes numbers and bytes off the input; zeros follow its end.
class input {
public:
    explicit input(std::span<const std::uint8_t> bytes) : rest_(bytes) {}
    bool empty() const { return rest_.empty(); }
    std::uint8_t number() {
        if (rest_.empty()) return 0;
        const std::uint8_t first = rest_.front();
        rest_ = rest_.subspan(1);
        return first;
    }
    void fill(std::span<std::uint8_t> into) {
        const std::size_t count = std::min(into.size(), rest_.size());
        std::copy_n(rest_.begin(), count, into.begin());
        rest_ = rest_.subspan(count);
    }

private:
    std::span<const std::uint8_t> rest_;
};

struct checking_port : exchange_port {
    std::deque<mad> sent;
    deadlines all;
    std::int64_t now = 0;
    std::size_t arrived = 0; // bytes, an upper bound of a message's length

    void emit(const ib_mad_addr_t&, const mad& what, std::uint32_t) override {
        if (sent.size() < 256) sent.push_back(what);
    }
    void deliver(std::uint32_t status, const ib_mad_addr_t&,
                 std::span<const std::uint8_t> content) override {
        require(status == 0 ? content.size() >= rmpp_body && content.size() <= arrived
                            : content.size() == mad_header);
    }
    deadlines& timers() override { return all; }
    std::int64_t now_ms() override { return now; }

    void advance(std::int64_t by) {
        const std::int64_t end = now + by;
        for (int turns = 0; all.next() <= end && turns < 1'000; ++turns) {
            now = std::max(now, all.next());
            all.run(now);
        }
        now = std::max(now, end);
    }
};

ib_mad_addr_t peer(std::uint8_t lid) {
    ib_mad_addr_t made{};
    made.lid = htobe16(lid);
    return made;
}

void send(exchange& of, input& from) {
    const send_options how{peer(from.number() % 4), from.number() * 64u, from.number() % 8u};
    std::vector<std::uint8_t> message(rmpp_body + from.number() * 4u);
    from.fill(std::span(message).first(rmpp_body));
    if (of.send(how, message) == 0 && from.number() % 4 == 0) of.withdraw(how, message.data());
}

void arrive(checking_port& port, exchange& of, std::uint8_t lid, const mad& what) {
    port.arrived += mad_size;
    of.received(peer(lid), what.data());
}

void step(checking_port& port, exchange& of, input& from) {
    mad datagram{};
    switch (from.number() % 4) {
    case 0:
        return send(of, from);
    case 1:
        from.fill(std::span(datagram).first(rmpp_body + 4));
        return arrive(port, of, from.number() % 4, datagram);
    case 2: // what it has sent comes back, as a response
        if (port.sent.empty()) return;
        datagram = port.sent.front();
        port.sent.pop_front();
        datagram[3] ^= 0x80;
        return arrive(port, of, from.number() % 4, datagram);
    default:
        return port.advance(from.number() * 100);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    input from({data, size});
    checking_port port;
    {
        exchange of(port, from.number() % 2 == 0);
        for (int steps = 0; !from.empty() && steps < 500; ++steps)
            step(port, of, from);
    }
    require(port.all.next() == deadlines::never);
    return 0;
}
