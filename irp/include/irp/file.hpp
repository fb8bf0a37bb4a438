/// Files as C++ objects: opened by name, read, written and controlled with any completion token.
#pragma once

#include <irp/detail/file_request.hpp>
#include <irp/file.h>
#include <irp/support/async_operation.hpp>

#include <dispatch/status.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace irpverbs::irp {

namespace detail {

/// A request on a file; its IRP has a location of the originator's above those of the stack.
class NT_API file_call {
public:
    enum class kind : unsigned char { read, write, control };

    file_call(kind what, HANDLE handle, ULONG code, std::span<const std::byte> input,
              std::span<std::byte> output, std::uint64_t offset);
    file_call(file_call&& other) noexcept;
    file_call& operator=(file_call&&) = delete;
    ~file_call();

    CCHAR stack_size() const;
    void start(IRP* irp);
    std::size_t result(ULONG_PTR information) && { return information; }

private:
    NTSTATUS prepare(IRP* irp, const DEVICE_OBJECT& device);
    ACCESS_MASK needed_access() const;

    kind kind_;
    ULONG code_;
    FILE_OBJECT* file_ = nullptr; // referenced; null: `status_` is the result
    NTSTATUS status_;
    std::span<const std::byte> input_;
    std::span<std::byte> output_;
    std::uint64_t offset_;
    file_request request_;
};

} // namespace detail

/// An open file; the destructor closes it, as NtClose does, while requests may be outstanding.
/// Distinct threads may call all members but close(), the assignment and the destructor.
class NT_API file {
public:
    /// Opens a device for asynchronous requests as user mode does: NtCreateFile with the
    /// disposition FILE_OPEN. `path` is a path of the namespace: "\\Device\\Serial0", "\\??\\COM1".
    /// Throws dispatch::status_error with the status of NtCreateFile. IRQL: PASSIVE_LEVEL.
    explicit file(std::u16string_view path, ACCESS_MASK access = GENERIC_READ | GENERIC_WRITE);
    file(file&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    file& operator=(file&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    /// IRQL: PASSIVE_LEVEL.
    ~file() { close(); }

    HANDLE handle() const noexcept { return handle_; }

    /// IRP_MJ_CLEANUP now, and IRP_MJ_CLOSE after the last request.
    NTSTATUS close() {
        return handle_ != nullptr ? NtClose(std::exchange(handle_, nullptr)) : STATUS_SUCCESS;
    }

    /// Cancels all outstanding requests. STATUS_SUCCESS; STATUS_NOT_FOUND: there is none.
    NTSTATUS cancel() {
        IO_STATUS_BLOCK ignored{};
        return NtCancelIoFileEx(handle_, nullptr, &ignored);
    }

    /// Read and write at `offset`, in bytes. They complete with void(error_code, std::size_t): the
    /// number of bytes that were moved. Ownership: the buffer is the driver's until then. Handlers,
    /// memory, cancellation and deadlines as in irp::call; statuses as of NtReadFile. IRQL:
    /// PASSIVE_LEVEL.
    template <class Token = boost::asio::deferred_t>
    auto read(std::span<std::byte> to, std::uint64_t offset = 0, Token&& token = {}) const {
        return initiate(detail::file_call::kind::read, 0, {}, to, offset,
                        std::forward<Token>(token));
    }
    template <class Token = boost::asio::deferred_t>
    auto write(std::span<const std::byte> from, std::uint64_t offset = 0,
               Token&& token = {}) const {
        return initiate(detail::file_call::kind::write, 0, from, {}, offset,
                        std::forward<Token>(token));
    }

    /// Sends a control code; completes as read() does, with Information. Statuses as of
    /// NtDeviceIoControlFile.
    template <class Token = boost::asio::deferred_t>
    auto control(ULONG code, std::span<const std::byte> input, std::span<std::byte> output,
                 Token&& token = {}) const {
        return initiate(detail::file_call::kind::control, code, input, output, 0,
                        std::forward<Token>(token));
    }

private:
    template <class Token>
    auto initiate(detail::file_call::kind kind, ULONG code, std::span<const std::byte> input,
                  std::span<std::byte> output, std::uint64_t offset, Token&& token) const {
        return detail::initiate(detail::file_call(kind, handle_, code, input, output, offset),
                                std::forward<Token>(token));
    }

    HANDLE handle_ = nullptr;
};

/// IoCreateSymbolicLink and IoDeleteSymbolicLink.
NT_API NTSTATUS create_symbolic_link(std::u16string_view name, std::u16string_view target);
NT_API NTSTATUS delete_symbolic_link(std::u16string_view name);

} // namespace irpverbs::irp
