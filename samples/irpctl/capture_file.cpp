#include "capture_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace irpctl {

namespace {

failure cannot_capture(const std::string& path, int error) {
    return failure(
        fmt::format("{}: {}; --pcap names the file to write", path, std::strerror(error)));
}

} // namespace

capture_file::capture_file(std::string path)
    : path_(std::move(path)),
      file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (file_ < 0) throw cannot_capture(path_, errno);
    capture_.emplace([this](std::span<const std::byte> bytes) { write(bytes); });
}

capture_file::~capture_file() {
    capture_.reset();
    close(file_);
}

void capture_file::write(std::span<const std::byte> bytes) {
    while (!bytes.empty() && error_ == 0) {
        const ssize_t written = ::write(file_, bytes.data(), bytes.size());
        if (written >= 0)
            bytes = bytes.subspan(static_cast<std::size_t>(written));
        else if (errno != EINTR)
            error_ = errno;
    }
}

void capture_file::add(const device& which, const IB_CA_ATTR& attributes) {
    const NTSTATUS status = capture_->add(which.fdo, attributes);
    if (!NT_SUCCESS(status))
        throw failure(fmt::format("{}: {}", which.name, NtStatusMeaning(status)));
}

void capture_file::finish() {
    capture_->end();
    const std::size_t lost = capture_->lost();
    capture_.reset();
    if (error_ != 0) throw cannot_capture(path_, error_);
    if (lost != 0)
        throw failure(fmt::format("{}: {} datagrams are missing for lack of memory", path_, lost));
}

} // namespace irpctl
