// Protection domains, memory regions and queue pairs of a case.
#pragma once

#include "world.hpp"

#include <ci/qp_changes.hpp>

#include <array>

namespace irpverbs::conformance {

/// A protection domain; the destructor deallocates it.
class pd {
public:
    explicit pd(IB_CA* parent) : pd_(reinterpret_cast<IB_PD*>(must(allocate_pd(parent)))) {}
    ~pd() { EXPECT_STATUS(verb_call(deallocate_pd(pd_)).status(), STATUS_SUCCESS); }
    pd(const pd&) = delete;
    pd& operator=(const pd&) = delete;

    operator IB_PD*() const { return pd_; }

private:
    IB_PD* pd_;
};

/// A memory region; the destructor deregisters it.
class mr {
public:
    explicit mr(const verb& registers) : mr_(reinterpret_cast<IB_MR*>(must(registers))) {}
    mr(IB_PD* parent, const ib_mr_create_t& wanted) : mr(register_mr(parent, &wanted)) {}
    ~mr() {
        if (mr_ != nullptr) deregister();
    }
    mr(const mr&) = delete;
    mr& operator=(const mr&) = delete;

    operator IB_MR*() const { return mr_; }
    IB_MR* operator->() const { return mr_; }
    void deregister() {
        EXPECT_STATUS(status_of(deregister_mr(std::exchange(mr_, nullptr))), STATUS_SUCCESS);
    }

private:
    IB_MR* mr_;
};

/// Another address for work requests, with the offset in its page that the memory has.
inline ULONGLONG iova_of(const void* memory) {
    constexpr ULONGLONG far = ULONGLONG{5} << 40;
    return far + reinterpret_cast<std::uintptr_t>(memory) % 4096;
}

inline ib_mr_attr_t attributes_of(IB_MR* region) {
    ib_mr_attr_t attr{};
    EXPECT_STATUS(status_of(query_mr(region, &attr, sizeof(attr))), STATUS_SUCCESS);
    return attr;
}

/// A memory window; the destructor deallocates it.
class mw {
public:
    mw(IB_PD* parent, ULONG type)
        : mw_(reinterpret_cast<IB_MW*>(must(allocate_mw(parent, type)))) {}
    ~mw() {
        if (mw_ != nullptr) deallocate();
    }
    mw(const mw&) = delete;
    mw& operator=(const mw&) = delete;

    operator IB_MW*() const { return mw_; }
    IB_MW* operator->() const { return mw_; }
    void deallocate() {
        EXPECT_STATUS(verb_call(deallocate_mw(std::exchange(mw_, nullptr))).status(),
                      STATUS_SUCCESS);
    }

private:
    IB_MW* mw_;
};

/// The way to the HCA's own port.
inline ib_av_attr_t way_to_own_port(IB_CA* of) {
    const block all = whole_port(of);
    const auto& port = all.as<IB_PORT_ATTR>();
    ib_av_attr_t made{};
    made.port_num = 1;
    made.dlid = port.Lid;
    if (port.LinkLayer != IB_LINK_LAYER_ETHERNET || port.GidCount == 0) return made;
    made.grh_valid = TRUE;
    made.grh.dest_gid = *IbPortGid(&port, 0);
    made.grh.hop_limit = 1;
    return made;
}

/// The parameters of a queue pair with small queues.
inline ib_qp_create_t small_queue_pair(IB_CQ* sends, IB_CQ* receives,
                                       ib_qp_type_t type = IB_QPT_RELIABLE_CONN) {
    ib_qp_create_t wanted{};
    wanted.qp_type = type;
    wanted.h_sq_cq = sends;
    wanted.h_rq_cq = receives;
    wanted.sq_depth = wanted.rq_depth = 3;
    wanted.sq_sge = wanted.rq_sge = 1;
    return wanted;
}

/// A queue pair; the destructor destroys it.
class qp {
public:
    qp(IB_PD* parent, const ib_qp_create_t& wanted)
        : qp_(reinterpret_cast<IB_QP*>(must(create_qp(parent, &wanted)))) {}
    ~qp() {
        if (qp_ != nullptr) destroy();
    }
    qp(const qp&) = delete;
    qp& operator=(const qp&) = delete;

    operator IB_QP*() const { return qp_; }
    IB_QP* operator->() const { return qp_; }
    IB_QP* release() { return std::exchange(qp_, nullptr); }
    void destroy() { EXPECT_STATUS(verb_call(destroy_qp(release())).status(), STATUS_SUCCESS); }
    ib_qp_attr_t attributes() const {
        ib_qp_attr_t attr{};
        EXPECT_STATUS(status_of(query_qp(qp_, &attr, sizeof(attr))), STATUS_SUCCESS);
        return attr;
    }
    NTSTATUS modify(const ib_qp_mod_t& change) const { return status_of(modify_qp(qp_, &change)); }

private:
    IB_QP* qp_;
};

/// A shared receive queue; the destructor destroys it.
class srq {
public:
    explicit srq(IB_PD* parent, ULONG depth = 4, const IB_SRQ_DISPATCH& dispatch = {},
                 void* context = nullptr)
        : srq(parent, {context, dispatch, depth, 1, nullptr, nullptr}) {}
    srq(IB_PD* parent, const ib_srq_create_t& wanted)
        : srq_(reinterpret_cast<IB_SRQ*>(must(create_srq(parent, &wanted)))) {}
    ~srq() {
        if (srq_ != nullptr) {
            EXPECT_STATUS(verb_call(destroy_srq(release())).status(), STATUS_SUCCESS);
        }
    }
    srq(const srq&) = delete;
    srq& operator=(const srq&) = delete;

    operator IB_SRQ*() const { return srq_; }
    IB_SRQ* operator->() const { return srq_; }
    IB_SRQ* release() { return std::exchange(srq_, nullptr); }
    ib_srq_attr_t attributes() const {
        ib_srq_attr_t attr{};
        EXPECT_STATUS(status_of(query_srq(srq_, &attr, sizeof(attr))), STATUS_SUCCESS);
        return attr;
    }
    NTSTATUS modify(const ib_srq_mod_t& change) const {
        return status_of(modify_srq(srq_, &change));
    }

private:
    IB_SRQ* srq_;
};

/// An open CA with a queue pair and the objects that it needs.
struct qp_scene {
    ca opened;
    pd domain{opened};
    cq queue{opened.get()};
    qp pair;

    explicit qp_scene(const world& here, ib_qp_type_t type = IB_QPT_RELIABLE_CONN)
        : opened(here), pair(domain, small_queue_pair(queue, queue, type)) {}
};

} // namespace irpverbs::conformance
