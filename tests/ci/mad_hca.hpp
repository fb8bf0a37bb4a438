// An HCA that passes datagrams only to the test, and an agent on it.
#pragma once

#include "fake_hca.hpp"

#include <support/verbs.hpp>

#include <utility>
#include <vector>

namespace irpverbs::testing {

inline IB_MAD_AGENT_ATTR performance_agent() {
    IB_MAD_AGENT_ATTR attr{};
    attr.PortNumber = 1;
    attr.ManagementClass = 4;
    attr.ClassVersion = 1;
    return attr;
}

/// An HCA whose agents the test drives directly.
struct mad_hca : fake_hca {
    mad_hca() {
        operations.RegisterMadAgent = [](HCA_MAD_AGENT*, IRP*) { return STATUS_SUCCESS; };
        operations.SendMad = [](HCA_MAD_AGENT* agent, const IB_MAD_SEND* send, IRP*) {
            auto& self = static_cast<mad_hca&>(of(agent->Ca->Device));
            self.sent.push_back(static_cast<const UCHAR*>(send->Data)[0]);
            return STATUS_SUCCESS;
        };
        ca = open_ca(fdo);
    }
    ~mad_hca() { EXPECT_EQ(close_ca(ca), STATUS_SUCCESS); }

    IB_CA* ca = nullptr;
    std::vector<UCHAR> sent;
};

struct agent_scope {
    explicit agent_scope(const mad_hca& hca, const IB_MAD_AGENT_ATTR& attr = performance_agent(),
                         const IB_MAD_DISPATCH* calls = nullptr, void* context = nullptr) {
        verb_call make(
            [&](IRP* irp) { return CiRegisterMadAgent(hca.ca, &attr, context, calls, irp); });
        EXPECT_STREQ(name_of(make.status()), "STATUS_SUCCESS");
        agent = make.object<IB_MAD_AGENT>();
    }
    ~agent_scope() { EXPECT_EQ(deregister(), STATUS_SUCCESS); }
    agent_scope(const agent_scope&) = delete;
    agent_scope& operator=(const agent_scope&) = delete;

    NTSTATUS deregister() {
        if (agent == nullptr) return STATUS_SUCCESS;
        IB_MAD_AGENT* last = std::exchange(agent, nullptr);
        return verb_call([&](IRP* irp) { return CiDeregisterMadAgent(last, irp); }).status();
    }
    void report(UCHAR first, ULONG length = IB_MAD_SIZE) const {
        std::vector<UCHAR> bytes(length);
        bytes[0] = first;
        IB_MAD_RECEIVED received{};
        received.From.Lid = 7;
        received.Data = bytes.data();
        received.Length = length;
        HcaReportMad(reinterpret_cast<HCA_MAD_AGENT*>(agent), &received);
    }

    IB_MAD_AGENT* agent = nullptr;
};

} // namespace irpverbs::testing
