// The folder of a private daemon's socket.
#pragma once

#include <string>

namespace irpctl {

/// A folder of this process in that of temporary files, until the end of the object. The folder of
/// an irpctl that was killed is removed by the next one: that of a process that lives is locked.
class socket_folder {
public:
    /// Throws failure.
    socket_folder();
    ~socket_folder();
    socket_folder(const socket_folder&) = delete;
    socket_folder& operator=(const socket_folder&) = delete;

    const std::string& socket() const { return socket_; }

private:
    bool make(const std::string& parent);

    std::string path_;
    std::string socket_;
    int lock_ = -1; // a descriptor of the folder
};

} // namespace irpctl
