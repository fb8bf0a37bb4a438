#include "daemon_query.hpp"

#include "unforked_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <sys/stat.h>

namespace irpverbs::hca_user {

namespace {

namespace wire = ci::wire;

NTSTATUS unreachable(const std::string& path, int error, std::string& problem) {
    problem = path + ": " + std::strerror(error);
    if (error == ENOENT || error == ECONNREFUSED)
        problem += ": no daemon listens there; 'irpverbsd --socket " + path + "' starts one";
    return error == EACCES || error == EPERM ? STATUS_ACCESS_DENIED : STATUS_NO_SUCH_DEVICE;
}

// The connection was closed, or not accepted in time.
NTSTATUS no_reply(const std::string& path, std::string& problem) {
    problem = path + ": no reply: a daemon has no descriptors left, or it is not irpverbsd";
    return STATUS_NO_SUCH_DEVICE;
}

NTSTATUS not_ours(const std::string& path, std::string& problem) {
    struct stat found {};
    problem = path + ": it is not the socket of irpverbsd";
    if (stat(path.c_str(), &found) == 0)
        problem += "; it belongs to user " + std::to_string(found.st_uid);
    return STATUS_DATA_ERROR;
}

/// One request and its reply at a time.
class conversation {
public:
    conversation() : buffer_(wire::max_message) {}

    /// Returns 0, or an errno.
    int connect(const std::string& path) { return socket_.connect(path); }
    /// False: there was no reply.
    template <class Message>
    bool ask(Message sent) {
        std::array<iovec, 1> part{{{&sent, sizeof(sent)}}};
        size_ = 0;
        const int unsent = ci::detail::send_message(socket_.get(), part);
        has_no_reply_ = unsent == EPIPE || unsent == ECONNRESET;
        if (unsent != 0) return false;
        const ci::detail::received_message got =
            ci::detail::await_message(socket_.get(), buffer_, wire::patience);
        size_ = got.error == 0 ? got.size : 0;
        has_no_reply_ = size_ == 0 && (got.error == 0 || got.error == ETIMEDOUT);
        return size_ != 0;
    }
    bool has_no_reply() const { return has_no_reply_; }
    /// False: the reply is shorter.
    template <class Message>
    bool read(Message& made, std::size_t at = 0) const {
        if (size_ < at + sizeof(made)) return false;
        std::memcpy(&made, buffer_.data() + at, sizeof(made));
        return true;
    }

private:
    unforked_socket socket_;
    std::vector<std::byte> buffer_;
    std::size_t size_ = 0;
    bool has_no_reply_ = false;
};

NTSTATUS greet(conversation& with, const std::string& path, std::string& problem) {
    wire::welcome made{};
    const bool replied = with.ask(
        wire::hello{{wire::kind::hello, 0, {}, 0, 0}, wire::magic, wire::version, sizeof(void*)});
    if (with.has_no_reply()) return no_reply(path, problem);
    if (!replied || !with.read(made) || made.magic != wire::magic) return not_ours(path, problem);
    const auto version = std::to_string(made.version);
    if (made.status == STATUS_REVISION_MISMATCH)
        problem = path + ": the daemon has version " + version + " of the protocol, this program " +
                  std::to_string(wire::version);
    else if (!NT_SUCCESS(made.status))
        problem = path + ": the daemon refuses: " + NtStatusMeaning(made.status);
    return made.status;
}

// A name ends in a zero, and a port has a number below 256.
bool is_good(const wire::hca& each) {
    return each.ports != 0 && each.ports <= UCHAR_MAX && each.name.back() == '\0' &&
           each.name.front() != '\0';
}

} // namespace

NTSTATUS list_hcas(const std::string& socket, const std::string& host, std::vector<wire::hca>& made,
                   std::string& problem) {
    conversation with;
    if (const int error = with.connect(socket); error != 0)
        return unreachable(socket, error, problem);
    if (const NTSTATUS status = greet(with, socket, problem); !NT_SUCCESS(status)) return status;
    wire::list asked{{wire::kind::list, 0, {}, 0, 0}, {}, 0};
    if (host.size() >= asked.host.size()) return STATUS_SUCCESS; // no HCA has such a name
    std::ranges::copy(host, asked.host.begin());
    wire::listing head{};
    if (!with.ask(asked) || !with.read(head)) return not_ours(socket, problem);
    for (std::uint64_t i = 0; i < head.count; ++i) {
        wire::hca each{};
        if (!with.read(each, sizeof(head) + i * sizeof(each)) || !is_good(each))
            return not_ours(socket, problem);
        made.push_back(each);
    }
    return STATUS_SUCCESS;
}

} // namespace irpverbs::hca_user
