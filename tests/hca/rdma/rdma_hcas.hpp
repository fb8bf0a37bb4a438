// HCAs of the rdma driver over the fake kernel.
#pragma once

#include "fake_umad.hpp"

#include <support/verbs.hpp>

#include <ci/mad.h>
#include <hca/rdma.h>

namespace irpverbs::testing {

/// The HCAs of an attach, for the life of the scope.
class rdma_hcas {
public:
    explicit rdma_hcas(const std::string& name = "")
        : made_(hca_rdma::attachment::make(fake_umad::as_os_interface(), name, status, problem)) {}
    ~rdma_hcas() {
        if (made_ == nullptr) return;
        EXPECT_EQ(made_->refuse_opens(), STATUS_SUCCESS);
    }
    rdma_hcas(const rdma_hcas&) = delete;
    rdma_hcas& operator=(const rdma_hcas&) = delete;

    ULONG count() const { return made_ != nullptr ? made_->count() : 0; }
    static DEVICE_OBJECT* fdo(ib_guid_t guid = 0x1000) { return HcaFromGuid(guid); }
    NTSTATUS refuse_opens() const { return made_->refuse_opens(); }

    NTSTATUS status = STATUS_UNSUCCESSFUL;
    std::string problem;

private:
    std::unique_ptr<hca_rdma::attachment> made_;
};

/// One of these HCAs, open.
struct open_rdma {
    open_rdma() = default;
    ~open_rdma() { EXPECT_EQ(close_ca(ca), STATUS_SUCCESS); }
    open_rdma(const open_rdma&) = delete;
    open_rdma& operator=(const open_rdma&) = delete;

    rdma_hcas hcas;
    IB_CA* ca = open_ca(rdma_hcas::fdo());
};

inline IB_MAD_AGENT_ATTR sa_agent() {
    IB_MAD_AGENT_ATTR attr{};
    attr.PortNumber = 1;
    attr.ManagementClass = 3;
    attr.ClassVersion = 2;
    return attr;
}

class rdma_agent {
public:
    explicit rdma_agent(IB_CA* ca, const IB_MAD_AGENT_ATTR& attr = sa_agent(),
                        const IB_MAD_DISPATCH* calls = nullptr, void* context = nullptr) {
        verb_call made(
            [&](IRP* irp) { return CiRegisterMadAgent(ca, &attr, context, calls, irp); });
        status = made.status();
        if (NT_SUCCESS(status)) agent = made.object<IB_MAD_AGENT>();
    }
    ~rdma_agent() {
        if (agent == nullptr) return;
        EXPECT_EQ(verb_call([&](IRP* irp) { return CiDeregisterMadAgent(agent, irp); }).status(),
                  STATUS_SUCCESS);
    }
    rdma_agent(const rdma_agent&) = delete;
    rdma_agent& operator=(const rdma_agent&) = delete;

    auto sending(const IB_MAD_SEND& what) const {
        return [this, &what](IRP* irp) { return CiSendMad(agent, &what, irp); };
    }
    auto getting(IB_MAD_RECEIVE& into) const {
        return [this, &into](IRP* irp) { return CiGetMad(agent, &into, irp); };
    }
    NTSTATUS send(const IB_MAD_SEND& what) const { return verb_call(sending(what)).status(); }

    NTSTATUS status = STATUS_UNSUCCESSFUL;
    IB_MAD_AGENT* agent = nullptr;
};

/// A datagram of the SA's class, and its send parameters to LID 1.
struct sa_datagram {
    static constexpr UCHAR get = 0x01;
    static constexpr UCHAR get_response = 0x81;

    explicit sa_datagram(UCHAR method, UCHAR transaction = 1, ULONG response_timeout = 0)
        : bytes(IB_MAD_SIZE) {
        bytes[0] = 1;
        bytes[1] = 3;
        bytes[2] = 2;
        bytes[3] = method;
        bytes[15] = transaction;
        send.To.Lid = 1;
        send.To.Qp = 1;
        send.To.QKey = IB_QP1_QKEY;
        send.Data = bytes.data();
        send.Length = IB_MAD_SIZE;
        send.ResponseTimeout = response_timeout;
    }
    fake_umad::message message() const {
        fake_umad::message made;
        made.datagram = bytes;
        made.from.qpn = htobe32(1);
        return made;
    }
    std::vector<UCHAR> bytes;
    IB_MAD_SEND send{};
};

struct mad_buffer {
    explicit mad_buffer(ULONG size = IB_MAD_SIZE) : bytes(size) {
        receive.Data = bytes.data();
        receive.Size = size;
    }
    std::vector<UCHAR> bytes;
    IB_MAD_RECEIVE receive{};
};

} // namespace irpverbs::testing
