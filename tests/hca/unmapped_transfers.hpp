// Work requests whose memory was mapped for some time, and is not any more: the status of each use,
// at both ends. docs/decisions/unmapped-memory.md says which drivers have these.
#pragma once

#include "unmapped_region.hpp"

namespace irpverbs::testing {

/// A connection whose one end has a page to lend.
class lending_ends {
public:
    lending_ends(DEVICE_OBJECT* of_lender, DEVICE_OBJECT* of_peer)
        : lender(of_lender), peer(of_peer) {
        lender.connect(peer);
        peer.connect(lender);
    }

    connected_end lender;
    connected_end peer;
    lent_page page{lender.pd()};

    ib_local_ds_t segment{page.address(), 8, page.key};
    std::array<ib_local_ds_t, 2> two_segments{{{lender.address(), 8, lender.key()}, segment}};

    /// The lender's work request, with the page as its own memory.
    ib_send_wr_t from_page(ib_wr_type_t type) {
        ib_send_wr_t made = type == WR_SEND ? lender.send(1, 8) : lender.remote(type, 1, peer, 8);
        made.ds_array = &segment;
        return made;
    }
    /// The peer's, with the page as its remote memory.
    ib_send_wr_t to_page(ib_wr_type_t type) {
        ib_send_wr_t made = peer.remote(type, 1, lender, 8);
        made.remote_ops.vaddr = page.address();
        made.remote_ops.rkey = page.key;
        return made;
    }
    void post_receive_in_page(ULONG segments) {
        ib_recv_wr_t receive{nullptr, 2, segments == 1 ? &segment : two_segments.data(), segments};
        EXPECT_EQ(CiPostRecv(lender.qp, &receive, nullptr), STATUS_SUCCESS);
    }
    /// The last 8 bytes of the message are a number.
    void send_to_page(ULONG segments, ULONGLONG number) {
        reinterpret_cast<ULONGLONG*>(peer.bytes().data())[segments - 1] = number;
        EXPECT_EQ(peer.post(peer.send(1, 8 * segments)), STATUS_SUCCESS);
    }
};

inline const ib_wr_type_t remote_operations[] = {WR_RDMA_WRITE, WR_RDMA_READ, WR_FETCH_ADD,
                                                 WR_COMPARE_SWAP};

inline void expect_local_errors(DEVICE_OBJECT* of_lender, DEVICE_OBJECT* of_peer) {
    for (const ib_wr_type_t type :
         {WR_SEND, WR_RDMA_WRITE, WR_RDMA_READ, WR_FETCH_ADD, WR_COMPARE_SWAP}) {
        lending_ends ends(of_lender, of_peer);
        for (const ULONG status : {IB_WC_SUCCESS, IB_WC_LOCAL_PROTECTION_ERROR}) {
            if (type == WR_SEND) {
                EXPECT_EQ(ends.peer.post_receive(2, 8), STATUS_SUCCESS);
            }
            if (status != IB_WC_SUCCESS) ends.page.unmap();
            EXPECT_EQ(ends.lender.post(ends.from_page(type)), STATUS_SUCCESS);
            EXPECT_EQ(ends.lender.next().Status, status) << type;
        }
    }
}

inline void expect_remote_errors(DEVICE_OBJECT* of_lender, DEVICE_OBJECT* of_peer) {
    for (const ib_wr_type_t type : remote_operations) {
        lending_ends ends(of_lender, of_peer);
        for (const ULONG status : {IB_WC_SUCCESS, IB_WC_REMOTE_ACCESS_ERROR}) {
            if (status != IB_WC_SUCCESS) ends.page.unmap();
            EXPECT_EQ(ends.peer.post(ends.to_page(type)), STATUS_SUCCESS);
            EXPECT_EQ(ends.peer.next().Status, status) << type;
        }
    }
}

/// Several messages have arrived in the page before.
inline void expect_receive_errors(DEVICE_OBJECT* of_lender, DEVICE_OBJECT* of_peer) {
    for (const ULONG segments : {1u, 2u}) {
        lending_ends ends(of_lender, of_peer);
        for (ULONGLONG i = 1; i < 6; ++i) {
            ends.post_receive_in_page(segments);
            ends.send_to_page(segments, i);
            EXPECT_EQ(ends.peer.next().Status, ULONG{IB_WC_SUCCESS});
            EXPECT_EQ(ends.lender.next().Status, ULONG{IB_WC_SUCCESS});
            EXPECT_EQ(ends.page.number(), i);
        }
        ends.post_receive_in_page(segments);
        ends.page.unmap();
        ends.send_to_page(segments, 6);
        EXPECT_EQ(ends.peer.next().Status, ULONG{IB_WC_REMOTE_OPERATION_ERROR});
        EXPECT_EQ(ends.lender.next().Status, ULONG{IB_WC_LOCAL_PROTECTION_ERROR});
    }
}

} // namespace irpverbs::testing
