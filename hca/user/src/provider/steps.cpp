#include "steps.hpp"

#include "../adapter.hpp"

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace irpverbs::hca_user {

namespace {

using result = ib_api_status_t;

// ---- the words of a verb's stack location

const auto& words(const step& of) { return of.verb.Parameters.Others; }

template <class Value>
Value* buffer(const step& of) {
    return static_cast<Value*>(words(of).Argument2);
}
ULONG_PTR number(const step& of) { return reinterpret_cast<ULONG_PTR>(words(of).Argument3); }
UCHAR port(const step& of) {
    return static_cast<UCHAR>(reinterpret_cast<ULONG_PTR>(words(of).Argument4));
}

// ---- the objects of a verb, and the provider's handles of them

template <class Shared>
Shared& shared(const step& of) {
    return *static_cast<Shared*>(of.object.object);
}

template <class Handle>
Handle handle_in(const void* extension) {
    return static_cast<Handle>(static_cast<const user_object*>(extension)->of_provider);
}
uvp_ca_handle_t handle_of(const HCA_CA* ca) { return handle_in<uvp_ca_handle_t>(ca->Extension); }
uvp_pd_handle_t handle_of(const HCA_PD* pd) { return handle_in<uvp_pd_handle_t>(pd->Extension); }
uvp_qp_handle_t handle_of(const HCA_QP* qp) { return handle_in<uvp_qp_handle_t>(qp->Extension); }

/// Receives the handle of a new object.
template <class Handle>
class new_handle {
public:
    explicit new_handle(const step& of) : object_(of.object) {}
    ~new_handle() { object_.of_provider = made_; }
    new_handle(const new_handle&) = delete;
    new_handle& operator=(const new_handle&) = delete;
    Handle* place() { return &made_; }

private:
    user_object& object_;
    Handle made_ = nullptr;
};

// ---- calls

template <class... Declared, class... Given>
result call(result (*function)(Declared...), Given... with) {
    return function != nullptr ? function(with...) : IB_SUCCESS;
}

/// Calls a function whose first parameter is the handle of the verb's own object.
template <class Handle, class... Declared, class... Given>
result call_own(result (*function)(Handle, Declared...), const step& of, Given... with) {
    return call(function, static_cast<Handle>(of.object.of_provider), with...);
}

// Calls a function with the whole block of a query. The caller's may be shorter.
template <class Block, class Function>
result with_whole(const step& of, const Function& function) {
    Block whole{};
    const std::size_t size = std::min<std::size_t>(number(of), sizeof(whole));
    if (size != 0) std::memcpy(&whole, buffer<Block>(of), size);
    const result status = function(whole);
    if (size != 0) std::memcpy(buffer<Block>(of), &whole, size);
    return status;
}

// ---- steps of many verbs. `Function` is a member of the vector.

/// A function of the object, with the buffer if it has one.
template <class Handle>
result of_own(result (*function)(Handle, ci_umv_buf_t*), const step& s) {
    return call_own(function, s, &s.buffer);
}
template <class Handle>
result of_own(result (*function)(Handle), const step& s) {
    return call_own(function, s);
}
template <auto Function>
result plain(const step& s) {
    return of_own(s.functions.*Function, s);
}

/// A pre function with the change that the caller wants.
template <class Handle, class Change>
result of_change(result (*function)(Handle, const Change*, ci_umv_buf_t*), const step& s) {
    return call_own(function, s, buffer<const Change>(s), &s.buffer);
}
template <auto Function>
result changing(const step& s) {
    return of_change(s.functions.*Function, s);
}

/// A post function with the attributes that a query has returned.
template <class Handle, class Block>
result of_block(result (*function)(Handle, Block*, ci_umv_buf_t*), const step& s) {
    return with_whole<std::remove_const_t<Block>>(
        s, [&](auto& whole) { return call_own(function, s, &whole, &s.buffer); });
}
template <auto Function>
result queried(const step& s) {
    return of_block(s.functions.*Function, s);
}

/// The pre function of a creation. `Parent` is a member of the object, as is `Attributes`.
template <auto Function, class Shared, auto Parent>
result creating(const step& s) {
    return call(s.functions.*Function, handle_of(shared<Shared>(s).*Parent), &s.buffer);
}
template <auto Function, class Shared, auto Parent, auto Attributes>
result creating_with(const step& s) {
    const Shared& made = shared<Shared>(s);
    return call(s.functions.*Function, handle_of(made.*Parent), &(made.*Attributes), &s.buffer);
}

/// The post function of a creation.
template <class ParentHandle, class Handle>
result of_creation(result (*function)(ParentHandle, Handle*, ci_umv_buf_t*), ParentHandle parent,
                   const step& s) {
    new_handle<Handle> made(s);
    return call(function, parent, made.place(), &s.buffer);
}
template <auto Function, class Shared, auto Parent>
result created(const step& s) {
    return of_creation(s.functions.*Function, handle_of(shared<Shared>(s).*Parent), s);
}

// ---- steps with parameters of their own

result before_open_ca(const step& s) {
    const ib_guid_t guid = adapter::of(shared<HCA_CA>(s).Device).guid();
    return call(s.functions.pre_open_ca, boost::endian::native_to_big(guid), &s.buffer);
}
result after_open_ca(const step& s) {
    new_handle<uvp_ca_handle_t> made(s);
    return call(s.functions.post_open_ca, made.place(), &s.buffer);
}
result after_query_ca(const step& s) {
    return call_own(s.functions.post_query_ca, s, buffer<ib_ca_attr_t>(s),
                    static_cast<uint32_t>(number(s)), &s.buffer);
}
result before_modify_ca(const step& s) {
    const bool is_port = s.verb.MinorFunction == HCA_MN_MODIFY_PORT;
    return call_own(s.functions.pre_modify_ca, s, is_port ? port(s) : UCHAR{0},
                    static_cast<ib_ca_mod_t>(number(s)),
                    is_port ? buffer<const ib_port_attr_mod_t>(s) : nullptr);
}

result before_create_av(const step& s) {
    const HCA_AV& av = shared<HCA_AV>(s);
    return call(s.functions.pre_create_av, handle_of(av.Pd), &av.Av.Attr, &s.buffer);
}
result after_query_av(const step& s) {
    uvp_pd_handle_t pd = handle_of(shared<HCA_AV>(s).Pd);
    return with_whole<ib_av_query_t>(s, [&](ib_av_query_t& whole) {
        return call_own(s.functions.post_query_av, s, &whole.attr, &pd, &s.buffer);
    });
}

result before_create_cq(const step& s) {
    ULONG& entries = ci::crossing::entries_of(s.verb);
    return call(s.functions.pre_create_cq, handle_of(shared<HCA_CQ>(s).Ca), &entries, &s.buffer);
}
result after_create_cq(const step& s) {
    const HCA_CQ& cq = shared<HCA_CQ>(s);
    new_handle<uvp_cq_handle_t> made(s);
    return call(s.functions.post_create_cq, handle_of(cq.Ca), cq.Cq.NumCqes, made.place(),
                &s.buffer);
}
result before_resize_cq(const step& s) {
    auto entries = static_cast<uint32_t>(number(s));
    const result status = call_own(s.functions.pre_resize_cq, s, &entries, &s.buffer);
    s.verb.Parameters.Others.Argument3 = reinterpret_cast<PVOID>(ULONG_PTR{entries});
    return status;
}
result after_resize_cq(const step& s) {
    return call_own(s.functions.post_resize_cq, s, shared<HCA_CQ>(s).Cq.NumCqes, &s.buffer);
}

result after_register_mr(const step& s) {
    const HCA_MR& mr = shared<HCA_MR>(s);
    new_handle<uvp_mr_handle_t> made(s);
    return call(s.functions.post_register_mr, handle_of(mr.Pd), &mr.Mr.LKey, &mr.Mr.RKey,
                made.place(), &s.buffer);
}
uvp_mr_handle_t source_of(const HCA_MR& mr) {
    const auto& other = *reinterpret_cast<const HCA_MR*>(mr.Sharing.h_mr);
    return handle_in<uvp_mr_handle_t>(other.Extension);
}
result before_register_smr(const step& s) {
    const HCA_MR& mr = shared<HCA_MR>(s);
    return call(s.functions.pre_register_smr, handle_of(mr.Pd), source_of(mr),
                mr.Create.access_ctrl, mr.Create.vaddr, &s.buffer);
}
result after_register_smr(const step& s) {
    const HCA_MR& mr = shared<HCA_MR>(s);
    new_handle<uvp_mr_handle_t> made(s);
    return call(s.functions.post_register_smr, handle_of(mr.Pd), source_of(mr), mr.Create.vaddr,
                &mr.Mr.LKey, &mr.Mr.RKey, made.place(), &s.buffer);
}
uvp_pd_handle_t new_domain(const ib_mr_mod_t& change) {
    if ((change.opts & IB_MR_MOD_PD) == 0) return nullptr;
    return handle_of(reinterpret_cast<const HCA_PD*>(change.h_pd));
}
result before_modify_mr(const step& s) {
    const auto& change = *buffer<const ib_mr_mod_t>(s);
    const bool creates = (change.opts & (IB_MR_MOD_ADDR | IB_MR_MOD_ACCESS)) != 0;
    return call_own(s.functions.pre_modify_mr, s, new_domain(change), change.opts,
                    creates ? &change.create : nullptr, &s.buffer);
}
result after_modify_mr(const step& s) {
    const HCA_MR& mr = shared<HCA_MR>(s);
    return call_own(s.functions.post_modify_mr, s, new_domain(*buffer<const ib_mr_mod_t>(s)),
                    &mr.Mr.LKey, &mr.Mr.RKey, &s.buffer);
}

result after_create_mw(const step& s) {
    const HCA_MW& mw = shared<HCA_MW>(s);
    new_handle<uvp_mw_handle_t> made(s);
    return call(s.functions.post_create_mw, handle_of(mw.Pd), mw.Mw.RKey, made.place(), &s.buffer);
}
result after_query_mw(const step& s) {
    uvp_pd_handle_t pd = handle_of(shared<HCA_MW>(s).Pd);
    return with_whole<ib_mw_attr_t>(s, [&](ib_mw_attr_t& whole) {
        return call_own(s.functions.post_query_mw, s, &pd, whole.rkey, &s.buffer);
    });
}

result before_attach_mcast(const step& s) {
    const HCA_MCAST& mcast = shared<HCA_MCAST>(s);
    return call(s.functions.pre_attach_mcast, handle_of(mcast.Qp), &mcast.Mcast.Gid,
                mcast.Mcast.Lid, &s.buffer);
}

// ---- the verbs

enum traits : unsigned { none = 0, may_be_done = 1, only_after_success = 2 };

template <auto Before, auto After>
bool has_either(const uvp_interface_t& functions) {
    return functions.*Before != nullptr || functions.*After != nullptr;
}

#define PRE(name) &uvp_interface_t::pre_##name
#define POST(name) &uvp_interface_t::post_##name
#define STEPS(verb, name, before, after, with)                                                     \
    step_pair {                                                                                    \
        HCA_MN_##verb, has_either<PRE(name), POST(name)>, before, after,                           \
            ((with)&may_be_done) != 0, ((with)&only_after_success) != 0                            \
    }
// The functions that have the object and the buffer only.
#define PLAIN(verb, name, with) STEPS(verb, name, plain<PRE(name)>, plain<POST(name)>, with)
#define QUERY(verb, name) STEPS(verb, name, plain<PRE(name)>, queried<POST(name)>, may_be_done)
#define CHANGE(verb, name, with) STEPS(verb, name, changing<PRE(name)>, plain<POST(name)>, with)

constexpr step_pair all_steps[] = {
    STEPS(OPEN_CA, open_ca, before_open_ca, after_open_ca, none),
    STEPS(QUERY_CA, query_ca, plain<PRE(query_ca)>, after_query_ca, may_be_done),
    STEPS(MODIFY_CA, modify_ca, before_modify_ca, plain<POST(modify_ca)>, only_after_success),
    STEPS(MODIFY_PORT, modify_ca, before_modify_ca, plain<POST(modify_ca)>, only_after_success),
    PLAIN(CLOSE_CA, close_ca, only_after_success),
    STEPS(ALLOCATE_PD, allocate_pd, (creating<PRE(allocate_pd), HCA_PD, &HCA_PD::Ca>),
          (created<POST(allocate_pd), HCA_PD, &HCA_PD::Ca>), none),
    PLAIN(DEALLOCATE_PD, deallocate_pd, only_after_success),
    STEPS(CREATE_AV, create_av, before_create_av, (created<POST(create_av), HCA_AV, &HCA_AV::Pd>),
          may_be_done),
    STEPS(QUERY_AV, query_av, plain<PRE(query_av)>, after_query_av, may_be_done),
    CHANGE(MODIFY_AV, modify_av, may_be_done),
    PLAIN(DESTROY_AV, destroy_av, may_be_done),
    STEPS(CREATE_QP, create_qp,
          (creating_with<PRE(create_qp), HCA_QP, &HCA_QP::Pd, &HCA_QP::Create>),
          (created<POST(create_qp), HCA_QP, &HCA_QP::Pd>), none),
    CHANGE(MODIFY_QP, modify_qp, none),
    QUERY(QUERY_QP, query_qp),
    PLAIN(DESTROY_QP, destroy_qp, only_after_success),
    STEPS(CREATE_CQ, create_cq, before_create_cq, after_create_cq, none),
    PLAIN(QUERY_CQ, query_cq, may_be_done),
    STEPS(RESIZE_CQ, resize_cq, before_resize_cq, after_resize_cq, none),
    PLAIN(DESTROY_CQ, destroy_cq, only_after_success),
    STEPS(REGISTER_MR, register_mr,
          (creating_with<PRE(register_mr), HCA_MR, &HCA_MR::Pd, &HCA_MR::Create>),
          after_register_mr, none),
    STEPS(REGISTER_SMR, register_smr, before_register_smr, after_register_smr, none),
    QUERY(QUERY_MR, query_mr),
    STEPS(MODIFY_MR, modify_mr, before_modify_mr, after_modify_mr, none),
    PLAIN(DEREGISTER_MR, deregister_mr, none),
    STEPS(ALLOCATE_MW, create_mw, (creating<PRE(create_mw), HCA_MW, &HCA_MW::Pd>), after_create_mw,
          none),
    STEPS(QUERY_MW, query_mw, plain<PRE(query_mw)>, after_query_mw, may_be_done),
    PLAIN(DEALLOCATE_MW, destroy_mw, none),
    STEPS(CREATE_SRQ, create_srq,
          (creating_with<PRE(create_srq), HCA_SRQ, &HCA_SRQ::Pd, &HCA_SRQ::Create>),
          (created<POST(create_srq), HCA_SRQ, &HCA_SRQ::Pd>), none),
    CHANGE(MODIFY_SRQ, modify_srq, none),
    QUERY(QUERY_SRQ, query_srq),
    PLAIN(DESTROY_SRQ, destroy_srq, only_after_success),
    STEPS(ATTACH_MCAST, attach_mcast, before_attach_mcast,
          (created<POST(attach_mcast), HCA_MCAST, &HCA_MCAST::Qp>), none),
    PLAIN(DETACH_MCAST, detach_mcast, none),
};

#undef CHANGE
#undef QUERY
#undef PLAIN
#undef STEPS
#undef POST
#undef PRE

} // namespace

const step_pair* steps_of(UCHAR verb) {
    const auto* const found = std::ranges::find(all_steps, verb, &step_pair::verb);
    return found != std::end(all_steps) ? found : nullptr;
}

} // namespace irpverbs::hca_user
