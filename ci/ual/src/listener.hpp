// A socket at which clients connect, and their connections.
#pragma once

#include "served_connection.hpp"

#include <list>

namespace irpverbs::ual {

/// Numbers since the listener was made.
struct totals {
    std::atomic<ULONGLONG> accepted{0};
    std::atomic<ULONGLONG> refused{0};
    std::atomic<ULONGLONG> violations{0};
    std::atomic<ULONGLONG> served{0};
};

class listener {
public:
    /// Null: `status` and `problem` have the reason.
    static std::unique_ptr<listener> make(std::string path, const UAL_OPTIONS& options,
                                          NTSTATUS& status, std::string& problem);
    /// Ends all connections. IRQL: PASSIVE_LEVEL.
    ~listener();
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;

    const std::string& path() const { return path_; }
    const UAL_OPTIONS& limits() const { return limits_; }
    totals& numbers() { return numbers_; }
    void count(UAL_COUNTERS& into);
    std::string description();
    /// Frees a connection, whose thread calls this last.
    void remove(served_connection& ended);

private:
    listener(std::string path, const UAL_OPTIONS& options, ci::detail::unique_descriptor socket,
             ci::detail::unique_descriptor wake);
    bool start();
    static void run(void* self);
    void accept_all();
    void accept_one(ci::detail::unique_descriptor socket);
    served_connection* make_connection(ci::detail::unique_descriptor socket, const ucred& peer,
                                       user& whose, NTSTATUS status);
    void insert(served_connection& made);
    void erase(served_connection& ended);
    bool is_allowed(uid_t uid) const;
    user* user_of(uid_t uid);

    const std::string path_;
    const UAL_OPTIONS limits_;
    const std::vector<ULONG> allowed_;
    const ci::detail::unique_descriptor socket_;
    const ci::detail::unique_descriptor wake_;
    std::atomic<bool> stopping_{false};
    totals numbers_;
    std::list<user> users_; // of the thread that accepts

    KSPIN_LOCK lock_ = 0; // guards all below
    boost::intrusive::list<served_connection> connections_;
    ULONG threads_ = 0; // of connections, and the one that accepts: each may use the listener
    KEVENT ended_;      // set when stopping_ and no thread is left
    void notify_if_ended();
};

} // namespace irpverbs::ual
