// Programs for explore: one transfer each, with arbitrary choices. A returned text describes the
// failure.
#pragma once

#include "rmpp_world.hpp"

#include <dispatch/sim_machine.hpp>

namespace irpverbs::ibmf::rmpp::testing {

// The invariant at the end of a transfer between correct ends: the message arrived unchanged; or
// each side knows that it did not, because of missing responses and no other reason.
inline std::optional<std::string> judge(const outcome& sent, const outcome& received,
                                        const message_buffer& buffer, const rmpp_message& original,
                                        bool begun) {
    const auto honest = [](const outcome& result) {
        return result.state == transfer_state::complete ||
               (result.state == transfer_state::timed_out && !result.by_peer) ||
               (result.state == transfer_state::aborted && result.by_peer &&
                (result.code == rmpp_status::too_many_retries ||
                 result.code == rmpp_status::total_time_too_long));
    };
    if (!honest(sent)) return "sender: " + text_of(sent);
    // A receiver that got no segment still waits; its caller has the deadline.
    if (begun && !honest(received)) return "receiver: " + text_of(received);
    if (received.state != transfer_state::complete)
        return sent.state == transfer_state::complete ? std::optional("sent, but not received")
                                                      : std::nullopt;
    if (!std::ranges::equal(buffer.data(), original.data)) return "other data than were sent";
    if (!std::ranges::equal(buffer.class_header(), original.as_message().class_header))
        return "another class header than was sent";
    return std::nullopt;
}

// One transfer of `size` bytes over a wire with those faults.
inline std::optional<std::string> transfer(dispatch::choices& source, std::size_t size,
                                           const settings& chosen, const link_faults& planned,
                                           std::uint8_t mgmt_class = MAD_MGMT_CLASS_SUBN_ADM) {
    const rmpp_message original(size, mgmt_class);
    message_buffer buffer;
    sender from(chosen, original.as_message());
    receiver to(chosen, buffer);
    rmpp_link between(source, planned);
    const window_watch watch(between);
    if (!between.run(end_of(from), end_of(to))) return "does not end";
    if (watch.broken()) return watch.broken();
    if (from.result().running()) return "the sender never ends";
    if (to.begun() && !to.retired()) return "the receiver never retires";
    const bool fair = planned.faults <= chosen.retries;
    if (fair && from.result().state != transfer_state::complete)
        return "given up after few faults: " + text_of(from.result());
    return judge(from.result(), to.result(), buffer, original, to.begun());
}

// A transfer of any size, window and class, with up to 40 faults.
inline std::optional<std::string> lossy_transfer(dispatch::sim_machine& machine) {
    dispatch::choices& source = machine.source();
    settings chosen;
    chosen.window = 1 + source.pick(8, "window");
    chosen.retries = 2;
    static constexpr std::array<std::uint8_t, 2> classes{MAD_MGMT_CLASS_SUBN_ADM, 0x30};
    const std::uint8_t mgmt_class = classes[source.pick(2, "class")];
    const std::size_t each = layout_of(mgmt_class).data_size();
    const std::size_t size =
        each * source.pick(20, "segments") + source.pick(3, "rest") * (each / 2);
    const link_faults planned{.faults = source.pick(41, "faults"),
                              .one_in = 1 + source.pick(12, "one in")};
    return transfer(source, size, chosen, planned, mgmt_class);
}

// Segments in any order, with false lengths and flags. The receiver may refuse them, but it
// delivers no more data than arrived, and never more than 220 bytes per segment.
inline std::optional<std::string> lying_sender(dispatch::sim_machine& machine) {
    dispatch::choices& source = machine.source();
    class counting_sink final : public sink {
    public:
        bool begin(const mad_view&, std::uint64_t) override { return true; }
        bool append(mad_bytes data) override {
            largest = std::max(largest, data.size());
            return true;
        }
        std::size_t largest = 0;
    } kept;
    settings chosen;
    chosen.window = 4;
    receiver to(chosen, kept);
    const rmpp_message original(200, MAD_MGMT_CLASS_SUBN_ADM);
    // Room behind the datagram, so that a read past its end is detected instead of crashing.
    std::array<std::uint8_t, 2 * mad_size> room{};
    std::ranges::copy(original.headers, room.begin());
    const mad_buffer bytes = std::span(room).first<mad_size>();
    static constexpr std::array<std::uint32_t, 9> lengths{220, 0, 19, 20, 21, 221, 400, 440, 256};
    for (int i = 0; i < 6; ++i) {
        rmpp_header header{.type = rmpp_type::data,
                           .flags = rmpp_active,
                           .segment = 1 + source.pick(4, "segment")};
        if (header.segment == 1) header.flags |= rmpp_first;
        if (source.fires("last", 3)) header.flags |= rmpp_last;
        header.length_or_window = lengths[source.pick(lengths.size(), "length")];
        store(header_at<rmpp_header::size>(bytes, mad_header_size), header);
        mad_view view;
        if (mad_view::parse(bytes, view) != mad_fault::none) return "no datagram";
        to.receive(view, 0);
        datagram response{};
        while (to.transmit(response))
            ;
    }
    if (kept.largest > original.segment_data())
        return std::to_string(kept.largest) + " bytes out of one segment";
    return std::nullopt;
}

} // namespace irpverbs::ibmf::rmpp::testing
