// The HCAs of a machine, and the drivers that attach them.
#include "driver/driver_tables.hpp"
#include "objects/hca_device.hpp"
#include "verbs/request.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/support/locals.hpp>
#include <dispatch/support/scheduled_spin.hpp>
#include <hca/hca.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace irpverbs::ci {
namespace {

using dispatch::detail::raw_spin_lock;

// Drivers register before main, without a machine: all machines share one list.
constinit raw_spin_lock drivers_lock;
constinit HCA_DRIVER* drivers = nullptr; // guarded by drivers_lock

HCA_DRIVER* driver_of(std::string_view scheme) {
    const std::lock_guard guard(drivers_lock);
    HCA_DRIVER* each = drivers;
    while (each != nullptr && each->Scheme != scheme)
        each = each->Next;
    return each;
}

// "'roce:', 'software:' or 'user:'": the drivers of this program.
std::string known_schemes() {
    std::set<std::string> names;
    {
        const std::lock_guard guard(drivers_lock);
        for (const HCA_DRIVER* each = drivers; each != nullptr; each = each->Next)
            names.insert("'" + std::string(each->Scheme) + ":'");
    }
    std::string text;
    for (const std::string& each : names) {
        const char* const last = each == *names.rbegin() ? " or " : ", ";
        text += (text.empty() ? "" : last) + each;
    }
    return text;
}

NTSTATUS check_uri(std::string_view text, std::string& problem) {
    const std::size_t colon = text.find(':');
    if (colon != std::string_view::npos && driver_of(text.substr(0, colon)) != nullptr)
        return STATUS_SUCCESS;
    problem = colon == std::string_view::npos
                  ? "'" + std::string(text) + "' is no URI of an HCA"
                  : "no driver of HCAs is named '" + std::string(text.substr(0, colon)) + "'";
    problem += ": expected " + known_schemes();
    return STATUS_OBJECT_NAME_INVALID;
}

struct attachment {
    std::string uri;
    HCA_DRIVER* driver = nullptr;
    void* handle = nullptr;
    bool ready = false; // false while it is being attached or detached
};

class registry {
public:
    registry() { driver_->MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = dispatch_verb; }
    ~registry() { detach_all(); }
    registry(const registry&) = delete;
    registry& operator=(const registry&) = delete;

    /// The registry of the caller's machine.
    static registry& here();

    const std::shared_ptr<DRIVER_OBJECT>& driver() const { return driver_; }
    bool add(ib_guid_t guid, DEVICE_OBJECT* fdo);
    void remove(ib_guid_t guid);
    DEVICE_OBJECT* find(ib_guid_t guid);
    bool list(ib_guid_t* guids, ULONG& count);

    /// Returns false if the URI is taken.
    bool reserve(const attachment& wanted);
    void confirm(const std::string& uri, void* handle);
    std::optional<attachment> begin_detach(const std::string& uri);
    void forget(const std::string& uri);

    /// Keeps the reason why the tables of a driver did not fit, until its attach has failed.
    void keep_mismatch(std::string problem) {
        const std::lock_guard guard(lock_);
        mismatch_.swap(problem);
    }
    std::string take_mismatch() {
        const std::lock_guard guard(lock_);
        return std::exchange(mismatch_, {});
    }

private:
    void detach_all();
    std::vector<attachment>::iterator find_attachment(const std::string& uri) {
        return std::find_if(attachments_.begin(), attachments_.end(),
                            [&](const attachment& each) { return each.uri == uri; });
    }

    dispatch::detail::scheduled_spin lock_; // guards the members below
    std::unordered_map<ib_guid_t, DEVICE_OBJECT*> by_guid_;
    std::vector<ib_guid_t> in_order_;
    std::vector<attachment> attachments_;
    std::string mismatch_;
    // Each device also owns it: open devices outlive the machine.
    std::shared_ptr<DRIVER_OBJECT> driver_ = std::make_shared<DRIVER_OBJECT>();
};

IRPVERBS_REGISTERED_EARLY static const dispatch::detail::machine_local<registry> registries(0);

registry& registry::here() { return registries.current(); }

bool registry::add(ib_guid_t guid, DEVICE_OBJECT* fdo) {
    const std::lock_guard guard(lock_);
    if (!by_guid_.emplace(guid, fdo).second) return false;
    in_order_.push_back(guid);
    return true;
}

void registry::remove(ib_guid_t guid) {
    const std::lock_guard guard(lock_);
    by_guid_.erase(guid);
    // The device that was attached last is usually removed first.
    const auto place = std::find(in_order_.rbegin(), in_order_.rend(), guid);
    if (place != in_order_.rend()) in_order_.erase(std::next(place).base());
}

DEVICE_OBJECT* registry::find(ib_guid_t guid) {
    const std::lock_guard guard(lock_);
    const auto place = by_guid_.find(guid);
    return place != by_guid_.end() ? place->second : nullptr;
}

bool registry::list(ib_guid_t* guids, ULONG& count) {
    const std::lock_guard guard(lock_);
    const std::size_t room = std::min<std::size_t>(count, in_order_.size());
    std::copy_n(in_order_.begin(), room, guids);
    count = static_cast<ULONG>(in_order_.size());
    return room == in_order_.size();
}

bool registry::reserve(const attachment& wanted) {
    const std::lock_guard guard(lock_);
    if (find_attachment(wanted.uri) != attachments_.end()) return false;
    attachments_.push_back(wanted);
    return true;
}

void registry::confirm(const std::string& uri, void* handle) {
    const std::lock_guard guard(lock_);
    const auto place = find_attachment(uri);
    place->handle = handle;
    place->ready = true;
}

std::optional<attachment> registry::begin_detach(const std::string& uri) {
    const std::lock_guard guard(lock_);
    const auto place = find_attachment(uri);
    if (place == attachments_.end() || !place->ready) return std::nullopt;
    place->ready = false;
    return *place;
}

void registry::forget(const std::string& uri) {
    const std::lock_guard guard(lock_);
    attachments_.erase(find_attachment(uri));
}

// Runs at the machine's end. A driver refuses to detach devices that are open; these remain.
void registry::detach_all() {
    while (!attachments_.empty()) {
        const attachment last = attachments_.back();
        attachments_.pop_back();
        if (last.ready) last.driver->Detach(last.handle);
    }
}

NTSTATUS write_message(NTSTATUS status, char* message, SIZE_T size, const std::string& text) {
    if (size != 0) *std::copy_n(text.data(), std::min(text.size(), size - 1), message) = '\0';
    return status;
}

} // namespace
} // namespace irpverbs::ci

using namespace irpverbs::ci;

extern "C" {

void HcaRegisterDriver(HCA_DRIVER* Driver) {
    const std::lock_guard guard(drivers_lock);
    for (HCA_DRIVER* each = drivers; each != nullptr; each = each->Next)
        if (each == Driver) return;
    Driver->Next = drivers;
    drivers = Driver;
}

NTSTATUS HcaCreateDevice(const HCA_DEVICE* Description, PDEVICE_OBJECT* Device) {
    registry& here = registry::here();
    std::string problem;
    NTSTATUS status = check_tables(*Description, problem);
    if (status == STATUS_REVISION_MISMATCH) here.keep_mismatch(std::move(problem));
    if (!NT_SUCCESS(status)) return status;
    const HCA_DEVICE description = sized_copy(*Description);
    DEVICE_OBJECT* fdo = nullptr;
    status = IoCreateDevice(here.driver().get(),
                            static_cast<ULONG>(device_size + description.ExtensionSize), nullptr,
                            FILE_DEVICE_UNKNOWN, 0, FALSE, &fdo);
    if (!NT_SUCCESS(status)) return status;
    auto* device = new (fdo->DeviceExtension) hca_device(description, fdo, here.driver());
    direct_poll::prepare();
    if (!here.add(description.NodeGuid, fdo)) {
        device->~hca_device();
        IoDeleteDevice(fdo);
        return STATUS_OBJECT_NAME_COLLISION;
    }
    fdo->Flags &= ~static_cast<ULONG>(DO_DEVICE_INITIALIZING);
    *Device = fdo;
    return STATUS_SUCCESS;
}

void HcaDeleteDevice(PDEVICE_OBJECT Device) {
    hca_device& device = device_of(Device);
    const std::shared_ptr<DRIVER_OBJECT> driver = device.driver;
    registry::here().remove(device.description.NodeGuid);
    device.~hca_device();
    IoDeleteDevice(Device);
}

NTSTATUS HcaAttachEx(const char* uri, ULONG* count, char* message, SIZE_T size) {
    if (message == nullptr) size = 0;
    const std::string text = uri != nullptr ? uri : "";
    const std::size_t colon = text.find(':');
    write_message(STATUS_SUCCESS, message, size, "");
    std::string problem;
    if (const NTSTATUS status = check_uri(text, problem); !NT_SUCCESS(status))
        return write_message(status, message, size, problem);
    HCA_DRIVER* driver = driver_of(text.substr(0, colon));
    registry& here = registry::here();
    if (!here.reserve({text, driver}))
        return write_message(STATUS_OBJECT_NAME_COLLISION, message, size,
                             text + " is attached already");
    ULONG made = 0;
    void* handle = nullptr;
    const NTSTATUS status = driver->Attach(text.c_str() + colon + 1, &made, &handle, message, size);
    if (!NT_SUCCESS(status)) {
        here.forget(text);
        const bool silent = size != 0 && message[0] == '\0';
        if (status == STATUS_REVISION_MISMATCH && silent)
            return write_message(status, message, size, text + ": " + here.take_mismatch());
        return status;
    }
    here.confirm(text, handle);
    if (count != nullptr) *count = made;
    return status;
}

NTSTATUS HcaAttach(const char* uri, ULONG* count) { return HcaAttachEx(uri, count, nullptr, 0); }

NTSTATUS HcaDetach(const char* uri) {
    registry& here = registry::here();
    const std::string text = uri != nullptr ? uri : "";
    const std::optional<attachment> which = here.begin_detach(text);
    if (!which) return STATUS_OBJECT_NAME_NOT_FOUND;
    const NTSTATUS status = which->driver->Detach(which->handle);
    if (NT_SUCCESS(status))
        here.forget(text);
    else
        here.confirm(text, which->handle);
    return status;
}

NTSTATUS HcaEnumerate(ib_guid_t* guids, ULONG* count) {
    if (count == nullptr || (guids == nullptr && *count != 0)) return STATUS_INVALID_PARAMETER;
    return registry::here().list(guids, *count) ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW;
}

DEVICE_OBJECT* HcaFromGuid(ib_guid_t guid) { return registry::here().find(guid); }

NTSTATUS HcaName(ib_guid_t guid, char* name, SIZE_T size) {
    const DEVICE_OBJECT* fdo = registry::here().find(guid);
    if (fdo == nullptr) return STATUS_OBJECT_NAME_NOT_FOUND;
    if (size == 0) return STATUS_BUFFER_TOO_SMALL;
    if (name == nullptr) return STATUS_INVALID_PARAMETER;
    const std::string& whole = static_cast<const hca_device*>(fdo->DeviceExtension)->name;
    const NTSTATUS status = whole.size() < size ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW;
    return write_message(status, name, size, whole);
}

} // extern "C"
