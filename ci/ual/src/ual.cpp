// The functions of ci/ual.h.
#include <ci/ual.h>

#include "listener.hpp"

#include <dispatch/machine.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace {

using irpverbs::ual::listener;
namespace detail = irpverbs::ci::detail;
namespace wire = irpverbs::ci::wire;

listener& listener_of(UAL* ual) { return *reinterpret_cast<listener*>(ual); }

void write_text(char* to, SIZE_T size, const std::string& text) {
    if (to == nullptr || size == 0) return;
    *std::copy_n(text.data(), std::min<std::size_t>(text.size(), size - 1), to) = '\0';
}

std::string path_or_default(const char* path) {
    return path != nullptr ? std::string(path) : detail::default_socket();
}

void set_default(ULONG& limit, ULONG value) {
    if (limit == 0) limit = value;
}

bool complete(const UAL_OPTIONS* given, UAL_OPTIONS& made) {
    UAL_OPTIONS_INIT(&made);
    if (given != nullptr && given->Size != sizeof(made)) return false;
    if (given != nullptr) made = *given;
    set_default(made.MaxConnections, 256);
    set_default(made.MaxObjects, 16384);
    set_default(made.MaxObjectsOfUser, 65536);
    set_default(made.MaxRequests, 4096);
    set_default(made.MaxWaits, 32768);
    set_default(made.MaxRingMemory, ULONG{256} << 20);
    set_default(made.MaxCommonMemory, 4096);
    set_default(made.IdleTurns, 256);
    return true;
}

// Returns the reason of a failure, or nothing and the text.
std::string ask_for_status(const std::string& path, std::string& text) {
    int error = 0;
    const detail::unique_descriptor socket = detail::connect_to(path, error);
    if (!socket) return path + ": " + std::strerror(error);
    const wire::hello hello{
        {wire::kind::hello, 0, {}, 0, 0}, wire::magic, wire::version, sizeof(void*)};
    const wire::header status{wire::kind::status, 0, {}, 0, 0};
    std::array<iovec, 1> first{{{const_cast<wire::hello*>(&hello), sizeof(hello)}}};
    std::array<iovec, 1> second{{{const_cast<wire::header*>(&status), sizeof(status)}}};
    std::vector<std::byte> buffer(wire::max_message);
    std::size_t size = 0;
    if (detail::send_message(socket.get(), first) == 0)
        size = detail::await_message(socket.get(), buffer, wire::patience).size;
    if (size == sizeof(wire::welcome) && detail::send_message(socket.get(), second) == 0)
        size = detail::await_message(socket.get(), buffer, wire::patience).size;
    else
        size = 0;
    if (size < sizeof(wire::header)) return path + ": no daemon of this version listens there";
    text.assign(reinterpret_cast<const char*>(buffer.data()) + sizeof(wire::header),
                size - sizeof(wire::header));
    return {};
}

} // namespace

extern "C" {

NTSTATUS UalListen(const char* Path, const UAL_OPTIONS* Options, UAL** Listener, char* Message,
                   SIZE_T MessageSize) try {
    UAL_OPTIONS options;
    std::string problem = "the machine is simulated, and has no sockets";
    NTSTATUS status = STATUS_NOT_SUPPORTED;
    write_text(Message, MessageSize, "");
    if (!complete(Options, options)) {
        problem = "UAL_OPTIONS.Size is that of another version of ci/ual.h";
        status = STATUS_REVISION_MISMATCH;
    } else if (!irpverbs::dispatch::machine::current().simulated()) {
        auto made = listener::make(path_or_default(Path), options, status, problem);
        *Listener = reinterpret_cast<UAL*>(made.release());
    }
    if (!NT_SUCCESS(status)) write_text(Message, MessageSize, problem);
    return status;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

void UalClose(UAL* Listener) { delete &listener_of(Listener); }

const char* UalPath(const UAL* Listener) NT_NOEXCEPT {
    return reinterpret_cast<const listener*>(Listener)->path().c_str();
}

void UalGetCounters(UAL* Listener, UAL_COUNTERS* Counters) {
    listener_of(Listener).count(*Counters);
}

NTSTATUS UalQueryStatus(const char* Path, char* Text, SIZE_T TextSize) try {
    std::string text;
    const std::string problem = ask_for_status(path_or_default(Path), text);
    write_text(Text, TextSize, problem.empty() ? text : problem);
    return problem.empty() ? STATUS_SUCCESS : STATUS_NO_SUCH_DEVICE;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

} // extern "C"
