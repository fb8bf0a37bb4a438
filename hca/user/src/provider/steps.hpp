// The functions of a provider's vector that belong to each verb.
#pragma once

#include "../user_object.hpp"

#include <ci/ib_uvp.h>

namespace irpverbs::hca_user {

/// The parameters of a step.
struct step {
    const uvp_interface_t& functions;
    user_object& object;
    IO_STACK_LOCATION& verb;
    ci_umv_buf_t& buffer;
};

/// A NULL function succeeds.
struct step_pair {
    UCHAR verb;
    bool (*exists)(const uvp_interface_t& functions); // either function
    ib_api_status_t (*before)(const step& with);
    ib_api_status_t (*after)(const step& with);
    bool may_be_done = false;        // IB_VERBS_PROCESSING_DONE
    bool only_after_success = false; // the post function has no buffer
};

/// Null: the vector has none for the verb.
const step_pair* steps_of(UCHAR verb);

} // namespace irpverbs::hca_user
