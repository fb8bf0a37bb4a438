// Addresses of datagrams, in libibumad's form and in that of ci/mad.h.
#pragma once

#include <ci/mad.h>

#include <infiniband/umad.h>

namespace irpverbs::umad {

IB_MAD_ADDRESS address_of(const ib_mad_addr_t& from);
ib_mad_addr_t address_of(const IB_MAD_ADDRESS& from);

} // namespace irpverbs::umad
