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

using irpverbs::irp::trace_event;

namespace {

failure cannot_write(const std::string& path, int error) {
    return failure(fmt::format("{}: {}; -o names the file to write", path, std::strerror(error)));
}

} // namespace

trace_file::trace_file(std::string path, irpverbs::dispatch::machine& recorded)
    : path_(std::move(path)), recorder_(recorded) {
    const std::filesystem::path parent = std::filesystem::path(path_).parent_path();
    const std::string folder = parent.empty() ? "." : parent.string();
    if (access(folder.c_str(), W_OK | X_OK) != 0) throw cannot_write(path_, errno);
    if (std::filesystem::is_directory(path_)) throw cannot_write(path_, EISDIR);
}

const device* trace_file::find(const trace_event& sent) const {
    for (const device& each : devices_)
        if (each.fdo == sent.device) return &each;
    return nullptr;
}

void trace_file::write() const {
    const irpverbs::irp::trace_names names{
        .request =
            [this](const trace_event& sent) {
                return find(sent) != nullptr ? std::string(ci::verb_of(sent.minor)) : std::string();
            },
        .device =
            [this](const trace_event& sent) {
                const device* known = find(sent);
                return known != nullptr ? known->name : std::string();
            }};
    const std::string part = path_ + ".part";
    std::ofstream out(part);
    recorder_.write(out, names);
    out.close();
    if (out && std::rename(part.c_str(), path_.c_str()) == 0) return;
    const int error = errno;
    std::remove(part.c_str());
    throw cannot_write(path_, error);
}

} // namespace irpctl
