// A work request that passes straight through, as the message that its packets would have been.
#pragma once

#include "psn.hpp"
#include "scatter_gather.hpp"

#include <ci/completion.h>

namespace irpverbs::hca_software::transport {

// Words of 4 bytes. Source: IBA 9.2, 9.3.
inline constexpr ULONGLONG base_words = 3;
inline constexpr ULONGLONG rdma_words = 4;
inline constexpr ULONGLONG atomic_words = 7;
inline constexpr ULONGLONG acknowledge_words = 1;
inline constexpr ULONGLONG atomic_result_words = 2;
inline constexpr ULONGLONG immediate_words = 1;
inline constexpr ULONGLONG invalidate_words = 1;

/// Bytes, so that a message has less than half of the packet numbers.
inline constexpr ULONGLONG max_straight = ULONGLONG{psn::half - 1} * 256;

inline ULONGLONG words_of(ULONG bytes) { return (ULONGLONG{bytes} + 3) / 4; }

inline segments list_of(const ib_send_wr_t& what) { return {what.ds_array, what.num_ds}; }

inline bool is_option(const ib_send_wr_t& what, ib_send_opt_t which) {
    return (what.send_opt & which) != 0;
}

inline bool brings_immediate(const ib_send_wr_t& what) {
    return is_option(what, IB_SEND_OPT_IMMEDIATE);
}

inline bool brings_key(const ib_send_wr_t& what) {
    return is_option(what, IB_SEND_OPT_INVALIDATE) && !brings_immediate(what);
}

/// The options that the peer's completion shows.
inline constexpr ib_send_opt_t options_of_receive =
    IB_SEND_OPT_IMMEDIATE | IB_SEND_OPT_INVALIDATE | IB_SEND_OPT_SOLICITED;

inline void add_options(IB_WC& entry, const ib_send_wr_t& what) {
    if (brings_immediate(what)) {
        entry.Flags |= IB_WC_IMMEDIATE_PRESENT;
        entry.Immediate = what.immediate_data;
    }
    if (brings_key(what)) {
        entry.Flags |= IB_WC_INVALIDATED;
        entry.Immediate = what.invalidate_rkey;
    }
    if (is_option(what, IB_SEND_OPT_SOLICITED)) entry.Flags |= IB_WC_SOLICITED;
}

} // namespace irpverbs::hca_software::transport
