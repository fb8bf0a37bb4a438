// Random programs of work requests, and their execution by libibverbs or by the verbs of the
// channel interface. An execution returns lines of text, which are compared.
#pragma once

#include <ci/data_path.h>
#include <dispatch/testing/choices.hpp>

#include <infiniband/verbs.h>

#include <array>
#include <string>
#include <vector>

namespace irpverbs::testing {

/// A work request of a send queue, without the addresses and keys of an execution.
struct drawn_request {
    enum fault_kind { none, wrong_lkey, wrong_rkey, beyond_region, misaligned, many_segments };

    ib_wr_type_t type;
    ib_send_opt_t options;
    ULONG length;
    ULONG offset; // in the memory of either end
    fault_kind fault;
};

struct drawn_step {
    enum kind { receives, sends, flush, drain };

    kind what;
    unsigned end; // 0 or 1
    std::vector<drawn_request> requests;
    std::vector<ULONG> lengths; // of receives
};

/// Two queue pairs of the type execute the steps, until a work request fails. Unless the type is
/// reliable, all that is sent arrives: what is dropped has no completion that could be waited for.
std::vector<drawn_step> draw_program(dispatch::choices& from, ib_qp_type_t type);

/// Two connected queue pairs with memory, by one of the two interfaces. Results of calls are an
/// errno.
class transfer_subject {
public:
    static constexpr ULONG memory_size = 4096;
    static constexpr ULONG depth = 8;
    static constexpr ULONG segments = 2; // of a work request
    static constexpr ULONG max_inline = 64;
    static constexpr int queue_size = 256;
    static constexpr ULONG first_psn = 0xFFFFF0;
    static constexpr ULONG qkey = 0x1234;
    static constexpr UCHAR rnr_retries = 1;
    static constexpr UCHAR retries = 3;
    static constexpr UCHAR ack_timeout = 15; // 134 ms, as the guest is slow

    explicit transfer_subject(ib_qp_type_t its_type) : type(its_type) {}
    virtual ~transfer_subject() = default;
    transfer_subject(const transfer_subject&) = delete;
    transfer_subject& operator=(const transfer_subject&) = delete;

    /// The peer of datagrams is set by this, without the address vector of `list`.
    virtual int post(unsigned end, ib_send_wr_t* list, ib_send_wr_t*& failed) = 0;
    virtual int post_receive(unsigned end, ib_recv_wr_t& what) = 0;
    virtual bool poll(unsigned end, IB_WC& entry) = 0;
    virtual int change_state(unsigned end, ibv_qp_state state) = 0;
    virtual ibv_qp_state state(unsigned end) = 0;
    /// Waits for the next event of the queue pair.
    virtual ibv_event_type next_event(unsigned end) = 0;
    virtual ULONG lkey(unsigned end) const = 0;
    virtual ULONG rkey(unsigned end) const = 0;
    virtual ULONG number(unsigned end) const = 0;

    std::array<UCHAR, memory_size>& memory(unsigned end) { return memory_[end]; }

    const ib_qp_type_t type;

private:
    std::array<std::array<UCHAR, memory_size>, 2> memory_ alignas(8){};
};

std::vector<std::string> execute(const std::vector<drawn_step>& program, transfer_subject& by);

} // namespace irpverbs::testing
