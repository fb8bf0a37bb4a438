// Directed routes: the processing of an SMP by a node on its route.
#pragma once

#include "mad.hpp"

namespace irpverbs::hca_software {

struct node;

struct directed_step {
    enum { discard, deliver, forward, route } what = discard;
    UCHAR out = 0;    // forward: the port
    ib_lid_t lid = 0; // route: the destination; the tables decide the port
};

/// Moves the SMP one step along its route, inside `here`. `in`: the port at which it arrived; 0:
/// the node itself sends it. Source: IBA 14.2.2.
directed_step advance_directed_route(mad_bytes& smp, const node& here, UCHAR in);

/// Sets the direction bit, so that the response returns along the route.
void set_direction(mad_bytes& smp);

} // namespace irpverbs::hca_software
