// A software fabric that nobody but the subnet manager under test configures.
#pragma once

#include "../hca/mad_client.hpp"

#include <saa/subnet_manager.hpp>
#include <support/coroutines.hpp>

#include <cstdio>
#include <fstream>
#include <string>

namespace irpverbs::testing {

/// The URI of a fabric that waits for its manager.
inline std::string unmanaged(const std::string& topology = "") {
    return "software:" + topology + "?unmanaged";
}

/// A subnet manager that has been started; its end waits until it has stopped.
class running_manager {
public:
    explicit running_manager(saa::subnet_manager_options options) : manager_(std::move(options)) {
        EXPECT_STREQ(name_of(started()), "STATUS_SUCCESS");
    }
    ~running_manager() { stop(); }
    running_manager(const running_manager&) = delete;
    running_manager& operator=(const running_manager&) = delete;

    saa::subnet_manager* operator->() { return &manager_; }

    NTSTATUS wait_until_up() {
        ending<void> up;
        manager_.wait_until_up(up.handler());
        return up.status();
    }
    NTSTATUS stop() {
        ending<void> stopped;
        manager_.stop(stopped.handler());
        return stopped.status();
    }

private:
    NTSTATUS started() {
        ending<void> done;
        manager_.start(done.handler());
        return done.status();
    }

    saa::subnet_manager manager_;
};

/// Looks once a second of virtual time, for at most five minutes.
template <class Reached>
bool comes_true(const Reached& reached) {
    for (int i = 0; i < 300 && !reached(); ++i) {
        LARGE_INTEGER second;
        second.QuadPart = -10'000'000;
        KeDelayExecutionThread(KernelMode, FALSE, &second);
    }
    return reached();
}

/// A topology in a file of its own, for the life of the scope.
class topology_file {
public:
    topology_file(const std::string& name, const std::string& text)
        : path_(::testing::TempDir() + name) {
        std::ofstream(path_) << text;
    }
    ~topology_file() { std::remove(path_.c_str()); }
    topology_file(const topology_file&) = delete;
    topology_file& operator=(const topology_file&) = delete;

    const std::string& path() const { return path_; }

private:
    std::string path_;
};

/// Two levels, in ibsim's format: each leaf has `hosts` hosts and a cable to each spine.
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
