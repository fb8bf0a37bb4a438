#include "socket_place.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace irpverbs::ual {

namespace {

using ci::detail::unique_descriptor;

constexpr mode_t private_mode = 0700;
constexpr mode_t other_users = 0077;

NTSTATUS status_of(int error) {
    switch (error) {
    case ENAMETOOLONG:
        return STATUS_OBJECT_NAME_INVALID;
    case EADDRINUSE:
        return STATUS_OBJECT_NAME_COLLISION;
    case EACCES:
    case EPERM:
    case ENOENT:
    case ENOTDIR:
    case EROFS:
        return STATUS_ACCESS_DENIED;
    default:
        return STATUS_INSUFFICIENT_RESOURCES;
    }
}

NTSTATUS fail(const std::string& file, int error, std::string& problem) {
    problem = file + ": " + std::strerror(error);
    return status_of(error);
}

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash == 0 ? 1 : slash);
}

// Another user who may write to the directory could replace the socket.
NTSTATUS check_directory(const std::string& directory, std::string& problem) {
    if (mkdir(directory.c_str(), private_mode) != 0 && errno != EEXIST)
        return fail(directory, errno, problem);
    struct stat found {};
    if (lstat(directory.c_str(), &found) != 0) return fail(directory, errno, problem);
    if (!S_ISDIR(found.st_mode)) return fail(directory, ENOTDIR, problem);
    if (found.st_uid != geteuid())
        problem = directory + ": it belongs to user " + std::to_string(found.st_uid);
    else if ((found.st_mode & other_users) != 0)
        problem = directory + ": other users have access; 'chmod 700' it, or choose another one";
    else
        return STATUS_SUCCESS;
    return STATUS_ACCESS_DENIED;
}

// A socket without a daemon refuses connections.
NTSTATUS remove_stale(const std::string& path, std::string& problem) {
    struct stat found {};
    if (lstat(path.c_str(), &found) != 0) return STATUS_SUCCESS;
    int error = 0;
    const bool is_socket = S_ISSOCK(found.st_mode);
    const bool listens = is_socket && (ci::detail::connect_to(path, error) || error == EAGAIN);
    if (is_socket && !listens && unlink(path.c_str()) == 0) return STATUS_SUCCESS;
    problem =
        path + (is_socket ? ": a daemon listens there already" : ": it exists, and is no socket");
    return STATUS_OBJECT_NAME_COLLISION;
}

int option_of(int socket, int option) {
    int value = 0;
    socklen_t size = sizeof(value);
    return getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

bool is_listening(int socket) {
    return option_of(socket, SO_DOMAIN) == AF_UNIX &&
           option_of(socket, SO_TYPE) == SOCK_SEQPACKET && option_of(socket, SO_ACCEPTCONN) == 1;
}

std::string path_of(int socket) {
    sockaddr_un at{};
    socklen_t size = sizeof(at);
    const bool known = getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size) == 0;
    const std::size_t length = known ? size - offsetof(sockaddr_un, sun_path) : 0;
    return std::string(at.sun_path, strnlen(at.sun_path, length));
}

} // namespace

NTSTATUS adopt_socket(int socket, unique_descriptor& made, std::string& path,
                      std::string& problem) {
    const std::string name = "descriptor " + std::to_string(socket);
    problem = name + ": no unix socket of type SOCK_SEQPACKET that listens";
    if (!is_listening(socket)) return STATUS_OBJECT_TYPE_MISMATCH;
    made = unique_descriptor(fcntl(socket, F_DUPFD_CLOEXEC, 0));
    if (!made || fcntl(made.get(), F_SETFL, O_NONBLOCK) != 0) return fail(name, errno, problem);
    path = path_of(socket);
    return STATUS_SUCCESS;
}

NTSTATUS bind_socket(const std::string& path, unique_descriptor& made, std::string& problem) {
    NTSTATUS status = check_directory(directory_of(path), problem);
    if (NT_SUCCESS(status)) status = remove_stale(path, problem);
    if (!NT_SUCCESS(status)) return status;
    int error = 0;
    made = ci::detail::listen_at(path, error);
    return made ? STATUS_SUCCESS : fail(path, error, problem);
}

} // namespace irpverbs::ual
