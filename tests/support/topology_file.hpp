// Topology files of tests, written out or generated.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace irpverbs::testing {

/// A temporary file with the topology `text`, for the life of the scope.
class topology_file {
public:
    explicit topology_file(const std::string& text) : path_(unused_path()) {
        std::ofstream(path_) << text;
    }
    ~topology_file() { std::remove(path_.c_str()); }
    topology_file(const topology_file&) = delete;
    topology_file& operator=(const topology_file&) = delete;

    const std::string& path() const { return path_; }
    std::string uri() const { return "software:" + path_; }

private:
    static std::string unused_path() {
        static std::atomic<unsigned> made{0};
        const std::string name = std::to_string(getpid()) + '.' + std::to_string(++made) + ".net";
        return (std::filesystem::temp_directory_path() / name).string();
    }

    std::string path_;
};

/// A two-level fat tree in ibsim's format: each leaf switch has `hosts` hosts and one link to each
/// spine.
inline std::string fat_tree_file(unsigned leaves, unsigned spines, unsigned hosts) {
    std::string text;
    const auto add = [&](const char* format, auto... values) {
        char line[100];
        std::snprintf(line, sizeof line, format, values...);
        text += line;
    };
    for (unsigned h = 0; h < leaves * hosts; ++h)
        add("Hca 1 \"H%u\"\n[1] \"L%u\"[%u]\n\n", h, h / hosts, h % hosts + 1);
    for (unsigned l = 0; l < leaves; ++l) {
        add("Switch %u \"L%u\"\n", hosts + spines, l);
        for (unsigned s = 0; s < spines; ++s)
            add("[%u] \"S%u\"[%u]\n", hosts + s + 1, s, l + 1);
        text += '\n';
    }
    for (unsigned s = 0; s < spines; ++s)
        add("Switch %u \"S%u\"\n\n", leaves, s);
    return text;
}

} // namespace irpverbs::testing
