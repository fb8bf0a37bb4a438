#include "run.hpp"

#include "child_program.hpp"
#include "failure.hpp"
#include "loaded_libraries.hpp"
#include "private_daemon.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <system_error>
#include <unistd.h>

namespace irpctl {

namespace {

namespace fs = std::filesystem;

// The folder of the drop-in libraries, seen from irpctl's own: in a build tree, and after an
// install.
constexpr std::array<const char*, 2> places{"../../lib/irpverbs", IRPCTL_INSTALLED_DROP_INS};
constexpr const char* core_library = "libirpverbs-drop-in.so";
constexpr const char* device_files = "libirpverbs-device-files.so"; // for UCX

fs::path drop_in_folder() {
    const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
    for (const char* const place : places) {
        const fs::path folder = (own / place).lexically_normal();
        if (fs::exists(folder / core_library)) return folder;
    }
    throw failure("there are no drop-in libraries beside this irpctl; a build without sanitizers "
                  "makes them, where libibumad-dev is installed");
}

// The fabric of the program's own daemon.
std::string fabric_of(const run_options& options) {
    if (options.fabric.empty()) return "software:" + options.faults;
    if (access(options.fabric.c_str(), R_OK) != 0)
        throw failure(fmt::format("{}: {}; --fabric names a topology file", options.fabric,
                                  std::strerror(errno)));
    return "software:" + fs::absolute(options.fabric).lexically_normal().string() + options.faults;
}

// The HCAs of the hosts, in place of those that the URI names.
std::string on_hosts(const std::string& uri, const std::string& hosts) {
    if (hosts.empty()) return uri;
    return uri.substr(0, uri.rfind("?host=")) + "?host=" + hosts;
}

// The program would find no device, and go on.
void refuse_unknown_driver(const std::string& uri) {
    constexpr std::array<std::string_view, 3> schemes{"software:", "user:", "roce:"};
    const bool is_known =
        std::ranges::any_of(schemes, [&](std::string_view each) { return uri.starts_with(each); });
    if (!uri.empty() && !is_known)
        throw wrong_usage(fmt::format(
            "--hca, IRPVERBS_HCA: '{}' begins with none of 'software:', 'user:' and 'roce:'", uri));
}

// The file that execvp(3) would start.
std::string find_program(const std::string& name) {
    if (name.find('/') != name.npos) return name;
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string file = (folder.empty() ? "." : folder) + '/' + name;
        if (access(file.c_str(), X_OK) == 0 && !fs::is_directory(file)) return file;
    }
    throw failure(name + ": there is no such program in PATH");
}

// The loader ignores LD_LIBRARY_PATH for a program that gets the rights of another user.
void refuse_foreign_rights(const std::string& file) {
    struct stat attributes {};
    if (stat(file.c_str(), &attributes) != 0)
        throw failure(fmt::format("{}: {}", file, std::strerror(errno)));
    const bool setid = (attributes.st_mode & (S_ISUID | S_ISGID)) != 0;
    if (setid || getxattr(file.c_str(), "security.capability", nullptr, 0) > 0)
        throw failure(
            fmt::format("{}: it is {}, so it would not get these libraries; run a copy of "
                        "it without that",
                        file, setid ? "setuid or setgid" : "a file with capabilities"));
}

void prepend(const char* variable, const std::string& first) {
    const char* const rest = std::getenv(variable);
    const std::string all = rest != nullptr && *rest != '\0' ? first + ':' + rest : first;
    setenv(variable, all.c_str(), 1);
}

void describe(const std::string& file, const std::string& uri, const fs::path& folder) {
    fmt::print(stderr, "irpctl: IRPVERBS_HCA={}\n", uri);
    for (const char* const variable : {"LD_LIBRARY_PATH", "LD_PRELOAD"})
        fmt::print(stderr, "irpctl: {}={}\n", variable, std::getenv(variable));
    bool any = false;
    for (const std::string& library : loaded_libraries(file)) {
        if (!library.starts_with(folder.string() + '/') || library.ends_with(core_library) ||
            library.ends_with(device_files))
            continue;
        fmt::print(stderr, "irpctl: {} loads {}\n", file, library);
        any = true;
    }
    if (!any)
        fmt::print(stderr,
                   "irpctl: {} itself loads none of them; a program that it starts, or a plug-in, "
                   "may\n",
                   file);
}

} // namespace

int run_program(const run_options& options) {
    if (options.hca.starts_with("rdma:"))
        throw wrong_usage("run: rdma: has the kernel's HCAs, which programs find without irpctl");
    refuse_unknown_driver(options.hca);
    const fs::path folder = drop_in_folder();
    const std::string file = find_program(options.program.front());
    refuse_foreign_rights(file);
    std::optional<private_daemon> daemon;
    if (options.hca.empty()) daemon.emplace(fabric_of(options));
    const std::string uri = on_hosts(daemon ? daemon->uri() : options.hca, options.hosts);
    setenv("IRPVERBS_HCA", uri.c_str(), 1);
    prepend("LD_LIBRARY_PATH", folder.string());
    prepend("LD_PRELOAD", folder / device_files);
    if (options.verbose) describe(file, uri, folder);
    if (daemon) return run_child(file, options.program);
    std::vector<std::string> words = options.program;
    std::vector<char*> pointers;
    for (std::string& each : words)
        pointers.push_back(each.data());
    pointers.push_back(nullptr);
    std::signal(SIGPIPE, SIG_DFL); // irpctl itself ignores it
    execv(file.c_str(), pointers.data());
    throw failure(fmt::format("{}: {}", file, std::strerror(errno)));
}

} // namespace irpctl
