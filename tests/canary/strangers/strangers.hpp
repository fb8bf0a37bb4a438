// Defects that were written from driver documentation and experience alone, before their author had
// seen a rule of the verifier; docs/decisions/planted-by-strangers.md has the first measurement.
// Each defect is a driver with a template parameter `Correct`, and a program of user mode.
#pragma once

#include <dispatch/sim_machine.hpp>
#include <irp/file.h>
#include <irp/testing/driver.hpp>
#include <irp/wdm.h>

#include <array>
#include <cstring>
#include <initializer_list>
#include <list>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strangers {

using irpverbs::dispatch::sim_machine;
using outcome = std::optional<std::string>;
using scenario = outcome (*)(sim_machine& sim);

struct defect {
    const char* name;
    scenario buggy;
    scenario correct;
    bool found = true;      // false: known to be missed
    const char* shows = ""; // a part of the report
};

inline std::ostream& operator<<(std::ostream& out, const defect& each) { return out << each.name; }

const std::vector<defect>& cancel_defects();
const std::vector<defect>& completion_defects();
const std::vector<defect>& timer_defects();
const std::vector<defect>& unload_defects();
const std::vector<defect>& power_pnp_defects();
const std::vector<defect>& lock_defects();
const std::vector<defect>& buffer_defects();
const std::vector<defect>& queue_defects();
const std::vector<defect>& packet_defects();

constexpr ULONG tag = 0x67727453; // "Strg"
constexpr ULONG control(ULONG function, ULONG method) {
    return CTL_CODE(FILE_DEVICE_UNKNOWN, function, method, FILE_ANY_ACCESS);
}

inline UNICODE_STRING unicode(std::u16string& text) {
    const auto bytes = static_cast<USHORT>(text.size() * sizeof(WCHAR));
    return {bytes, bytes, reinterpret_cast<PWSTR>(text.data())};
}

inline LARGE_INTEGER after_ms(LONGLONG milliseconds) {
    LARGE_INTEGER time;
    time.QuadPart = -10'000 * milliseconds;
    return time;
}

// ---- What every driver needs ----

template <class Extension>
Extension* extension_of(PDEVICE_OBJECT device) {
    return static_cast<Extension*>(device->DeviceExtension);
}

inline NTSTATUS complete(PIRP irp, NTSTATUS status, ULONG_PTR information = 0) {
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = information;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return status;
}

inline NTSTATUS succeed(PDEVICE_OBJECT, PIRP irp) { return complete(irp, STATUS_SUCCESS); }

inline ULONG read_length(PIRP irp) {
    return IoGetCurrentIrpStackLocation(irp)->Parameters.Read.Length;
}
inline ULONG write_length(PIRP irp) {
    return IoGetCurrentIrpStackLocation(irp)->Parameters.Write.Length;
}
inline ULONG control_code(PIRP irp) {
    return IoGetCurrentIrpStackLocation(irp)->Parameters.DeviceIoControl.IoControlCode;
}
inline char* system_buffer(PIRP irp) { return static_cast<char*>(irp->AssociatedIrp.SystemBuffer); }

inline ULONG shorter(ULONG one, ULONG other) { return one < other ? one : other; }

/// Completes a read with the data of a write that goes on.
inline void hand_over(PIRP read, PIRP write) {
    const ULONG length = shorter(read_length(read), write_length(write));
    std::memcpy(system_buffer(read), system_buffer(write), length);
    complete(read, STATUS_SUCCESS, length);
}

/// A correct cancel-safe queue, for the drivers whose mistake is elsewhere.
struct irp_queue {
    IO_CSQ csq;
    KSPIN_LOCK lock;
    LIST_ENTRY irps;

    static irp_queue* of(PIO_CSQ csq) { return CONTAINING_RECORD(csq, irp_queue, csq); }
    static PIRP irp_of(PLIST_ENTRY entry) {
        return CONTAINING_RECORD(entry, IRP, Tail.Overlay.ListEntry);
    }
    static void insert_irp(PIO_CSQ csq, PIRP irp) {
        InsertTailList(&of(csq)->irps, &irp->Tail.Overlay.ListEntry);
    }
    static void remove_irp(PIO_CSQ, PIRP irp) { RemoveEntryList(&irp->Tail.Overlay.ListEntry); }
    static PIRP peek(PIO_CSQ csq, PIRP irp, PVOID file) {
        const PLIST_ENTRY head = &of(csq)->irps;
        PLIST_ENTRY next = irp != nullptr ? irp->Tail.Overlay.ListEntry.Flink : head->Flink;
        for (; next != head; next = next->Flink)
            if (file == nullptr || IoGetCurrentIrpStackLocation(irp_of(next))->FileObject == file)
                return irp_of(next);
        return nullptr;
    }
    static void acquire(PIO_CSQ csq, PKIRQL irql) { KeAcquireSpinLock(&of(csq)->lock, irql); }
    static void release(PIO_CSQ csq, KIRQL irql) { KeReleaseSpinLock(&of(csq)->lock, irql); }
    static void cancelled(PIO_CSQ, PIRP irp) { complete(irp, STATUS_CANCELLED); }

    void prepare() {
        KeInitializeSpinLock(&lock);
        InitializeListHead(&irps);
        IoCsqInitialize(&csq, insert_irp, remove_irp, peek, acquire, release, cancelled);
    }
    NTSTATUS insert(PIRP irp) {
        IoCsqInsertIrp(&csq, irp, nullptr);
        return STATUS_PENDING;
    }
    PIRP next(PVOID file = nullptr) { return IoCsqRemoveNextIrp(&csq, file); }
    /// Completes the requests of a file, or all.
    void abort(NTSTATUS status, PVOID file = nullptr) {
        while (const PIRP irp = next(file))
            complete(irp, status);
    }
};

/// The parts of a driver that it does not write itself.
struct plain_driver {
    struct extension {};
    static void prepare(PDRIVER_OBJECT, PDEVICE_OBJECT) {}
    static void stop(PDEVICE_OBJECT) {} // before the device is deleted
};

/// DriverEntry and DriverUnload of a driver with one device, \Device\Strange.
template <class Driver>
struct one_device {
    static void unload(PDRIVER_OBJECT driver) {
        Driver::stop(driver->DeviceObject);
        IoDeleteDevice(driver->DeviceObject);
    }
    static NTSTATUS entry(PDRIVER_OBJECT driver, PUNICODE_STRING) {
        std::u16string path = u"\\Device\\Strange";
        UNICODE_STRING name = unicode(path);
        PDEVICE_OBJECT device = nullptr;
        const NTSTATUS status = IoCreateDevice(driver, sizeof(typename Driver::extension), &name,
                                               FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
        if (!NT_SUCCESS(status)) return status;
        device->Flags |= DO_BUFFERED_IO;
        for (const int major : {IRP_MJ_CREATE, IRP_MJ_CLEANUP, IRP_MJ_CLOSE})
            driver->MajorFunction[major] = succeed;
        driver->DriverUnload = unload;
        if constexpr (requires { Driver::link_device(); }) {
            const NTSTATUS linked = Driver::link_device();
            if (!NT_SUCCESS(linked)) {
                IoDeleteDevice(device);
                return linked;
            }
        }
        Driver::prepare(driver, device);
        return STATUS_SUCCESS;
    }
};

/// A filter on \Device\Strange, loaded after its driver. Its extension begins with `lower`.
template <class Driver>
struct filter_device {
    static void unload(PDRIVER_OBJECT driver) {
        IoDetachDevice(extension_of<typename Driver::extension>(driver->DeviceObject)->lower);
        IoDeleteDevice(driver->DeviceObject);
    }
    static NTSTATUS pass(PDEVICE_OBJECT device, PIRP irp) {
        IoSkipCurrentIrpStackLocation(irp);
        return IoCallDriver(extension_of<typename Driver::extension>(device)->lower, irp);
    }
    static NTSTATUS entry(PDRIVER_OBJECT driver, PUNICODE_STRING) {
        std::u16string path = u"\\Device\\Strange";
        UNICODE_STRING name = unicode(path);
        PDEVICE_OBJECT device = nullptr;
        PDEVICE_OBJECT target = nullptr;
        PFILE_OBJECT file = nullptr;
        NTSTATUS status = IoCreateDevice(driver, sizeof(typename Driver::extension), nullptr,
                                         FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
        if (!NT_SUCCESS(status)) return status;
        status = IoGetDeviceObjectPointer(&name, FILE_READ_ACCESS, &file, &target);
        if (!NT_SUCCESS(status)) {
            IoDeleteDevice(device);
            return status;
        }
        for (auto& routine : driver->MajorFunction)
            routine = pass;
        driver->DriverUnload = unload;
        device->Flags |= target->Flags & DO_BUFFERED_IO;
        Driver::prepare(driver, device);
        extension_of<typename Driver::extension>(device)->lower =
            IoAttachDeviceToDeviceStack(device, target);
        ObDereferenceObject(file);
        return STATUS_SUCCESS;
    }
};

/// A correct lower driver: writes complete at once, reads later, with "data", from a DPC of another
/// processor.
struct lower_driver : plain_driver {
    struct extension {
        irp_queue waiting;
        KDPC dpc;
    };
    static void serve(PKDPC, PVOID context, PVOID, PVOID) {
        while (const PIRP irp = static_cast<extension*>(context)->waiting.next()) {
            const ULONG length = shorter(read_length(irp), 4);
            std::memcpy(system_buffer(irp), "data", length);
            complete(irp, STATUS_SUCCESS, length);
        }
    }
    static NTSTATUS read(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        own->waiting.insert(irp);
        KeInsertQueueDpc(&own->dpc, nullptr, nullptr);
        return STATUS_PENDING;
    }
    static NTSTATUS write(PDEVICE_OBJECT, PIRP irp) {
        return write_length(irp) == 0 ? complete(irp, STATUS_INVALID_PARAMETER)
                                      : complete(irp, STATUS_SUCCESS, write_length(irp));
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        auto* own = extension_of<extension>(device);
        own->waiting.prepare();
        KeInitializeDpc(&own->dpc, serve, own);
        KeSetTargetProcessorDpc(&own->dpc, 1);
        driver->MajorFunction[IRP_MJ_READ] = read;
        driver->MajorFunction[IRP_MJ_WRITE] = write;
    }
    static void stop(PDEVICE_OBJECT) { KeFlushQueuedDpcs(); }
};

// ---- User mode ----

/// A request, its buffer and its result.
class request {
public:
    request() { ZwCreateEvent(&event_, 0, nullptr, NotificationEvent, FALSE); }
    ~request() { ZwClose(event_); }
    request(const request&) = delete;
    request& operator=(const request&) = delete;

    /// Waits for the completion.
    NTSTATUS status() {
        if (returned_ != STATUS_PENDING) return returned_;
        ZwWaitForSingleObject(event_, FALSE, nullptr);
        return block_.Status;
    }
    /// The bytes that the driver returned.
    std::string text() { return {buffer_.data(), buffer_.data() + block_.Information}; }
    ULONG_PTR information() const { return block_.Information; }
    char* buffer() { return buffer_.data(); }

private:
    friend class file;
    HANDLE event_ = nullptr;
    IO_STATUS_BLOCK block_{};
    NTSTATUS returned_ = STATUS_SUCCESS;
    std::array<char, 256> buffer_{};
};

/// An open file.
class file {
public:
    explicit file(std::u16string path = u"\\Device\\Strange") {
        UNICODE_STRING name = unicode(path);
        OBJECT_ATTRIBUTES attributes;
        InitializeObjectAttributes(&attributes, &name, OBJ_CASE_INSENSITIVE, nullptr, nullptr);
        IO_STATUS_BLOCK block{};
        opened_ = NtOpenFile(&handle_, GENERIC_READ | GENERIC_WRITE, &attributes, &block, 0, 0);
    }
    ~file() { close(); }
    file(const file&) = delete;
    file& operator=(const file&) = delete;

    NTSTATUS opened() const { return opened_; }
    void close() {
        if (handle_ != nullptr) NtClose(std::exchange(handle_, nullptr));
    }
    void cancel() {
        IO_STATUS_BLOCK ignored{};
        NtCancelIoFileEx(handle_, nullptr, &ignored);
    }

    // Start a request.
    void start_read(request& it, ULONG length) {
        LARGE_INTEGER start{};
        it.returned_ = NtReadFile(handle_, it.event_, nullptr, nullptr, &it.block_,
                                  it.buffer_.data(), length, &start, nullptr);
    }
    void start_write(request& it, std::string_view text) {
        LARGE_INTEGER start{};
        text.copy(it.buffer_.data(), text.size());
        it.returned_ =
            NtWriteFile(handle_, it.event_, nullptr, nullptr, &it.block_, it.buffer_.data(),
                        static_cast<ULONG>(text.size()), &start, nullptr);
    }
    void start_control(request& it, ULONG code, std::string_view input, ULONG output_length) {
        std::string sent(input);
        it.returned_ = NtDeviceIoControlFile(
            handle_, it.event_, nullptr, nullptr, &it.block_, code,
            sent.empty() ? nullptr : sent.data(), static_cast<ULONG>(sent.size()),
            output_length == 0 ? nullptr : it.buffer_.data(), output_length);
    }

    /// Sends the memory itself, not a copy: the user may change it during the request.
    void start_control_of(request& it, ULONG code, PVOID input, ULONG length) {
        it.returned_ = NtDeviceIoControlFile(handle_, it.event_, nullptr, nullptr, &it.block_, code,
                                             input, length, nullptr, 0);
    }

    // Make a request and wait for it.
    NTSTATUS read(ULONG length, std::string* text = nullptr) {
        request it;
        start_read(it, length);
        const NTSTATUS status = it.status();
        if (text != nullptr) *text = it.text();
        return status;
    }
    NTSTATUS write(std::string_view text) {
        request it;
        start_write(it, text);
        return it.status();
    }
    NTSTATUS control(ULONG code, std::string_view input = {}, ULONG output_length = 0,
                     std::string* text = nullptr) {
        request it;
        start_control(it, code, input, output_length);
        const NTSTATUS status = it.status();
        if (text != nullptr) *text = it.text();
        return status;
    }

private:
    HANDLE handle_ = nullptr;
    NTSTATUS opened_ = STATUS_UNSUCCESSFUL;
};

/// Loaded drivers, the actors of user mode, and what these saw wrong.
class world {
public:
    world(sim_machine& sim, std::initializer_list<PDRIVER_INITIALIZE> entries) : sim_(sim) {
        for (const PDRIVER_INITIALIZE entry : entries) {
            std::u16string name = u"Stranger";
            name += static_cast<char16_t>(u'A' + drivers_.size());
            PDRIVER_OBJECT driver = nullptr;
            if (NT_SUCCESS(irpverbs::irp::load_driver(entry, name, driver)))
                drivers_.push_back(driver);
            else
                expect(false, "a driver was not loaded");
        }
    }

    sim_machine& sim() { return sim_; }
    PDRIVER_OBJECT driver(std::size_t number = 0) const { return drivers_[number]; }
    /// A file that is open until the end.
    file& open() { return files_.emplace_back(); }

    template <class Body>
    void actor(const char* name, Body body) {
        sim_.spawn(name, body);
    }
    void expect(bool right, const char* what) {
        if (!right && !wrong_) wrong_ = what;
    }
    void run() {
        sim_.run();
        sim_.end_delays();
    }
    /// Closes the files and unloads the drivers.
    outcome finish() {
        files_.clear();
        for (; !drivers_.empty(); drivers_.pop_back())
            expect(NT_SUCCESS(unload(drivers_.back())), "a driver was not unloaded");
        return wrong_;
    }

private:
    // A file is closed for its driver after its last request, which may end on another processor.
    static NTSTATUS unload(PDRIVER_OBJECT driver) {
        NTSTATUS status = irpverbs::irp::unload_driver(driver);
        // The other processor may be held up for seconds.
        for (int ms = 1; ms < 1 << 16 && status == STATUS_DEVICE_BUSY; ms *= 2) {
            LARGE_INTEGER time = after_ms(ms);
            KeDelayExecutionThread(KernelMode, FALSE, &time);
            status = irpverbs::irp::unload_driver(driver);
        }
        return status;
    }

    sim_machine& sim_;
    std::vector<PDRIVER_OBJECT> drivers_;
    std::list<file> files_;
    outcome wrong_;
};

template <class Driver>
constexpr PDRIVER_INITIALIZE driver_entry = one_device<Driver>::entry;
template <class Driver>
constexpr PDRIVER_INITIALIZE filter_entry = filter_device<Driver>::entry;

/// Two users write at the same time, and both writes succeed.
template <class Driver>
outcome two_writers(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    for (const char* name : {"first", "second"})
        here.actor(name,
                   [&] { here.expect(open.write("hello") == STATUS_SUCCESS, "the write failed"); });
    here.run();
    return here.finish();
}

} // namespace strangers
