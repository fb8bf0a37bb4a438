#include "record.hpp"

#include <dispatch/ntstatus.h>

#include <cstdio>

namespace irpverbs::irp::verify {

const char* name_of(origin made) {
    switch (made) {
    case origin::found:
        return "first seen";
    case origin::allocated:
        return "allocated";
    case origin::initialized:
        return "initialised";
    case origin::built_device_control:
        return "built as a device control";
    case origin::built_async_fsd:
        return "built as an asynchronous request";
    case origin::built_sync_fsd:
        return "built as a synchronous request";
    case origin::associated:
        return "made for a master IRP";
    }
    return "?";
}

std::string text_of(const event& what) {
    char head[96];
    std::snprintf(head, sizeof head, "  %llu.%07llu s  irp#%llu  %s at IRQL %u: ",
                  static_cast<unsigned long long>(what.time / 10'000'000),
                  static_cast<unsigned long long>(what.time % 10'000'000),
                  static_cast<unsigned long long>(what.irp), what.actor.c_str(),
                  unsigned{what.irql});
    std::string text = head;
    text += what.what;
    if (what.location != 0) text += ", location " + std::to_string(what.location);
    if (what.device_number != 0) text += ", device#" + std::to_string(what.device_number);
    if (what.has_status) {
        const char* name = NtStatusName(what.status);
        std::snprintf(head, sizeof head, "0x%08X", static_cast<unsigned>(what.status));
        text += ", ";
        text += name != nullptr ? name : head;
    }
    return text + '\n';
}

void record::append_event(const event& what) {
    if (events.size() < most_events) {
        events.push_back(what);
        return;
    }
    events[oldest] = what;
    oldest = (oldest + 1) % most_events;
}

std::string record::history() const {
    std::string text;
    if (oldest != 0 || events.size() == most_events) text += "  (older events were dropped)\n";
    for (std::size_t i = 0; i < events.size(); ++i)
        text += text_of(events[(oldest + i) % events.size()]);
    return text;
}

} // namespace irpverbs::irp::verify
