// Directed routes: what a node does with an SMP that says by itself which way it goes.
#pragma once

#include "mad.hpp"

namespace irpverbs::hca_software {

struct node;

struct directed_step {
    enum { discard, deliver, leave, route } what = discard;
    UCHAR out = 0;    // leave: by this port
    ib_lid_t lid = 0; // route: to there by tables
};

/// Takes the SMP one step along its way, inside `here`. `in`: the port that it came in at; 0: the
/// node itself sends it. Source: IBA 14.2.2.
directed_step take_directed_step(mad_bytes& smp, const node& here, UCHAR in);

/// Turns a request into what its answer is routed by.
void turn_directed(mad_bytes& smp);

} // namespace irpverbs::hca_software
