// Connected queue pairs of a case, and their transfers.
#pragma once

#include "queue_pairs.hpp"

#include <ci/data_path.h>

#include <array>
#include <vector>

namespace irpverbs::conformance {

/// One of two queue pairs of one HCA, with queues and memory of its own.
class transfer_end {
public:
    static constexpr ULONG size = 8192; // bytes of its memory
    static constexpr ULONG first_psn = 0xFFFFF0;

    transfer_end(const ca& opened, const pd& domain, ib_qp_type_t type, IB_SRQ* shared = nullptr);

    /// To another of the same HCA, over its own port.
    void connect(const transfer_end& peer, const ci::rts_attributes& with = {.sq_psn = first_psn});

    // ---- work requests on its memory; segments are valid until the next one
    ib_send_wr_t request(ib_wr_type_t type, ULONGLONG wr_id, ULONG length = 64);
    ib_send_wr_t remote(ib_wr_type_t type, ULONGLONG wr_id, const transfer_end& on,
                        ULONG length = 64);
    /// Skips the case when the driver does not have the posts, or the HCA carries nothing.
    void skip_without_posts() const;
    /// Skips the case as skip_without_posts does.
    void post(ib_send_wr_t what) const;
    void post_receive(ULONGLONG wr_id, ULONG length = 64);
    void post_shared_receive(IB_SRQ* to, ULONGLONG wr_id, ULONG length = 64);

    /// Waits for the next completion.
    IB_WC next() const;
    IB_WC expect(ULONGLONG wr_id, ULONG status = IB_WC_SUCCESS) const;
    void expect_none() const;

    ib_qp_type_t type;
    cq queue;
    std::array<UCHAR, size> memory alignas(8){};
    mr region;
    qp pair;

    ULONGLONG address() const {
        return static_cast<ULONGLONG>(reinterpret_cast<std::uintptr_t>(memory.data()));
    }

private:
    IB_CA* ca_;
    ib_local_ds_t segment_{};
};

/// Waits for the next completion of a queue.
IB_WC next_completion(IB_CQ* queue);

/// Connects a queue pair with one of the same HCA, over its own port.
void connect_queue_pair(IB_CA* of, const qp& pair, ib_qp_type_t type, ib_qpn_t peer,
                        const ci::rts_attributes& with = {.sq_psn = transfer_end::first_psn});

/// Two connected queue pairs.
struct transfer_scene {
    explicit transfer_scene(const world& here, ib_qp_type_t type = IB_QPT_RELIABLE_CONN);

    ca opened;
    pd domain{opened};
    transfer_end one;
    transfer_end other;
};

/// True for the kernel's soft-RoCE, which departs from the IBA.
bool is_rxe(const world& here);

/// The status that this HCA reports: `iba`, or on soft-RoCE `rxe`. docs/conformance.md
/// lists all differences.
ULONG status_here(const world& here, ULONG iba, ULONG rxe);

} // namespace irpverbs::conformance
