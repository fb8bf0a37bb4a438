#include "event_channel.hpp"

#include "lock.hpp"

#include <algorithm>

namespace irpverbs::rdmacm {

namespace {

using channel_list =
    boost::intrusive::list<event_channel, boost::intrusive::base_hook<channel_hook>,
                           boost::intrusive::constant_time_size<false>>;

// Guarded by the lock, as the next. Programs may use channels while they exit.
channel_list& all_channels() {
    static auto* const all = new channel_list;
    return *all;
}
constinit bool have_ended = false;

} // namespace

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
    {
        const state_lock guard;
        unlink();
    }
    events.clear_and_dispose([](queued_event* each) { delete each; });
}

bool event_channel::open() {
    if (!ready.open()) return false;
    fd = ready.descriptor();
    const state_lock guard;
    all_channels().push_back(*this);
    if (have_ended) ready.set();
    return true;
}

void event_channel::end_all() {
    have_ended = true;
    for (event_channel& each : all_channels())
        each.ready.set();
}

void event_channel::add(event_ptr event) {
    events.push_back(*event.release());
    ready.set();
}

event_channel::outcome event_channel::take(event_ptr& into) {
    ready.was_read();
    if (have_ended) ready.set(); // for the thread that reads next
    if (events.empty()) return have_ended ? outcome::ended : outcome::none;
    into.reset(&events.front());
    events.pop_front();
    if (!events.empty()) ready.set();
    return outcome::taken;
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
    if (events.empty() && !have_ended) ready.clear();
    return removed;
}

} // namespace irpverbs::rdmacm
