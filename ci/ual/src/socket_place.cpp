#include "socket_place.hpp"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
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

} // namespace

NTSTATUS bind_socket(const std::string& path, unique_descriptor& made, std::string& problem) {
    NTSTATUS status = check_directory(directory_of(path), problem);
    if (NT_SUCCESS(status)) status = remove_stale(path, problem);
    if (!NT_SUCCESS(status)) return status;
    int error = 0;
    made = ci::detail::listen_at(path, error);
    return made ? STATUS_SUCCESS : fail(path, error, problem);
}

} // namespace irpverbs::ual
