#include "socket_folder.hpp"

#include "failure.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace irpctl {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "irpctl-";
constexpr std::string_view pattern = "XXXXXX"; // of mkdtemp(3)

std::string socket_in(const std::string& folder) { return folder + "/socket"; }

std::string parent_folder() {
    std::error_code error;
    const fs::path found = fs::temp_directory_path(error);
    if (!error) return found.string();
    const char* const named = std::getenv("TMPDIR");
    throw failure(fmt::format("TMPDIR={}: {}; the daemon's socket is in that folder",
                              named != nullptr ? named : "", error.message()));
}

int open_folder(const std::string& path) {
    return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/// Whether the path still names the open folder, which is this user's.
bool is_own(int folder, const std::string& path) {
    struct stat opened {};
    struct stat named {};
    return fstat(folder, &opened) == 0 && lstat(path.c_str(), &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino &&
           opened.st_uid == geteuid();
}

// A folder with other files stays.
void remove(const std::string& path) {
    unlink(socket_in(path).c_str());
    unlink((socket_in(path) + ".ports").c_str()); // of librdmacm
    rmdir(path.c_str());
}

void remove_if_left(const std::string& path) {
    const int folder = open_folder(path);
    if (folder == -1) return;
    if (flock(folder, LOCK_EX | LOCK_NB) == 0 && is_own(folder, path)) remove(path);
    close(folder);
}

void remove_left_folders(const std::string& parent) {
    std::error_code ignored;
    for (fs::directory_iterator each(parent, ignored), end; !ignored && each != end;
         each.increment(ignored)) {
        const std::string name = each->path().filename().string();
        if (name.starts_with(prefix) && name.size() == prefix.size() + pattern.size())
            remove_if_left(each->path().string());
    }
}

} // namespace

socket_folder::socket_folder() {
    const std::string parent = parent_folder();
    remove_left_folders(parent);
    constexpr int most_tries = 16; // another irpctl may remove a folder before it is locked
    for (int tries = 0; !make(parent); ++tries)
        if (tries == most_tries) throw failure(parent + ": a folder there could not be locked");
}

socket_folder::~socket_folder() {
    remove(path_);
    close(lock_);
}

bool socket_folder::make(const std::string& parent) {
    std::string path = fmt::format("{}/{}{}", parent, prefix, pattern);
    if (mkdtemp(path.data()) == nullptr)
        throw failure(fmt::format("{}: {}", path, std::strerror(errno)));
    const int folder = open_folder(path);
    if (folder != -1 && flock(folder, LOCK_EX) == 0 && is_own(folder, path)) {
        lock_ = folder;
        path_ = path;
        socket_ = socket_in(path);
        return true;
    }
    if (folder == -1 && errno != ENOENT) {
        const int error = errno;
        remove(path);
        throw failure(fmt::format("{}: {}", path, std::strerror(error)));
    }
    if (folder != -1) close(folder);
    return false;
}

} // namespace irpctl
