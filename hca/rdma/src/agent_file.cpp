#include "agent_file.hpp"

#include "failure.hpp"
#include "mad_message.hpp"

#include <algorithm>
#include <cerrno>
#include <new>

namespace irpverbs::hca_rdma {

namespace {

// The maximum per call of the reactor, which serves other descriptors as well.
constexpr int max_datagrams_per_call = 64;

constexpr int max_tries = 50; // tries of a send, a millisecond apart

constexpr ULONGLONG longest_failing = 10ull * 10'000'000; // failing receives, 10 s

// The buffer has this size between calls; the memory of a longer message is freed.
constexpr std::size_t usual_buffer_size = umad_header_size + 4 * IB_MAD_SIZE;

NTSTATUS open_failure(int result) {
    if (result != -EIO) return STATUS_NOT_SUPPORTED; // the port has no umad device
    switch (errno) {
    case EACCES:
    case EPERM:
        return STATUS_ACCESS_DENIED;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return STATUS_INSUFFICIENT_RESOURCES;
    default:
        return STATUS_NOT_SUPPORTED;
    }
}

void wait_a_millisecond() {
    LARGE_INTEGER interval;
    interval.QuadPart = -10'000;
    KeDelayExecutionThread(KernelMode, FALSE, &interval);
}

bool receives_requests(const IB_MAD_AGENT_ATTR& attr) {
    ULONG any = 0;
    for (const ULONG each : attr.MethodMask)
        any |= each;
    return any != 0;
}

// An OUI of no vendor: the kernel refuses OUI 0. An agent with this OUI receives no requests;
// responses are not distinguished by their OUI.
constexpr std::uint32_t oui_of_senders = 0xFFFFFF;

std::uint32_t oui_of(const IB_MAD_AGENT_ATTR& attr) {
    return static_cast<std::uint32_t>(attr.Oui[0] << 16 | attr.Oui[1] << 8 | attr.Oui[2]);
}

// Refuses a registration that the kernel would refuse without a reason.
NTSTATUS check_class(const port_limits& port, const IB_MAD_AGENT_ATTR& attr) {
    if (is_subnet_management(attr.ManagementClass) && !port.infiniband) return STATUS_NOT_SUPPORTED;
    if (attr.Rmpp == IB_MAD_RMPP_BY_DRIVER && !has_rmpp(attr.ManagementClass))
        return STATUS_NOT_SUPPORTED;
    const bool any_oui = IbClassHasOui(attr.ManagementClass) && oui_of(attr) == 0;
    return any_oui && receives_requests(attr) ? STATUS_NOT_SUPPORTED : STATUS_SUCCESS;
}

umad_reg_attr registration_of(const IB_MAD_AGENT_ATTR& attr, bool rmpp, ULONG flags) {
    umad_reg_attr wanted{};
    wanted.mgmt_class = attr.ManagementClass;
    wanted.mgmt_class_version = attr.ClassVersion;
    wanted.flags = flags;
    for (int i = 0; i < 2; ++i)
        wanted.method_mask[i] =
            attr.MethodMask[2 * i] | static_cast<std::uint64_t>(attr.MethodMask[2 * i + 1]) << 32;
    wanted.oui = oui_of(attr);
    if (wanted.oui == 0 && IbClassHasOui(attr.ManagementClass)) wanted.oui = oui_of_senders;
    wanted.rmpp_version = rmpp ? rmpp_version : 0;
    return wanted;
}

} // namespace

NTSTATUS agent_file::open(const os_interface& os, const char* ca_name, const port_limits& port,
                          HCA_MAD_AGENT& agent, std::unique_ptr<agent_file>& made) {
    const IB_MAD_AGENT_ATTR& attr = agent.Agent.Attr;
    if (const NTSTATUS status = check_class(port, attr); !NT_SUCCESS(status)) return status;
    const int descriptor = os.open_port(ca_name, attr.PortNumber);
    if (descriptor < 0) return open_failure(descriptor);
    made.reset(new agent_file(os, port, agent, descriptor));
    NTSTATUS status = made->register_agent();
    if (NT_SUCCESS(status)) status = made->watch();
    if (!NT_SUCCESS(status)) made.reset();
    return status;
}

agent_file::agent_file(const os_interface& os, const port_limits& port, HCA_MAD_AGENT& agent,
                       int descriptor)
    : os_(os), port_(port), agent_(agent), descriptor_(descriptor), buffer_(usual_buffer_size) {}

agent_file::~agent_file() {
    watch_.reset();
    os_.close_port(descriptor_);
}

NTSTATUS agent_file::register_agent() {
    // Kernels before 2.6.24 have a shorter header, without a P_Key index.
    if (os_.header_size() != umad_header_size) return STATUS_NOT_SUPPORTED;
    const bool kernel_rmpp = attr().Rmpp == IB_MAD_RMPP_BY_DRIVER;
    const bool raw = !kernel_rmpp && has_rmpp(attr().ManagementClass);
    const int error = try_register(kernel_rmpp || raw, raw ? UMAD_USER_RMPP : 0);
    if (error == 0) return STATUS_SUCCESS;
    if (error == ENOMEM) return STATUS_INSUFFICIENT_RESOURCES;
    if (error != EINVAL) return STATUS_NOT_SUPPORTED;
    // A kernel that does not know the flag may return the same error as for a conflict.
    if (raw && try_register(true, 0) == 0) return STATUS_NOT_SUPPORTED;
    return receives_requests(attr()) ? STATUS_SHARING_VIOLATION : STATUS_NOT_SUPPORTED;
}

// Returns an errno, or 0.
int agent_file::try_register(bool rmpp, ULONG flags) {
    umad_reg_attr wanted = registration_of(attr(), rmpp, flags);
    std::uint32_t id = 0;
    const int error = os_.register_agent(descriptor_, &wanted, &id);
    id_ = static_cast<int>(id);
    return error;
}

NTSTATUS agent_file::watch() {
    watch_ = os_.watch(
        descriptor_, [](void* self) { return static_cast<agent_file*>(self)->read(); }, this);
    return watch_ != nullptr ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED;
}

// ---- sending

NTSTATUS agent_file::check(const IB_MAD_SEND& what) const {
    const bool has_grh = (what.To.Flags & IB_MAD_GRH) != 0;
    const UCHAR sent = class_of({static_cast<const UCHAR*>(what.Data), what.Length});
    const UCHAR own = attr().ManagementClass;
    const bool good = (sent == own || (is_subnet_management(sent) && is_subnet_management(own))) &&
                      what.To.PKeyIndex < port_.pkeys &&
                      (has_grh ? what.To.GidIndex < port_.gids : port_.infiniband);
    return good ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS agent_file::send(const IB_MAD_SEND& what) {
    if (const NTSTATUS status = check(what); !NT_SUCCESS(status)) return status;
    outgoing made(what, attr().Rmpp == IB_MAD_RMPP_BY_DRIVER);
    NTSTATUS status = transmit(made.message());
    // The kernel refuses also a transaction whose previous request has not left yet. On Ethernet,
    // where that takes longest, a work item has time to try again.
    const int most = port_.infiniband ? 1 : max_tries;
    for (int tries = 1; status == STATUS_INVALID_PARAMETER && tries < most; ++tries) {
        wait_a_millisecond();
        status = transmit(made.message());
    }
    return status;
}

int agent_file::write(std::span<UCHAR> message) {
    const ib_user_mad_t& header = header_of(message);
    const int length = static_cast<int>(datagram_of(message).size());
    const int result =
        os_.send(descriptor_, id_, message.data(), length, static_cast<int>(header.timeout_ms),
                 static_cast<int>(header.retries));
    return result == 0 ? 0 : errno;
}

// Returns an errno, or 0 if the request was sent or is held.
int agent_file::send_request(std::span<UCHAR> message, bool& repeated) {
    const std::uint32_t transaction = transaction_of(datagram_of(message));
    if (const int error = outstanding_.begin(transaction, header_of(message).timeout_ms, repeated);
        error != 0)
        return error;
    const int error = write(message);
    if (error == 0) return 0;
    if (error == EINVAL) return outstanding_.hold(transaction, message);
    outstanding_.remove(transaction);
    return error;
}

NTSTATUS agent_file::transmit(std::span<UCHAR> message) {
    if (header_of(message).timeout_ms == 0 || is_response(datagram_of(message)))
        return failure(write(message));
    bool repeated = false;
    int error = send_request(message, repeated);
    // The request in progress may have ended between the kernel's refusal and this look-up.
    if (error == EINVAL && repeated) error = send_request(message, repeated);
    return failure(error);
}

NTSTATUS agent_file::failure(int error) {
    switch (error) {
    case 0:
    case ETIMEDOUT: // no route to the destination: the datagram is lost
    case EHOSTUNREACH:
    case ENETUNREACH:
        return STATUS_SUCCESS;
    case ENOMEM:
    case ENOBUFS:
    case EAGAIN:
        return STATUS_INSUFFICIENT_RESOURCES;
    case EIO:
    case ENODEV:
        HcaReportFatal(agent_.Ca->Device);
        return STATUS_FILE_FORCED_CLOSED;
    default:
        return STATUS_INVALID_PARAMETER;
    }
}

// ---- receiving

// Runs on the reactor. Returns false to end the watch.
bool agent_file::read() {
    for (int i = 0; i < max_datagrams_per_call; ++i) {
        int length = static_cast<int>(buffer_.size() - umad_header_size);
        errno = 0;
        if (os_.receive(descriptor_, buffer_.data(), &length, 0) >= 0) {
            failing_since_ = 0;
            // The length is negative if the kernel returned less than a header.
            received(std::span(buffer_).first(umad_header_size +
                                              static_cast<std::size_t>(std::max(length, 0))));
            shrink_buffer();
            continue;
        }
        const int error = errno;
        if (error == EAGAIN) {
            failing_since_ = 0;
            return true;
        }
        if (error == EINTR || (error == ENOSPC && make_room(length))) continue;
        if (may_recover(error)) return true; // the reactor calls again
        HcaReportFatal(agent_.Ca->Device);
        return false;
    }
    return true;
}

// A lack of memory passes, and the fault of one message passes with it. If failures last, the
// device is unusable and would keep the reactor busy.
bool agent_file::may_recover(int error) {
    if (is_gone(error)) return false;
    const ULONGLONG now = KeQueryInterruptTime();
    if (failing_since_ == 0) failing_since_ = now;
    return now - failing_since_ < longest_failing;
}

void agent_file::shrink_buffer() {
    if (buffer_.size() == usual_buffer_size) return;
    buffer_.resize(usual_buffer_size);
    try {
        buffer_.shrink_to_fit();
    } catch (const std::bad_alloc&) { // the buffer keeps its size
    }
}

// Returns false if there is no memory; then the message can't be skipped.
bool agent_file::make_room(int length) {
    const std::size_t wanted = umad_header_size + static_cast<std::size_t>(std::max(length, 0));
    if (wanted <= buffer_.size()) return false;
    try {
        buffer_.resize(wanted);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

void agent_file::received(std::span<UCHAR> message) {
    const std::span<UCHAR> datagram = datagram_of(message);
    if (datagram.size() < IB_MAD_HEADER_SIZE) return;
    const ib_user_mad_t& header = header_of(message);
    if (header.status != 0) { // the agent's own request, given up by the kernel
        if (is_response(datagram)) return;
        outstanding_requests::message again = outstanding_.on_timeout(transaction_of(datagram));
        if (!again.empty()) transmit(again); // a failed send counts as a lost datagram
        return;
    }
    if (is_response(datagram)) outstanding_.on_response(transaction_of(datagram));
    IB_MAD_RECEIVED mad{};
    mad.From = sender_of(header.addr);
    mad.Data = datagram.data();
    mad.Length = static_cast<ULONG>(datagram.size());
    HcaReportMad(&agent_, &mad);
}

} // namespace irpverbs::hca_rdma
