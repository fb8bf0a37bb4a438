#include "plug_and_play.hpp"

#include "file/device_name.hpp"
#include "file/object_namespace.hpp"
#include "registry/registry.hpp"

#include <dispatch/support/locals.hpp>

#include <algorithm>
#include <cstdio>
#include <mutex>

namespace irpverbs::irp {
namespace {

constexpr std::u16string_view class_of_devices = u"{4d36e97d-e325-11ce-bfc1-08002be10318}";
constexpr std::u16string_view link_folder = u"\\??\\";

struct machine_manager {
    std::shared_ptr<plug_and_play> manager = std::make_shared<plug_and_play>();
};
IRPVERBS_REGISTERED_EARLY const dispatch::detail::machine_local<machine_manager> managers(0);

std::u16string four_digits(unsigned number) {
    char text[16];
    const int length = std::snprintf(text, sizeof text, "%04u", number);
    return {text, text + length};
}

void set_text(registry_key& key, std::u16string_view name, ULONG type, std::u16string text) {
    text.resize(text.size() + (type == REG_MULTI_SZ ? 2 : 1));
    registry::current().set_value(key, name, type, std::as_bytes(std::span(text)));
}

void describe_device(const std::u16string& instance, unsigned number) {
    const key_reference key = registry::current().ensure(enum_path(instance));
    set_text(*key, u"DeviceDesc", REG_SZ, u"Device of a simulated bus");
    set_text(*key, u"HardwareID", REG_MULTI_SZ, u"ROOT\\IRPVERBS");
    set_text(*key, u"Class", REG_SZ, u"System");
    set_text(*key, u"ClassGUID", REG_SZ, std::u16string(class_of_devices));
    set_text(*key, u"Driver", REG_SZ,
             std::u16string(class_of_devices) + u'\\' + four_digits(number));
}

std::u16string with_number_signs(std::u16string path) {
    std::replace(path.begin(), path.end(), u'\\', u'#');
    return path;
}

} // namespace

std::u16string text_of(const GUID& guid) {
    char text[40];
    const UCHAR* const end = guid.Data4;
    const int length = std::snprintf(
        text, sizeof text, "{%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x}", guid.Data1,
        guid.Data2, guid.Data3, end[0], end[1], end[2], end[3], end[4], end[5], end[6], end[7]);
    return {text, text + length};
}

std::u16string enum_path(std::u16string_view instance) {
    return std::u16string(registry::devices) + u'\\' + std::u16string(instance);
}

std::shared_ptr<plug_and_play> plug_and_play::current() { return managers.current().manager; }

void plug_and_play::add_device(const DEVICE_OBJECT& physical) {
    unsigned number = 0;
    std::u16string instance = u"ROOT\\IRPVERBS\\";
    {
        const std::lock_guard guard(lock_);
        number = devices_++;
        instance += four_digits(number);
        bus_devices_.emplace(&physical, bus_device{number, instance});
    }
    describe_device(instance, number);
}

void plug_and_play::remove_device(const DEVICE_OBJECT& physical) {
    std::vector<notifications::event> gone;
    {
        const std::lock_guard guard(lock_);
        for (device_interface& each : interfaces_)
            if (each.physical == &physical && each.enabled) {
                disable(each);
                gone.push_back({each.type, false, each.link()});
            }
        std::erase_if(interfaces_, [&](const auto& each) { return each.physical == &physical; });
        bus_devices_.erase(&physical);
    }
    for (notifications::event& each : gone)
        callbacks_->announce(std::move(each));
}

std::u16string plug_and_play::instance_of(const DEVICE_OBJECT* physical) {
    const std::lock_guard guard(lock_);
    const auto found = bus_devices_.find(physical);
    return found == bus_devices_.end() ? std::u16string() : found->second.instance;
}

std::optional<interrupt_line> plug_and_play::line_of(const DEVICE_OBJECT* physical) {
    const std::lock_guard guard(lock_);
    const auto found = bus_devices_.find(physical);
    if (found == bus_devices_.end()) return std::nullopt;
    return irp::line_of(found->second.number);
}

plug_and_play::device_interface* plug_and_play::find(std::u16string_view link) {
    const std::u16string wanted = upper(link);
    const auto found = std::find_if(interfaces_.begin(), interfaces_.end(),
                                    [&](const auto& each) { return upper(each.link()) == wanted; });
    return found == interfaces_.end() ? nullptr : &*found;
}

NTSTATUS plug_and_play::register_interface(const DEVICE_OBJECT* physical, const GUID& type,
                                           std::u16string_view reference, std::u16string& link) {
    const std::u16string instance = instance_of(physical);
    if (instance.empty() || reference.find_first_of(u"\\/") != reference.npos)
        return STATUS_INVALID_DEVICE_REQUEST;
    device_interface made{physical, type,
                          std::u16string(link_folder) + with_number_signs(instance) + u'#' +
                              text_of(type),
                          std::u16string(reference)};
    link = made.link();
    const std::lock_guard guard(lock_);
    if (find(link) == nullptr) interfaces_.push_back(std::move(made));
    return STATUS_SUCCESS;
}

// One link serves all interfaces of a device and type: what follows it in a path names the one.
bool plug_and_play::base_is_linked(const device_interface& one) const {
    return std::any_of(interfaces_.begin(), interfaces_.end(), [&](const auto& each) {
        return each.enabled && &each != &one && each.base == one.base;
    });
}

NTSTATUS plug_and_play::enable(device_interface& one) {
    if (one.enabled) return STATUS_OBJECT_NAME_EXISTS;
    NTSTATUS status = STATUS_SUCCESS;
    if (!base_is_linked(one))
        status = object_namespace::current()->insert_link(one.base, name_of_device(*one.physical));
    one.enabled = NT_SUCCESS(status);
    return status;
}

void plug_and_play::disable(device_interface& one) {
    one.enabled = false;
    if (!base_is_linked(one)) object_namespace::current()->remove_link(one.base);
}

NTSTATUS plug_and_play::set_state(std::u16string_view link, bool enable_it) {
    notifications::event change{{}, enable_it, {}};
    {
        const std::lock_guard guard(lock_);
        device_interface* const one = find(link);
        if (one == nullptr || (!enable_it && !one->enabled)) return STATUS_OBJECT_NAME_NOT_FOUND;
        change.type = one->type;
        change.link = one->link();
        const NTSTATUS status = enable_it ? enable(*one) : STATUS_SUCCESS;
        if (status != STATUS_SUCCESS) return status;
        if (!enable_it) disable(*one);
    }
    callbacks_->announce(std::move(change));
    return STATUS_SUCCESS;
}

std::vector<std::u16string> plug_and_play::links(const GUID& type, const DEVICE_OBJECT* physical,
                                                 bool disabled_ones) {
    std::vector<std::u16string> found;
    const std::lock_guard guard(lock_);
    for (const device_interface& each : interfaces_)
        if (each.type == type && (physical == nullptr || each.physical == physical) &&
            (each.enabled || disabled_ones))
            found.push_back(each.link());
    return found;
}

std::u16string plug_and_play::key_of_interface(std::u16string_view link) {
    const std::lock_guard guard(lock_);
    const device_interface* const one = find(link);
    if (one == nullptr) return {};
    return std::u16string(registry::control) + u"\\DeviceClasses\\" + text_of(one->type) +
           u"\\##?#" + one->base.substr(link_folder.size()) + u"\\#" + one->reference +
           u"\\Device Parameters";
}

} // namespace irpverbs::irp
