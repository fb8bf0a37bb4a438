#include "directed_route.hpp"

#include "node.hpp"

namespace irpverbs::hca_software {

namespace {

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

directed_step forward_by(const node& here, UCHAR out) {
    const bool there = out != 0 && out < here.ports.size();
    return there ? directed_step{directed_step::forward, out} : directed_step{};
}

// The end of the directed part: LIDs route the rest of the way, if there is any.
directed_step end_at(ib_lid_t lid, bool may_route) {
    if (lid == IB_LID_PERMISSIVE) return {directed_step::deliver};
    return may_route ? directed_step{directed_step::route, 0, lid} : directed_step{};
}

directed_step outgoing_step(route_fields fields, const node& here, UCHAR in) {
    const bool middle = here.switches();
    if (fields.pointer == fields.count + 1) return {directed_step::deliver};
    if (fields.pointer > fields.count) return {};
    if (fields.pointer != 0) fields.back[fields.pointer] = in;
    if (fields.pointer == fields.count) {
        ++fields.pointer;
        return end_at(fields.to, middle || in == 0);
    }
    if (!middle && (fields.pointer != 0 || in != 0)) return {};
    ++fields.pointer;
    return forward_by(here, fields.initial[fields.pointer]);
}

directed_step returning_step(route_fields fields, const node& here, UCHAR in) {
    const bool may_pass = here.switches() || in == 0;
    if (fields.pointer == 0) return {directed_step::deliver};
    if (fields.pointer > fields.count + 1) return {};
    if (fields.pointer == 1) {
        fields.pointer = 0;
        return end_at(fields.from, may_pass);
    }
    if (!may_pass) return {};
    --fields.pointer;
    return forward_by(here, fields.back[fields.pointer]);
}

} // namespace

directed_step advance_directed_route(mad_bytes& smp, const node& here, UCHAR in) {
    const route_fields fields(smp);
    if (fields.count > max_hops) return {};
    const bool returns = (header_of(smp).status() & direction_bit) != 0;
    return returns ? returning_step(fields, here, in) : outgoing_step(fields, here, in);
}

void set_direction(mad_bytes& smp) {
    mad_header header = header_of(smp);
    header.set_status(header.status() | direction_bit);
}

} // namespace irpverbs::hca_software
