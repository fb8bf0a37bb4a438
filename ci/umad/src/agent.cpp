#include "agent.hpp"

#include "address.hpp"
#include "port_file.hpp"

#include <drop_in/verb_call.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

namespace irpverbs::umad {

namespace {

// They wait where the HCA is in another process. A window of 64 segments of each of 64 transfers.
constexpr ULONG most_datagrams_waiting = 4096;
constexpr std::uint8_t rmpp_version = 1;
constexpr std::uint8_t versions = 8; // the kernel has classes of versions below

/// A datagram on its way through the port; its IRP's completion deletes it.
struct send_request {
    mad datagram;
    IB_MAD_SEND what{};
    IRP* irp = nullptr;

    static NTSTATUS completed(DEVICE_OBJECT*, IRP* irp, void* context) {
        delete static_cast<send_request*>(context);
        IoFreeIrp(irp);
        return STATUS_MORE_PROCESSING_REQUIRED;
    }
};

} // namespace

int parse_registration(const umad_reg_attr& wanted, registration& parsed) {
    constexpr std::uint32_t known_flags = UMAD_USER_RMPP;
    const bool oui = has_oui(wanted.mgmt_class);
    if ((wanted.flags & ~known_flags) != 0 || wanted.mgmt_class == 0 ||
        wanted.mgmt_class_version >= versions || wanted.rmpp_version > rmpp_version ||
        (wanted.rmpp_version != 0 && !may_segment(wanted.mgmt_class)) ||
        (oui && (wanted.oui == 0 || wanted.oui > 0xFFFFFF)))
        return EINVAL;
    parsed = {};
    parsed.segments = wanted.rmpp_version != 0 && (wanted.flags & UMAD_USER_RMPP) == 0;
    parsed.attr.ManagementClass = wanted.mgmt_class;
    parsed.attr.ClassVersion = wanted.mgmt_class_version;
    parsed.attr.ReceiveLimit = most_datagrams_waiting;
    for (int i = 0; oui && i < 3; ++i)
        parsed.attr.Oui[i] = static_cast<UCHAR>(wanted.oui >> (16 - 8 * i));
    for (int i = 0; i < 4; ++i)
        parsed.attr.MethodMask[i] = static_cast<ULONG>(wanted.method_mask[i / 2] >> (i % 2 * 32));
    return 0;
}

agent::agent(port_file& file, std::uint32_t id, bool segments) : file_(file), id_(id) {
    ExInitializeRundownProtection(&sends_);
    traffic.emplace(*this, segments);
}

int agent::start(const drop_in::open_hca& hca, const registration& wanted) {
    const IB_MAD_DISPATCH up_calls{received};
    const drop_in::verb_result result = drop_in::call_verb(hca.fdo(), [&](IRP* irp) {
        CiRegisterMadAgent(hca.ca(), &wanted.attr, this, &up_calls, irp);
    });
    if (!NT_SUCCESS(result.status)) return drop_in::error_of(result.status);
    handle_.store(reinterpret_cast<IB_MAD_AGENT*>(result.information), std::memory_order_release);
    return 0;
}

void agent::stop(const drop_in::open_hca& hca) {
    ExWaitForRundownProtectionRelease(&sends_);
    IB_MAD_AGENT* const handle = handle_.load(std::memory_order_acquire);
    if (handle == nullptr) return;
    drop_in::call_verb(hca.fdo(), [=](IRP* irp) { CiDeregisterMadAgent(handle, irp); });
}

int agent::send(const drop_in::open_hca& hca, const ib_mad_addr_t& to, const mad& datagram,
                std::uint32_t timeout_ms) {
    IB_MAD_AGENT* const handle = handle_.load(std::memory_order_acquire);
    auto request = std::unique_ptr<send_request>(new (std::nothrow) send_request{datagram});
    IRP* const irp = IoAllocateIrp(hca.fdo()->StackSize, FALSE);
    if (handle == nullptr || request == nullptr || irp == nullptr) {
        if (irp != nullptr) IoFreeIrp(irp);
        return handle == nullptr ? EINVAL : ENOMEM;
    }
    send_request* const sent = request.release();
    sent->what = {address_of(to), sent->datagram.data(), mad_size, timeout_ms};
    IoSetCompletionRoutine(irp, send_request::completed, sent, TRUE, TRUE, TRUE);
    return drop_in::error_of(CiSendMad(handle, &sent->what, irp));
}

void agent::emit(const ib_mad_addr_t& to, const mad& datagram, std::uint32_t timeout_ms) {
    file_.emit(*this, to, datagram, timeout_ms);
}

void agent::deliver(std::uint32_t status, const ib_mad_addr_t& peer,
                    std::span<const std::uint8_t> content) {
    file_.deliver(id_, status, peer, content);
}

deadlines& agent::timers() { return file_.timers(); }

std::int64_t agent::now_ms() { return port_file::now_ms(); }

void agent::received(IB_MAD_AGENT*, void* context, const IB_MAD_RECEIVED* what) {
    auto& self = *static_cast<agent*>(context);
    mad datagram{};
    std::memcpy(datagram.data(), what->Data, std::min<std::size_t>(what->Length, mad_size));
    self.file_.received(self, address_of(what->From), datagram);
}

} // namespace irpverbs::umad
