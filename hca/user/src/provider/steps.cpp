#include "steps.hpp"

#include "../adapter.hpp"

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <cstring>

namespace irpverbs::hca_user {

namespace {

using result = ib_api_status_t;

template <class... Declared, class... Given>
result call(result (*function)(Declared...), Given... with) {
    return function != nullptr ? function(with...) : IB_SUCCESS;
}

// ---- the objects of a verb, and the provider's handles of them

template <class Shared>
Shared& shared(const step& of) {
    return *static_cast<Shared*>(of.object.object);
}

template <class Handle>
Handle own(const step& of) {
    return static_cast<Handle>(of.object.of_provider);
}

uvp_ca_handle_t handle_of(const HCA_CA* ca) {
    return static_cast<uvp_ca_handle_t>(static_cast<user_object*>(ca->Extension)->of_provider);
}
uvp_pd_handle_t handle_of(const HCA_PD* pd) {
    return static_cast<uvp_pd_handle_t>(static_cast<user_object*>(pd->Extension)->of_provider);
}
uvp_qp_handle_t handle_of(const HCA_QP* qp) {
    return static_cast<uvp_qp_handle_t>(static_cast<user_object*>(qp->Extension)->of_provider);
}

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

// ---- channel adapters

result before_open_ca(const step& s) {
    const ib_guid_t guid = adapter::of(shared<HCA_CA>(s).Device).guid();
    return call(s.functions.pre_open_ca, boost::endian::native_to_big(guid), &s.buffer);
}
result after_open_ca(const step& s) {
    new_handle<uvp_ca_handle_t> made(s);
    return call(s.functions.post_open_ca, made.place(), &s.buffer);
}
result before_query_ca(const step& s) {
    return call(s.functions.pre_query_ca, own<uvp_ca_handle_t>(s), &s.buffer);
}
result after_query_ca(const step& s) {
    return call(s.functions.post_query_ca, own<uvp_ca_handle_t>(s), buffer<ib_ca_attr_t>(s),
                static_cast<uint32_t>(number(s)), &s.buffer);
}
result before_modify_ca(const step& s) {
    const bool is_port = s.verb.MinorFunction == HCA_MN_MODIFY_PORT;
    return call(s.functions.pre_modify_ca, own<uvp_ca_handle_t>(s), is_port ? port(s) : UCHAR{0},
                static_cast<ib_ca_mod_t>(number(s)),
                is_port ? buffer<const ib_port_attr_mod_t>(s) : nullptr);
}
result after_modify_ca(const step& s) {
    return call(s.functions.post_modify_ca, own<uvp_ca_handle_t>(s));
}
result before_close_ca(const step& s) {
    return call(s.functions.pre_close_ca, own<uvp_ca_handle_t>(s), &s.buffer);
}
result after_close_ca(const step& s) {
    return call(s.functions.post_close_ca, own<uvp_ca_handle_t>(s));
}

// ---- protection domains

result before_allocate_pd(const step& s) {
    return call(s.functions.pre_allocate_pd, handle_of(shared<HCA_PD>(s).Ca), &s.buffer);
}
result after_allocate_pd(const step& s) {
    new_handle<uvp_pd_handle_t> made(s);
    return call(s.functions.post_allocate_pd, handle_of(shared<HCA_PD>(s).Ca), made.place(),
                &s.buffer);
}
result before_deallocate_pd(const step& s) {
    return call(s.functions.pre_deallocate_pd, own<uvp_pd_handle_t>(s), &s.buffer);
}
result after_deallocate_pd(const step& s) {
    return call(s.functions.post_deallocate_pd, own<uvp_pd_handle_t>(s));
}

// ---- address vectors

result before_create_av(const step& s) {
    const HCA_AV& av = shared<HCA_AV>(s);
    return call(s.functions.pre_create_av, handle_of(av.Pd), &av.Av.Attr, &s.buffer);
}
result after_create_av(const step& s) {
    new_handle<uvp_av_handle_t> made(s);
    return call(s.functions.post_create_av, handle_of(shared<HCA_AV>(s).Pd), made.place(),
                &s.buffer);
}
result before_query_av(const step& s) {
    return call(s.functions.pre_query_av, own<uvp_av_handle_t>(s), &s.buffer);
}
result after_query_av(const step& s) {
    uvp_pd_handle_t pd = handle_of(shared<HCA_AV>(s).Pd);
    return with_whole<ib_av_query_t>(s, [&](ib_av_query_t& whole) {
        return call(s.functions.post_query_av, own<uvp_av_handle_t>(s), &whole.attr, &pd,
                    &s.buffer);
    });
}
result before_modify_av(const step& s) {
    return call(s.functions.pre_modify_av, own<uvp_av_handle_t>(s), buffer<ib_av_attr_t>(s),
                &s.buffer);
}
result after_modify_av(const step& s) {
    return call(s.functions.post_modify_av, own<uvp_av_handle_t>(s), &s.buffer);
}
result before_destroy_av(const step& s) {
    return call(s.functions.pre_destroy_av, own<uvp_av_handle_t>(s), &s.buffer);
}
result after_destroy_av(const step& s) {
    return call(s.functions.post_destroy_av, own<uvp_av_handle_t>(s), &s.buffer);
}

// ---- queue pairs

result before_create_qp(const step& s) {
    const HCA_QP& qp = shared<HCA_QP>(s);
    return call(s.functions.pre_create_qp, handle_of(qp.Pd), &qp.Create, &s.buffer);
}
result after_create_qp(const step& s) {
    new_handle<uvp_qp_handle_t> made(s);
    return call(s.functions.post_create_qp, handle_of(shared<HCA_QP>(s).Pd), made.place(),
                &s.buffer);
}
result before_modify_qp(const step& s) {
    return call(s.functions.pre_modify_qp, own<uvp_qp_handle_t>(s), buffer<ib_qp_mod_t>(s),
                &s.buffer);
}
result after_modify_qp(const step& s) {
    return call(s.functions.post_modify_qp, own<uvp_qp_handle_t>(s), &s.buffer);
}
result before_query_qp(const step& s) {
    return call(s.functions.pre_query_qp, own<uvp_qp_handle_t>(s), &s.buffer);
}
result after_query_qp(const step& s) {
    return with_whole<ib_qp_attr_t>(s, [&](ib_qp_attr_t& whole) {
        return call(s.functions.post_query_qp, own<uvp_qp_handle_t>(s), &whole, &s.buffer);
    });
}
result before_destroy_qp(const step& s) {
    return call(s.functions.pre_destroy_qp, own<uvp_qp_handle_t>(s), &s.buffer);
}
result after_destroy_qp(const step& s) {
    return call(s.functions.post_destroy_qp, own<uvp_qp_handle_t>(s));
}

// ---- completion queues

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
result before_query_cq(const step& s) {
    return call(s.functions.pre_query_cq, own<uvp_cq_handle_t>(s), &s.buffer);
}
result after_query_cq(const step& s) {
    return call(s.functions.post_query_cq, own<uvp_cq_handle_t>(s), &s.buffer);
}
result before_resize_cq(const step& s) {
    auto entries = static_cast<uint32_t>(number(s));
    const result status =
        call(s.functions.pre_resize_cq, own<uvp_cq_handle_t>(s), &entries, &s.buffer);
    s.verb.Parameters.Others.Argument3 = reinterpret_cast<PVOID>(ULONG_PTR{entries});
    return status;
}
result after_resize_cq(const step& s) {
    return call(s.functions.post_resize_cq, own<uvp_cq_handle_t>(s), shared<HCA_CQ>(s).Cq.NumCqes,
                &s.buffer);
}
result before_destroy_cq(const step& s) {
    return call(s.functions.pre_destroy_cq, own<uvp_cq_handle_t>(s), &s.buffer);
}
result after_destroy_cq(const step& s) {
    return call(s.functions.post_destroy_cq, own<uvp_cq_handle_t>(s));
}

// ---- memory regions

result before_register_mr(const step& s) {
    const HCA_MR& mr = shared<HCA_MR>(s);
    return call(s.functions.pre_register_mr, handle_of(mr.Pd), &mr.Create, &s.buffer);
}
result after_register_mr(const step& s) {
    const HCA_MR& mr = shared<HCA_MR>(s);
    new_handle<uvp_mr_handle_t> made(s);
    return call(s.functions.post_register_mr, handle_of(mr.Pd), &mr.Mr.LKey, &mr.Mr.RKey,
                made.place(), &s.buffer);
}
result before_query_mr(const step& s) {
    return call(s.functions.pre_query_mr, own<uvp_mr_handle_t>(s), &s.buffer);
}
result after_query_mr(const step& s) {
    return with_whole<ib_mr_attr_t>(s, [&](ib_mr_attr_t& whole) {
        return call(s.functions.post_query_mr, own<uvp_mr_handle_t>(s), &whole, &s.buffer);
    });
}
uvp_pd_handle_t new_domain(const ib_mr_mod_t& change) {
    if ((change.opts & IB_MR_MOD_PD) == 0) return nullptr;
    return handle_of(reinterpret_cast<const HCA_PD*>(change.h_pd));
}
result before_modify_mr(const step& s) {
    const auto& change = *buffer<const ib_mr_mod_t>(s);
    const bool creates = (change.opts & (IB_MR_MOD_ADDR | IB_MR_MOD_ACCESS)) != 0;
    return call(s.functions.pre_modify_mr, own<uvp_mr_handle_t>(s), new_domain(change), change.opts,
                creates ? &change.create : nullptr, &s.buffer);
}
result after_modify_mr(const step& s) {
    const HCA_MR& mr = shared<HCA_MR>(s);
    return call(s.functions.post_modify_mr, own<uvp_mr_handle_t>(s),
                new_domain(*buffer<const ib_mr_mod_t>(s)), &mr.Mr.LKey, &mr.Mr.RKey, &s.buffer);
}
result before_deregister_mr(const step& s) {
    return call(s.functions.pre_deregister_mr, own<uvp_mr_handle_t>(s), &s.buffer);
}
result after_deregister_mr(const step& s) {
    return call(s.functions.post_deregister_mr, own<uvp_mr_handle_t>(s), &s.buffer);
}

// ---- memory windows

result before_create_mw(const step& s) {
    return call(s.functions.pre_create_mw, handle_of(shared<HCA_MW>(s).Pd), &s.buffer);
}
result after_create_mw(const step& s) {
    const HCA_MW& mw = shared<HCA_MW>(s);
    new_handle<uvp_mw_handle_t> made(s);
    return call(s.functions.post_create_mw, handle_of(mw.Pd), mw.Mw.RKey, made.place(), &s.buffer);
}
result before_query_mw(const step& s) {
    return call(s.functions.pre_query_mw, own<uvp_mw_handle_t>(s), &s.buffer);
}
result after_query_mw(const step& s) {
    const HCA_MW& mw = shared<HCA_MW>(s);
    uvp_pd_handle_t pd = handle_of(mw.Pd);
    return with_whole<ib_mw_attr_t>(s, [&](ib_mw_attr_t& whole) {
        return call(s.functions.post_query_mw, own<uvp_mw_handle_t>(s), &pd, whole.rkey, &s.buffer);
    });
}
result before_destroy_mw(const step& s) {
    return call(s.functions.pre_destroy_mw, own<uvp_mw_handle_t>(s), &s.buffer);
}
result after_destroy_mw(const step& s) {
    return call(s.functions.post_destroy_mw, own<uvp_mw_handle_t>(s), &s.buffer);
}

// ---- shared receive queues

result before_create_srq(const step& s) {
    const HCA_SRQ& srq = shared<HCA_SRQ>(s);
    return call(s.functions.pre_create_srq, handle_of(srq.Pd), &srq.Create, &s.buffer);
}
result after_create_srq(const step& s) {
    new_handle<uvp_srq_handle_t> made(s);
    return call(s.functions.post_create_srq, handle_of(shared<HCA_SRQ>(s).Pd), made.place(),
                &s.buffer);
}
result before_modify_srq(const step& s) {
    return call(s.functions.pre_modify_srq, own<uvp_srq_handle_t>(s), buffer<ib_srq_mod_t>(s),
                &s.buffer);
}
result after_modify_srq(const step& s) {
    return call(s.functions.post_modify_srq, own<uvp_srq_handle_t>(s), &s.buffer);
}
result before_query_srq(const step& s) {
    return call(s.functions.pre_query_srq, own<uvp_srq_handle_t>(s), &s.buffer);
}
result after_query_srq(const step& s) {
    return with_whole<ib_srq_attr_t>(s, [&](ib_srq_attr_t& whole) {
        return call(s.functions.post_query_srq, own<uvp_srq_handle_t>(s), &whole, &s.buffer);
    });
}
result before_destroy_srq(const step& s) {
    return call(s.functions.pre_destroy_srq, own<uvp_srq_handle_t>(s), &s.buffer);
}
result after_destroy_srq(const step& s) {
    return call(s.functions.post_destroy_srq, own<uvp_srq_handle_t>(s));
}

// ---- multicast

result before_attach_mcast(const step& s) {
    const HCA_MCAST& mcast = shared<HCA_MCAST>(s);
    return call(s.functions.pre_attach_mcast, handle_of(mcast.Qp), &mcast.Mcast.Gid,
                mcast.Mcast.Lid, &s.buffer);
}
result after_attach_mcast(const step& s) {
    new_handle<uvp_mcast_handle_t> made(s);
    return call(s.functions.post_attach_mcast, handle_of(shared<HCA_MCAST>(s).Qp), made.place(),
                &s.buffer);
}
result before_detach_mcast(const step& s) {
    return call(s.functions.pre_detach_mcast, own<uvp_mcast_handle_t>(s), &s.buffer);
}
result after_detach_mcast(const step& s) {
    return call(s.functions.post_detach_mcast, own<uvp_mcast_handle_t>(s), &s.buffer);
}

// ---- the verbs

enum traits : unsigned { none = 0, may_be_done = 1, only_after_success = 2 };

template <auto Before, auto After>
bool has_either(const uvp_interface_t& functions) {
    return functions.*Before != nullptr || functions.*After != nullptr;
}

#define STEPS(verb, name, with)                                                                    \
    step_pair {                                                                                    \
        verb, has_either<&uvp_interface_t::pre_##name, &uvp_interface_t::post_##name>,             \
            before_##name, after_##name, ((with)&may_be_done) != 0,                                \
            ((with)&only_after_success) != 0                                                       \
    }

constexpr step_pair all_steps[] = {
    STEPS(HCA_MN_OPEN_CA, open_ca, none),
    STEPS(HCA_MN_QUERY_CA, query_ca, may_be_done),
    STEPS(HCA_MN_MODIFY_CA, modify_ca, only_after_success),
    STEPS(HCA_MN_MODIFY_PORT, modify_ca, only_after_success),
    STEPS(HCA_MN_CLOSE_CA, close_ca, only_after_success),
    STEPS(HCA_MN_ALLOCATE_PD, allocate_pd, none),
    STEPS(HCA_MN_DEALLOCATE_PD, deallocate_pd, only_after_success),
    STEPS(HCA_MN_CREATE_AV, create_av, may_be_done),
    STEPS(HCA_MN_QUERY_AV, query_av, may_be_done),
    STEPS(HCA_MN_MODIFY_AV, modify_av, may_be_done),
    STEPS(HCA_MN_DESTROY_AV, destroy_av, may_be_done),
    STEPS(HCA_MN_CREATE_QP, create_qp, none),
    STEPS(HCA_MN_MODIFY_QP, modify_qp, none),
    STEPS(HCA_MN_QUERY_QP, query_qp, may_be_done),
    STEPS(HCA_MN_DESTROY_QP, destroy_qp, only_after_success),
    STEPS(HCA_MN_CREATE_CQ, create_cq, none),
    STEPS(HCA_MN_QUERY_CQ, query_cq, may_be_done),
    STEPS(HCA_MN_RESIZE_CQ, resize_cq, none),
    STEPS(HCA_MN_DESTROY_CQ, destroy_cq, only_after_success),
    STEPS(HCA_MN_REGISTER_MR, register_mr, none),
    STEPS(HCA_MN_QUERY_MR, query_mr, may_be_done),
    STEPS(HCA_MN_MODIFY_MR, modify_mr, none),
    STEPS(HCA_MN_DEREGISTER_MR, deregister_mr, none),
    STEPS(HCA_MN_ALLOCATE_MW, create_mw, none),
    STEPS(HCA_MN_QUERY_MW, query_mw, may_be_done),
    STEPS(HCA_MN_DEALLOCATE_MW, destroy_mw, none),
    STEPS(HCA_MN_CREATE_SRQ, create_srq, none),
    STEPS(HCA_MN_MODIFY_SRQ, modify_srq, none),
    STEPS(HCA_MN_QUERY_SRQ, query_srq, may_be_done),
    STEPS(HCA_MN_DESTROY_SRQ, destroy_srq, only_after_success),
    STEPS(HCA_MN_ATTACH_MCAST, attach_mcast, none),
    STEPS(HCA_MN_DETACH_MCAST, detach_mcast, none),
};

#undef STEPS

} // namespace

const step_pair* steps_of(UCHAR verb) {
    const auto* const found = std::ranges::find(all_steps, verb, &step_pair::verb);
    return found != std::end(all_steps) ? found : nullptr;
}

} // namespace irpverbs::hca_user
