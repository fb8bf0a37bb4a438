// The subject of verbs_speed: an HCA of the rdma driver, and libibverbs itself on the same device
// and queues.
#pragma once

#include "queue_pair.hpp"

#include "attachment.hpp"

#include <hca/rdma/fake_umad.hpp>
#include <support/verbs.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace irpverbs::testing {

/// An attached and open device over one library, whose create_cq is intercepted to get its queues.
class speed_subject {
public:
    /// An empty name selects the scripted kernel.
    explicit speed_subject(const std::string& device) {
        if (device.empty()) use_fake();
        library_ = device.empty() ? fake_verbs::library() : hca_rdma::real_verbs;
        hooked_ = library_;
        hooked_.create_cq = create_cq_and_note;
        world_ = device.empty() ? fake_umad::as_os_interface() : hca_rdma::real_os;
        world_.verbs = &hooked_;
        NTSTATUS status = STATUS_UNSUCCESSFUL;
        std::string problem;
        made_ = hca_rdma::attachment::make(world_, device, status, problem);
        EXPECT_NE(made_, nullptr) << problem;
        ib_guid_t guid = 0;
        ULONG count = 1;
        HcaEnumerate(&guid, &count);
        ca_ = open_ca(HcaFromGuid(guid));
    }
    ~speed_subject() {
        EXPECT_EQ(close_ca(ca_), STATUS_SUCCESS);
        EXPECT_EQ(made_->refuse_opens(), STATUS_SUCCESS);
    }
    speed_subject(const speed_subject&) = delete;
    speed_subject& operator=(const speed_subject&) = delete;

    bool is_fake() const { return fake_.has_value(); }
    IB_CA* ca() const { return ca_; }
    static const hca_rdma::verbs_library& library() { return library_; }
    /// The libibverbs object of the latest queue.
    static ibv_cq* raw() { return latest_; }

    /// Puts entries into the latest queue, and waits until they have arrived.
    void complete(unsigned count) {
        if (fake_) {
            ibv_wc entry{};
            for (unsigned i = 0; i < count; ++i)
                fake_->verbs.complete(latest_.load()->cq_context, entry);
            return;
        }
        if (!sender_) sender_.emplace(latest_);
        for (unsigned i = 0; i < count; ++i)
            sender_->send(i);
    }
    void stop_completing() { sender_.reset(); }

private:
    void use_fake() {
        fake_.emplace();
        fake_->cas.clear();
        fake_->verbs.add("rxe0", 0x3000);
    }
    static ibv_cq* create_cq_and_note(ibv_context* context, int entries, void* cq_context,
                                      ibv_comp_channel* channel, int vector) {
        ibv_cq* const made = library_.create_cq(context, entries, cq_context, channel, vector);
        latest_ = made; // parallel creates overwrite it
        return made;
    }

    static inline std::atomic<ibv_cq*> latest_ = nullptr;
    static inline hca_rdma::verbs_library library_{};

    std::optional<fake_umad> fake_;
    hca_rdma::verbs_library hooked_{};
    hca_rdma::os_interface world_{};
    std::unique_ptr<hca_rdma::attachment> made_;
    IB_CA* ca_ = nullptr;
    std::optional<queue_pair> sender_;
};

} // namespace irpverbs::testing
