#include "directed_route.hpp"

#include "node.hpp"

namespace irpverbs::hca_software {

namespace {

constexpr UCHAR most_hops = 63;

// The routing fields of an SMP, in place. Source: IBA 14.2.1.2.
struct route_fields {
    explicit route_fields(mad_bytes& smp)
        : pointer(smp[6]), count(smp[7]), from(load16(&smp[32])), to(load16(&smp[34])),
          initial(&smp[128]), back(&smp[192]) {}

    UCHAR& pointer;
    UCHAR count;
    ib_lid_t from; // DrSLID
    ib_lid_t to;   // DrDLID
    const UCHAR* initial;
    UCHAR* back;
};

directed_step leave_by(const node& here, UCHAR out) {
    const bool there = out != 0 && out < here.ports.size();
    return there ? directed_step{directed_step::leave, out} : directed_step{};
}

// The end of the directed part: LIDs route the rest of the way, if there is any.
directed_step end_at(ib_lid_t lid, bool may_route) {
    if (lid == IB_LID_PERMISSIVE) return {directed_step::deliver};
    return may_route ? directed_step{directed_step::route, 0, lid} : directed_step{};
}

directed_step step_out(route_fields way, const node& here, UCHAR in) {
    const bool middle = here.switches();
    if (way.pointer == way.count + 1) return {directed_step::deliver};
    if (way.pointer > way.count) return {};
    if (way.pointer != 0) way.back[way.pointer] = in;
    if (way.pointer == way.count) {
        ++way.pointer;
        return end_at(way.to, middle || in == 0);
    }
    if (!middle && (way.pointer != 0 || in != 0)) return {};
    ++way.pointer;
    return leave_by(here, way.initial[way.pointer]);
}

directed_step step_back(route_fields way, const node& here, UCHAR in) {
    const bool may_pass = here.switches() || in == 0;
    if (way.pointer == 0) return {directed_step::deliver};
    if (way.pointer > way.count + 1) return {};
    if (way.pointer == 1) {
        way.pointer = 0;
        return end_at(way.from, may_pass);
    }
    if (!may_pass) return {};
    --way.pointer;
    return leave_by(here, way.back[way.pointer]);
}

} // namespace

directed_step take_directed_step(mad_bytes& smp, const node& here, UCHAR in) {
    const route_fields way(smp);
    if (way.count > most_hops) return {};
    const bool returns = (header_of(smp).status() & direction_bit) != 0;
    return returns ? step_back(way, here, in) : step_out(way, here, in);
}

void turn_directed(mad_bytes& smp) {
    mad_header header = header_of(smp);
    header.set_status(header.status() | direction_bit);
}

} // namespace irpverbs::hca_software
