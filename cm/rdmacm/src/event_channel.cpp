#include "event_channel.hpp"

#include <algorithm>

namespace irpverbs::rdmacm {

void queued_event::set_private_data(std::span<const std::uint8_t> field) {
    std::ranges::copy(field, private_data.begin());
    param.conn.private_data = private_data.data();
    param.conn.private_data_len = static_cast<std::uint8_t>(field.size());
}

void queued_event::set_datagram_data(std::span<const std::uint8_t> field) {
    std::ranges::copy(field, private_data.begin());
    param.ud.private_data = private_data.data();
    param.ud.private_data_len = static_cast<std::uint8_t>(field.size());
}

event_channel::~event_channel() {
    events.clear_and_dispose([](queued_event* each) { delete each; });
}

bool event_channel::open() {
    if (!ready.open()) return false;
    fd = ready.descriptor();
    return true;
}

void event_channel::add(event_ptr event) {
    events.push_back(*event.release());
    ready.set();
}

event_ptr event_channel::take() {
    ready.was_read();
    if (events.empty()) return nullptr;
    event_ptr first(&events.front());
    events.pop_front();
    if (!events.empty()) ready.set();
    return first;
}

std::vector<event_ptr> event_channel::remove(const cm_id& counted_by) {
    std::vector<event_ptr> removed;
    for (auto each = events.begin(); each != events.end();) {
        if (each->counted_by != &counted_by) {
            ++each;
            continue;
        }
        removed.emplace_back(&*each);
        each = events.erase(each);
    }
    if (events.empty()) ready.clear();
    return removed;
}

} // namespace irpverbs::rdmacm
