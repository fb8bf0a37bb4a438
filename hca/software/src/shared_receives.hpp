// Shared receive queues of the software HCA, and XRC domains.
#pragma once

#include "number_table.hpp"
#include "receive_reports.hpp"
#include "registered_memory.hpp"

#include "transport/shared_receive_queue.hpp"

namespace irpverbs::hca_software {

inline constexpr ULONG max_srqs = 1u << 16;
inline constexpr ULONG max_xrc_domains = 1u << 16;

/// HCA_SRQ.Extension.
struct shared_receives final : transport::xrc_owner {
    shared_receives(HCA_SRQ* its, key_table& keys)
        : shared(its), memory(keys, its->Pd, no_queue_pair),
          queue(memory, its->Create.h_xrcd != nullptr ? this : nullptr), reports(its) {}
    ~shared_receives() = default;
    shared_receives(const shared_receives&) = delete;
    shared_receives& operator=(const shared_receives&) = delete;

    static shared_receives& of(const HCA_SRQ* srq) {
        return *static_cast<shared_receives*>(srq->Extension);
    }

    // ---- of a queue with an XRC domain
    const IB_XRCD* domain() const override { return shared->Create.h_xrcd; }
    bool complete(const IB_WC& entry) override;
    void report_limit() override;

    HCA_SRQ* const shared;
    registered_memory memory;
    transport::shared_receive_queue queue;
    receive_reports reports;
};

/// Shared receive queues with an XRC domain, by IB_SRQ.Num.
using srq_table = number_table<shared_receives>;

NTSTATUS create_srq(HCA_SRQ* srq, CI_UDATA* user, PIRP irp);
NTSTATUS destroy_srq(HCA_SRQ* srq, CI_UDATA* user, PIRP irp);
NTSTATUS modify_srq(HCA_SRQ* srq, const ib_srq_mod_t* modify, CI_UDATA* user, PIRP irp);
NTSTATUS query_srq(HCA_SRQ* srq, ib_srq_attr_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp);

/// The last step of destroy_srq.
void end_srq(const HCA_SRQ* srq);

NTSTATUS allocate_xrcd(HCA_XRCD* xrcd, CI_UDATA* user, PIRP irp);
NTSTATUS deallocate_xrcd(HCA_XRCD* xrcd, CI_UDATA* user, PIRP irp);

} // namespace irpverbs::hca_software
