#include "trace_file.hpp"

#include <ci/driver.h>
#include <ci/names.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

namespace irpctl {

namespace fs = std::filesystem;
using irpverbs::irp::trace_event;

namespace {

failure cannot_write(const std::string& path, int error) {
    return failure(fmt::format("{}: {}; -o names the file to write", path, std::strerror(error)));
}

// Follows symbolic links, also to a file that does not exist yet.
fs::path end_of_links(fs::path path) {
    constexpr int most_links = 40; // the limit of Linux
    std::error_code none;
    for (int i = 0; i < most_links && fs::is_symlink(path, none); ++i)
        path = path.parent_path() / fs::read_symlink(path, none);
    return path;
}

std::string folder_of(const fs::path& file) {
    return file.has_parent_path() ? file.parent_path().string() : ".";
}

} // namespace

trace_file::trace_file(std::string path, irpverbs::dispatch::machine& recorded)
    : path_(std::move(path)), recorder_(recorded) {
    std::error_code none;
    const fs::file_type type = fs::status(path_, none).type();
    if (type == fs::file_type::directory) throw cannot_write(path_, EISDIR);
    if (type == fs::file_type::regular || type == fs::file_type::not_found)
        replaced_ = end_of_links(path_).string();
    const bool can_be_written = replaced_.empty()
                                    ? access(path_.c_str(), W_OK) == 0
                                    : access(folder_of(replaced_).c_str(), W_OK | X_OK) == 0;
    if (!can_be_written) throw cannot_write(path_, errno);
}

const device* trace_file::find(const trace_event& sent) const {
    for (const device& each : devices_)
        if (each.fdo == sent.device) return &each;
    return nullptr;
}

irpverbs::irp::trace_names trace_file::names() const {
    return {.request =
                [this](const trace_event& sent) {
                    return find(sent) != nullptr ? std::string(ci::verb_of(sent.minor))
                                                 : std::string();
                },
            .device =
                [this](const trace_event& sent) {
                    const device* known = find(sent);
                    return known != nullptr ? known->name : std::string();
                }};
}

void trace_file::write() const {
    const bool replaces = !replaced_.empty();
    const std::string part = replaces ? replaced_ + ".part" : path_;
    std::ofstream out(part);
    recorder_.write(out, names());
    out.close();
    if (out && (!replaces || std::rename(part.c_str(), replaced_.c_str()) == 0)) return;
    const int error = errno;
    if (replaces) std::remove(part.c_str());
    throw cannot_write(path_, error);
}

} // namespace irpctl
