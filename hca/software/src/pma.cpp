#include "pma.hpp"

#include <algorithm>

namespace irpverbs::hca_software {

namespace {

enum attribute_id : USHORT {
    class_port_info = 0x0001,
    samples_control = 0x0010,
    samples_result = 0x0011,
    port_counters = 0x0012,
    port_counters_extended = 0x001D,
};

constexpr UCHAR all_ports = 0xFF;
constexpr USHORT all_port_select = 0x0100;
constexpr USHORT extended_width = 0x0200;

/// A counter in an attribute: its offset, and the bit of CounterSelect that selects it.
struct counter_field {
    ULONGLONG HCA_SOFTWARE_COUNTERS::*counter;
    UCHAR offset;
    UCHAR bits;
    UCHAR select;
    UCHAR shift = 0; // shift of a field of 4 bits
};

using counters = HCA_SOFTWARE_COUNTERS;

// Source: IBA 16.1.3.5.
constexpr counter_field port_counter_fields[]{
    {&counters::SymbolErrors, 4, 16, 0},
    {&counters::LinkErrorRecoveries, 6, 8, 1},
    {&counters::LinkDowned, 7, 8, 2},
    {&counters::ReceiveErrors, 8, 16, 3},
    {&counters::RemotePhysicalErrors, 10, 16, 4},
    {&counters::RelayErrors, 12, 16, 5},
    {&counters::TransmitDiscards, 14, 16, 6},
    {&counters::TransmitConstraintErrors, 16, 8, 7},
    {&counters::ReceiveConstraintErrors, 17, 8, 8},
    {&counters::LinkIntegrityErrors, 19, 4, 9, 4},
    {&counters::BufferOverrunErrors, 19, 4, 10},
    {&counters::Vl15Dropped, 22, 16, 11},
    {&counters::TransmitData, 24, 32, 12},
    {&counters::ReceiveData, 28, 32, 13},
    {&counters::TransmitPackets, 32, 32, 14},
    {&counters::ReceivePackets, 36, 32, 15},
};

// Source: IBA 16.1.4.11.
constexpr counter_field extended_counter_fields[]{
    {&counters::TransmitData, 8, 64, 0},        {&counters::ReceiveData, 16, 64, 1},
    {&counters::TransmitPackets, 24, 64, 2},    {&counters::ReceivePackets, 32, 64, 3},
    {&counters::TransmitUnicasts, 40, 64, 4},   {&counters::ReceiveUnicasts, 48, 64, 5},
    {&counters::TransmitMulticasts, 56, 64, 6}, {&counters::ReceiveMulticasts, 64, 64, 7},
};

ULONGLONG max_value(const counter_field& field) {
    return field.bits == 64 ? ~0ull : (1ull << field.bits) - 1;
}

ULONGLONG read(const counter_field& field, counter_data data) {
    ULONGLONG value = 0;
    for (std::size_t i = 0; i < (field.bits + 7u) / 8; ++i)
        value = value << 8 | data[field.offset + i];
    return value >> field.shift & max_value(field);
}

void write(const counter_field& field, counter_data data, ULONGLONG value) {
    value = std::min(value, max_value(field)) << field.shift;
    for (std::size_t i = (field.bits + 7u) / 8; i-- != 0; value >>= 8)
        data[field.offset + i] |= static_cast<UCHAR>(value);
}

// Finds the port, or the ports of a switch, that the attribute selects.
std::span<port*> selected(node& here, port& in, UCHAR number, std::vector<port*>& ports) {
    for (port& each : here.ports)
        if (each.number == number || (number == all_ports && each.number != 0))
            ports.push_back(&each);
    if (!here.switches() && number == 0) ports.assign(1, &in);
    return ports;
}

// A Set writes the values of the attribute; a read returns the sum over the ports. Fields of
// different widths access the same counter.
USHORT access_counters(packet& request, std::span<const counter_field> fields, bool set) {
    counter_data data = data_of(request);
    const UCHAR number = data[1];
    const USHORT select = load16(&data[2]);
    std::vector<port*> room;
    const auto ports = selected(*request.at->owner, *request.at, number, room);
    if (ports.empty()) return status_bad_field;
    for (const counter_field& field : fields)
        for (port* each : ports)
            if (set && (select >> field.select & 1) != 0)
                each->counters.*field.counter = read(field, data);
    std::ranges::fill(data, UCHAR{0});
    data[1] = number;
    store<2>(&data[2], select);
    for (const counter_field& field : fields) {
        ULONGLONG sum = 0;
        for (const port* each : ports)
            sum += each->counters.*field.counter;
        write(field, data, sum);
    }
    return status_ok;
}

USHORT write_class_port_info(packet& request) {
    counter_data data = data_of(request);
    std::ranges::fill(data, UCHAR{0});
    data[0] = data[1] = 1; // versions
    store<2>(&data[2], all_port_select | extended_width);
    data[7] = response_time;
    return status_ok;
}

USHORT handle(packet& request, const mad_header& header) {
    const bool set = header.method() == method_set;
    if (header.class_version() != 1) return status_bad_version;
    switch (header.attribute()) {
    case class_port_info:
        if (set) return status_bad_attribute;
        return write_class_port_info(request);
    case samples_control:
        return port_samples_control(request, set);
    case samples_result:
        return set ? USHORT{status_bad_attribute} : port_samples_result(request);
    case port_counters:
        return access_counters(request, port_counter_fields, set);
    case port_counters_extended:
        return access_counters(request, extended_counter_fields, set);
    default:
        return status_bad_attribute;
    }
}

} // namespace

const port* named_port(port& in, UCHAR number) {
    if (!in.owner->switches() && number == 0) return &in;
    return number < in.owner->ports.size() ? &in.owner->ports[number] : nullptr;
}

void respond_to_performance(packet& request) {
    mad_header header = header_of(request.mad);
    header.set_status(handle(request, header));
    header.set_method(method_get_response);
}

} // namespace irpverbs::hca_software
