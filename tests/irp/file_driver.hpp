// A named device whose requests a test answers, and user mode's calls in short forms.
#pragma once

#include <irp/cancel_safe_queue.hpp>
#include <irp/file.h>
#include <irp/pending_irp.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace irpverbs::testing {

/// A string as the calls take it.
class unicode {
public:
    explicit unicode(std::u16string text) : text_(std::move(text)) {
        string_.Buffer = reinterpret_cast<PWSTR>(text_.data());
        string_.Length = string_.MaximumLength = static_cast<USHORT>(text_.size() * 2);
    }
    unicode(const unicode&) = delete;
    unicode& operator=(const unicode&) = delete;
    UNICODE_STRING* get() { return &string_; }

private:
    std::u16string text_;
    UNICODE_STRING string_{};
};

/// A driver with one named device. Creates, cleanups and closes succeed and are recorded; all other
/// requests wait in `queue`, or complete at once by `serve`.
class file_driver {
public:
    using serve_function = NTSTATUS (*)(irp::pending_irp request);

    explicit file_driver(const std::u16string& name = u"\\Device\\Test",
                         ULONG flags = DO_BUFFERED_IO, bool exclusive = false) {
        for (PDRIVER_DISPATCH& each : driver_.MajorFunction)
            each = dispatch;
        unicode device_name(name);
        EXPECT_EQ(IoCreateDevice(&driver_, sizeof(file_driver*), device_name.get(),
                                 FILE_DEVICE_UNKNOWN, 0, exclusive, &device_),
                  STATUS_SUCCESS);
        *static_cast<file_driver**>(device_->DeviceExtension) = this;
        device_->Flags |= flags;
        device_->Flags &= ~static_cast<ULONG>(DO_DEVICE_INITIALIZING);
    }
    ~file_driver() { IoDeleteDevice(device_); }
    file_driver(const file_driver&) = delete;
    file_driver& operator=(const file_driver&) = delete;

    DEVICE_OBJECT* device() const { return device_; }

    /// Completes the oldest waiting request; false: none waits.
    bool complete(NTSTATUS status = STATUS_SUCCESS, ULONG_PTR information = 0) {
        auto request = queue.remove_next();
        if (!request) return false;
        std::move(*request).complete(status, information);
        return true;
    }

    irp::cancel_safe_queue queue;
    serve_function serve = nullptr; // null: requests wait
    NTSTATUS create_status = STATUS_SUCCESS;
    std::vector<UCHAR> majors;   // of the requests, in order
    FILE_OBJECT* file = nullptr; // of the last request
    std::u16string file_name;    // of the last create
    ACCESS_MASK access = 0;      // of the last create

private:
    static NTSTATUS dispatch(DEVICE_OBJECT* device, IRP* irp) {
        return (*static_cast<file_driver**>(device->DeviceExtension))->on(irp::pending_irp(irp));
    }

    NTSTATUS on(irp::pending_irp request) {
        const IO_STACK_LOCATION& stack = request.stack();
        majors.push_back(stack.MajorFunction);
        file = stack.FileObject;
        EXPECT_EQ(file->DeviceObject, device_);
        switch (stack.MajorFunction) {
        case IRP_MJ_CREATE:
            access = stack.Parameters.Create.SecurityContext->DesiredAccess;
            file_name.assign(reinterpret_cast<const char16_t*>(file->FileName.Buffer),
                             file->FileName.Length / 2);
            return std::move(request).complete(create_status, FILE_OPENED);
        case IRP_MJ_CLEANUP:
        case IRP_MJ_CLOSE:
            return std::move(request).complete(STATUS_SUCCESS);
        default:
            return serve != nullptr ? serve(std::move(request)) : queue.pend(std::move(request));
        }
    }

    DRIVER_OBJECT driver_{};
    DEVICE_OBJECT* device_ = nullptr;
};

constexpr ACCESS_MASK read_write = GENERIC_READ | GENERIC_WRITE | SYNCHRONIZE;

inline NTSTATUS open(HANDLE& handle, const std::u16string& path, ACCESS_MASK access = read_write,
                     ULONG options = 0, HANDLE root = nullptr) {
    unicode name(path);
    OBJECT_ATTRIBUTES attributes;
    InitializeObjectAttributes(&attributes, name.get(), OBJ_CASE_INSENSITIVE, root, nullptr);
    IO_STATUS_BLOCK result{};
    const NTSTATUS status = NtCreateFile(&handle, access, &attributes, &result, nullptr, 0, 0,
                                         FILE_OPEN, options, nullptr, 0);
    EXPECT_TRUE(!NT_SUCCESS(status) || result.Information == FILE_OPENED);
    return status;
}

/// A file that the test opens and closes.
class opened_file {
public:
    explicit opened_file(const std::u16string& path = u"\\Device\\Test",
                         ACCESS_MASK access = read_write, ULONG options = 0) {
        EXPECT_EQ(testing::open(handle_, path, access, options), STATUS_SUCCESS);
    }
    ~opened_file() { close(); }
    opened_file(const opened_file&) = delete;
    opened_file& operator=(const opened_file&) = delete;

    HANDLE handle() const { return handle_; }
    NTSTATUS close() {
        return handle_ != nullptr ? NtClose(std::exchange(handle_, nullptr)) : STATUS_SUCCESS;
    }
    NTSTATUS read(void* to, ULONG length, IO_STATUS_BLOCK& result, HANDLE event = nullptr,
                  LONGLONG offset = 0, void* apc_context = nullptr) const {
        LARGE_INTEGER at;
        at.QuadPart = offset;
        return NtReadFile(handle_, event, nullptr, apc_context, &result, to, length, &at, nullptr);
    }
    NTSTATUS write(std::string_view text, IO_STATUS_BLOCK& result) const {
        LARGE_INTEGER at{};
        return NtWriteFile(handle_, nullptr, nullptr, nullptr, &result,
                           const_cast<char*>(text.data()), static_cast<ULONG>(text.size()), &at,
                           nullptr);
    }
    NTSTATUS control(ULONG code, std::string_view input, void* output, ULONG length,
                     IO_STATUS_BLOCK& result) const {
        return NtDeviceIoControlFile(handle_, nullptr, nullptr, nullptr, &result, code,
                                     const_cast<char*>(input.data()),
                                     static_cast<ULONG>(input.size()), output, length);
    }

private:
    HANDLE handle_ = nullptr;
};

constexpr IO_STATUS_BLOCK untouched{{STATUS_PENDING}, 99};

} // namespace irpverbs::testing
