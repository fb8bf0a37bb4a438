// A daemon that serves a software fabric to the program of irpctl run.
#pragma once

#include "socket_folder.hpp"

#include <string>
#include <sys/types.h>

namespace irpctl {

/// Runs irpverbsd with a socket in a folder of its own, until the end of the object or of irpctl.
class private_daemon {
public:
    /// Returns when the HCAs of `uri` are served. Throws failure if irpverbsd is not there or ends.
    explicit private_daemon(const std::string& uri);
    ~private_daemon();
    private_daemon(const private_daemon&) = delete;
    private_daemon& operator=(const private_daemon&) = delete;

    /// The URI of its HCAs in other processes.
    std::string uri() const { return "user:" + folder_.socket(); }

private:
    void start(const std::string& program, const std::string& uri);
    void wait_until_it_serves();
    void stop();

    socket_folder folder_;
    int output_ = -1; // the read end of the daemon's standard output
    pid_t process_ = -1;
};

} // namespace irpctl
