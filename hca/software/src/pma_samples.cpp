// PortSamplesControl and PortSamplesResult: a node has one sampling mechanism, for one of its ports
// at a time. Source: IBA 16.1.3.2, 16.1.3.4.
#include "pma.hpp"

#include <algorithm>

namespace irpverbs::hca_software {

namespace {

constexpr UCHAR tick = 255; // 256 symbol times
constexpr UCHAR width_of_32_bits = 4;
constexpr ULONG any_counter_of_0_to_9 = 0x09249249; // 3 bits each: the counters of this page
constexpr USHORT any_counter_of_10_to_14 = 0x1249;

enum control_offset : std::size_t {
    select_at = 38,
    port_at = 1,
    start_at = 28,
    interval_at = 32,
    tag_at = 36,
};

struct signalling {
    USHORT speed;
    USHORT bits; // bits per lane in 100 ns
};
constexpr std::array signallings{
    signalling{IB_LINK_SPEED_SDR, 250},  signalling{IB_LINK_SPEED_DDR, 500},
    signalling{IB_LINK_SPEED_QDR, 1000}, signalling{IB_LINK_SPEED_FDR10, 1031},
    signalling{IB_LINK_SPEED_FDR, 1406}, signalling{IB_LINK_SPEED_EDR, 2578},
    signalling{IB_LINK_SPEED_HDR, 5312}, signalling{IB_LINK_SPEED_NDR, 10'625},
};

machine_time time_of(ULONG ticks, const port& at) {
    constexpr machine_time bits_per_tick = (tick + 1) * 10; // a symbol has ten bits
    const auto* const place = std::ranges::find(signallings, at.active_speed, &signalling::speed);
    const USHORT bits = place == signallings.end() ? signallings[0].bits : place->bits;
    return ticks * bits_per_tick / bits;
}

bool known(const std::array<USHORT, port_samples::most>& selected) {
    return std::ranges::all_of(selected, [](USHORT each) { return each <= sampled_transmit_wait; });
}

// A Set during sampling changes nothing.
bool begin(port_samples& samples, const port& of, counter_data data) {
    const machine_time now = KeQueryInterruptTime();
    if (samples.status(now) != samples_done) return true;
    port_samples made;
    for (std::size_t i = 0; i < port_samples::most; ++i)
        made.selected[i] = load16(&data[select_at + 2 * i]);
    if (!known(made.selected)) return false;
    made.of = &of;
    made.number = data[port_at];
    made.tag = load16(&data[tag_at]);
    made.start = load32(&data[start_at]);
    made.interval = load32(&data[interval_at]);
    made.begins = now + time_of(made.start, of);
    made.ends = made.begins + time_of(made.interval, of);
    samples = made;
    return true;
}

} // namespace

USHORT port_samples_control(packet& request, bool set) {
    counter_data data = data_of(request);
    port_samples& samples = request.at->owner->samples;
    const UCHAR number = data[port_at];
    const port* of = named_port(*request.at, number);
    if (of == nullptr || header_of(request.mad).modifier() != 0) return status_bad_field;
    if (set && !begin(samples, *of, data)) return status_bad_field;
    std::ranges::fill(data, UCHAR{0});
    data[port_at] = samples.of == nullptr ? number : samples.number;
    data[2] = tick;
    data[3] = width_of_32_bits;
    store<4>(&data[4], any_counter_of_0_to_9);
    store<2>(&data[8], any_counter_of_10_to_14);
    data[11] = samples.status(KeQueryInterruptTime());
    store<4>(&data[start_at], samples.start);
    store<4>(&data[interval_at], samples.interval);
    store<2>(&data[tag_at], samples.tag);
    for (std::size_t i = 0; i < port_samples::most; ++i)
        store<2>(&data[select_at + 2 * i], samples.selected[i]);
    return status_ok;
}

USHORT port_samples_result(packet& request) {
    if (header_of(request.mad).modifier() != 0) return status_bad_field;
    counter_data data = data_of(request);
    const port_samples& samples = request.at->owner->samples;
    const sample_status now = samples.status(KeQueryInterruptTime());
    std::ranges::fill(data, UCHAR{0});
    store<2>(&data[0], samples.tag);
    data[3] = now;
    for (std::size_t i = 0; now == samples_done && i < port_samples::most; ++i)
        store<4>(&data[4 + 4 * i], samples.counts[samples.selected[i]]);
    return status_ok;
}

} // namespace irpverbs::hca_software
