#include "junit_report.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace irpverbs::conformance {

namespace {

void write_all(int file, const char* bytes, std::size_t size, const std::string& path) {
    while (size != 0) {
        const ssize_t written = write(file, bytes, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) throw std::system_error(errno, std::generic_category(), path);
        bytes += written;
        size -= static_cast<std::size_t>(written);
    }
}

std::string text_of(int file) {
    std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
    const ssize_t got = pread(file, text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

} // namespace

junit_report::junit_report(const std::string& path) : path_(path) {
    if (path.empty()) return;
    file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file_ >= 0) memory_ = memfd_create("junit", MFD_CLOEXEC);
    if (memory_ < 0) throw std::system_error(errno, std::generic_category(), path);
}

junit_report::~junit_report() {
    if (memory_ >= 0) close(memory_);
    if (file_ >= 0) close(file_);
}

std::string junit_report::output() const {
    return memory_ < 0 ? std::string() : "xml:/proc/self/fd/" + std::to_string(memory_);
}

void junit_report::write() {
    if (memory_ < 0) return;
    const std::string text = text_of(memory_);
    if (ftruncate(file_, 0) != 0 && errno != EINVAL) // a device or a pipe has no length
        throw std::system_error(errno, std::generic_category(), path_);
    write_all(file_, text.data(), text.size(), path_);
    const int closed = close(file_);
    file_ = -1;
    if (closed != 0) throw std::system_error(errno, std::generic_category(), path_);
}

} // namespace irpverbs::conformance
