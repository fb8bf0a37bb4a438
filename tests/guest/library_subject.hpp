// A transfer_subject by libibverbs alone.
#pragma once

#include "transfer_program.hpp"

namespace irpverbs::testing {

class library_subject final : public transfer_subject {
public:
    library_subject(const std::string& device, ib_qp_type_t type);
    ~library_subject() override;
    library_subject(const library_subject&) = delete;
    library_subject& operator=(const library_subject&) = delete;

    int post(unsigned end, ib_send_wr_t* list, ib_send_wr_t*& failed) override;
    int post_receive(unsigned end, ib_recv_wr_t& what) override;
    bool poll(unsigned end, IB_WC& entry) override;
    int change_state(unsigned end, ibv_qp_state state) override;
    ibv_qp_state state(unsigned end) override;
    ibv_event_type next_event(unsigned end) override;
    ULONG lkey(unsigned end) const override { return regions_[end]->lkey; }
    ULONG rkey(unsigned end) const override { return regions_[end]->rkey; }
    ULONG number(unsigned end) const override { return pairs_[end]->qp_num; }

private:
    void connect(unsigned end);
    ibv_ah_attr way() const;

    ibv_context* context_ = nullptr;
    ibv_pd* domain_ = nullptr;
    std::array<ibv_cq*, 2> queues_{};
    std::array<ibv_mr*, 2> regions_{};
    std::array<ibv_qp*, 2> pairs_{};
    ibv_ah* own_port_ = nullptr; // of datagrams
};

} // namespace irpverbs::testing
