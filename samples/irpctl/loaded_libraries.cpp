#include "loaded_libraries.hpp"

#include <cstdio>
#include <dlfcn.h>
#include <fcntl.h>
#include <memory>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

namespace irpctl {

namespace {

struct closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

/// Returns the standard output of a program, whose standard error is dropped.
std::string output_of(const char* const* words) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return {};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    const int failed =
        posix_spawn(&child, words[0], &actions, nullptr, const_cast<char* const*>(words), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    const std::unique_ptr<std::FILE, closer> out(fdopen(ends[0], "r"));
    std::string text;
    for (int each = std::getc(out.get()); each != EOF; each = std::getc(out.get()))
        text += static_cast<char>(each);
    if (failed == 0) waitpid(child, nullptr, 0);
    return text;
}

} // namespace

// The loader is the one that loaded irpctl. With --list it prints lines "NAME => PATH (ADDRESS)".
std::vector<std::string> loaded_libraries(const std::string& program) {
    Dl_info loader{};
    const auto base = static_cast<std::uintptr_t>(getauxval(AT_BASE));
    std::vector<std::string> paths;
    if (base == 0 || dladdr(reinterpret_cast<const void*>(base), &loader) == 0) return paths;
    const char* const words[] = {loader.dli_fname, "--list", program.c_str(), nullptr};
    const std::string text = output_of(words);
    constexpr std::string_view arrow = " => ";
    for (std::size_t at = text.find(arrow); at != text.npos; at = text.find(arrow, at)) {
        at += arrow.size();
        paths.push_back(text.substr(at, text.find(" (", at) - at));
    }
    return paths;
}

} // namespace irpctl
