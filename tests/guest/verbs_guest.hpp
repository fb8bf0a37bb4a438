// HCAs of the rdma driver's verbs side in the guest, and the fixture of their tests.
#pragma once

#include "queue_pair.hpp"

#include "attachment.hpp"

#include <hca/mad_client.hpp>
#include <support/both_machines.hpp>

#include <hca/rdma.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace irpverbs::testing {

inline void shell(const std::string& command) {
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

/// The driver over the real libibverbs; ibv_create_cq is intercepted to get the queues.
class listening {
public:
    static ibv_cq* latest() { return latest_; }
    static const hca_rdma::os_interface& world() {
        static const hca_rdma::verbs_library verbs = [] {
            hca_rdma::verbs_library made = hca_rdma::real_verbs;
            made.create_cq = create_cq;
            return made;
        }();
        static const hca_rdma::os_interface all = [] {
            hca_rdma::os_interface made = hca_rdma::real_os;
            made.verbs = &verbs;
            return made;
        }();
        return all;
    }

private:
    static ibv_cq* create_cq(ibv_context* context, int entries, void* cq_context,
                             ibv_comp_channel* channel, int vector) {
        ibv_cq* const made = ibv_create_cq(context, entries, cq_context, channel, vector);
        latest_ = made; // parallel creates overwrite it
        return made;
    }
    static inline std::atomic<ibv_cq*> latest_ = nullptr;
};

/// The HCA of a kernel device.
class device {
public:
    explicit device(const char* name, ULONG poll_interval = 20)
        : made_(hca_rdma::attachment::make(listening::world(), name, status_, problem_)) {
        EXPECT_NE(made_, nullptr) << problem_;
        ULONG count = 1;
        EXPECT_EQ(HcaEnumerate(&guid_, &count), STATUS_SUCCESS);
        EXPECT_EQ(HcaRdmaSetPollInterval(guid_, poll_interval), STATUS_SUCCESS);
    }
    ~device() { EXPECT_EQ(made_->refuse_opens(), STATUS_SUCCESS); }
    device(const device&) = delete;
    device& operator=(const device&) = delete;

    DEVICE_OBJECT* fdo() const { return HcaFromGuid(guid_); }

private:
    NTSTATUS status_ = STATUS_UNSUCCESSFUL;
    std::string problem_;
    std::unique_ptr<hca_rdma::attachment> made_;
    ib_guid_t guid_ = 0;
};

struct destroyed_at_the_end {
    ~destroyed_at_the_end() { EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS); }
    operator IB_CQ*() const { return cq; }
    IB_CQ* cq;
};

class VerbsGuest : public ::testing::Test {
protected:
    static auto waiting_for_port(IB_CA* ca) {
        return [=](IRP* irp) { return CiGetCaPortEvent(ca, 1, irp); };
    }
    static auto waiting_for_end(IB_CA* ca) {
        return [=](IRP* irp) { return CiGetCaFatalEvent(ca, irp); };
    }
    static auto waiting_for_completion(IB_CQ* cq) {
        return [=](IRP* irp) { return CiGetCqCompEvent(cq, irp); };
    }
    static auto waiting_for_error(IB_CQ* cq) {
        return [=](IRP* irp) { return CiGetCqAsyncEvent(cq, irp); };
    }
    static auto arming(IB_CQ* cq) {
        return [=](IRP* irp) { return CiArmCq(cq, IB_CQ_ARM_NEXT, irp); };
    }
    static ULONG_PTR next_event(IB_CA* ca) {
        verb_call waiting(waiting_for_port(ca));
        EXPECT_STREQ(name_of(waiting.status()), "STATUS_SUCCESS");
        return waiting.information();
    }
    // Skips other events, since rxe raises some of them more than once.
    static void await(IB_CA* ca, IB_ASYNC_EVENT event) {
        for (int others = 0; others < 16; ++others)
            if (next_event(ca) == static_cast<ULONG_PTR>(event)) return;
        ADD_FAILURE() << "no event " << event;
    }
    static bool has_gid(IB_CA* ca, const ib_gid_t& wanted) {
        const port_block port(ca, 1);
        const std::span all(IbPortGid(&*port, 0), port->GidCount);
        return std::ranges::any_of(all, [&](const ib_gid_t& each) {
            return each.gid_prefix == wanted.gid_prefix && each.gid_guid == wanted.gid_guid;
        });
    }
    static void await_gid(IB_CA* ca, const ib_gid_t& which, bool there) {
        do
            await(ca, IB_AE_GID_CHANGE);
        while (has_gid(ca, which) != there && !HasFailure());
        EXPECT_EQ(has_gid(ca, which), there);
    }
    // Creates queues, four at a time, until one fails because the device is gone.
    static void create_until_the_end(IB_CA* ca) {
        NTSTATUS last = STATUS_SUCCESS;
        for (int rounds = 0; rounds < 10'000 && last == STATUS_SUCCESS; ++rounds) {
            std::vector<verb_call> creates(4);
            for (verb_call& each : creates)
                each.send(
                    [=](IRP* irp) { return CiCreateCq(ca, 1024, nullptr, nullptr, nullptr, irp); });
            for (verb_call& each : creates) {
                last = each.status();
                if (last != STATUS_SUCCESS) continue;
                EXPECT_EQ(destroy_cq(each.object<IB_CQ>()), STATUS_SUCCESS);
            }
        }
        EXPECT_STREQ(name_of(last), "STATUS_FILE_FORCED_CLOSED");
    }
    static std::vector<std::uint64_t> poll(IB_CQ* cq) {
        std::vector<IB_WC> entries(64);
        verb_call call([&](IRP* irp) { return CiPollCq(cq, 64, entries.data(), irp); });
        EXPECT_STREQ(name_of(call.status()), "STATUS_SUCCESS");
        std::vector<std::uint64_t> ids;
        for (ULONG_PTR i = 0; i < call.information(); ++i)
            ids.push_back(entries[i].WrId);
        return ids;
    }

    dispatch::asio_machine machine{{.processors = 2}};
    dispatch::machine::scope inside{machine};
};

} // namespace irpverbs::testing
