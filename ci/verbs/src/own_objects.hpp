// The objects of ci that the program has not destroyed yet, by their HCA.
#pragma once

#include "verb_call.hpp"

namespace irpverbs::verbs {

/// Keeps an object until forget(). Without memory for that it stays when its HCA is closed, which
/// fails then.
void remember(IB_CA* ca, IB_PD* created);
void remember(IB_CA* ca, IB_MR* created);
void remember(IB_CA* ca, IB_MW* created);
void remember(IB_CA* ca, IB_AV* created);
void remember(IB_CA* ca, IB_CQ* created);
void remember(IB_CA* ca, IB_SRQ* created);
void remember(IB_CA* ca, IB_QP* created);
void remember(IB_CA* ca, IB_MCAST* created);
void remember(IB_CA* ca, IB_XRCD* created);
void forget(const void* object);

/// Destroys the objects of an HCA, the youngest first: most are younger than those that they use.
/// Throws std::bad_alloc.
void destroy_objects_of(IB_CA* ca);

/// The object that a verb has created, remembered. Null and errno after a failure.
template <class Object>
Object* own_object(IB_CA* ca, const outcome& of) {
    auto* created = of.object<Object>();
    if (created != nullptr) remember(ca, created);
    return created;
}

/// Destroys an object by its verb.
template <class Object>
outcome destroy_own(NTSTATUS (*verb)(Object*, CI_UDATA*, IRP*), Object* object) {
    const outcome done = call(verb, object, static_cast<CI_UDATA*>(nullptr));
    if (done) forget(object);
    return done;
}

} // namespace irpverbs::verbs
