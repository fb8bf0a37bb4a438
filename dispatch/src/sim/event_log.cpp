#include "event_log.hpp"

#include <charconv>

namespace irpverbs::dispatch::sim {

const char* name_of(detail::point kind) {
    switch (kind) {
    case detail::point::lock_acquire:
        return "lock_acquire";
    case detail::point::lock_release:
        return "lock_release";
    case detail::point::cancel_exchange:
        return "cancel_exchange";
    case detail::point::call_driver:
        return "call_driver";
    case detail::point::complete_request:
        return "complete_request";
    case detail::point::wait:
        return "wait";
    case detail::point::signal:
        return "signal";
    case detail::point::dpc_insert:
        return "dpc_insert";
    case detail::point::dpc_run:
        return "dpc_run";
    case detail::point::work_insert:
        return "work_insert";
    case detail::point::timer_set:
        return "timer_set";
    case detail::point::interlocked:
        return "interlocked";
    case detail::point::mark_pending:
        return "mark_pending";
    case detail::point::user:
        return "user";
    }
    return "?";
}

static void append(std::string& text, std::uint64_t number) {
    char digits[20];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void event_log::begin_line(std::uint64_t number, std::uint64_t time, std::string_view who) {
    append(text_, number);
    text_ += ' ';
    append(text_, time);
    text_ += ' ';
    text_ += who;
    text_ += ' ';
}

void event_log::write_step(std::uint64_t number, std::uint64_t time, const std::string& actor,
                           detail::point kind, const void* object) {
    begin_line(number, time, actor);
    text_ += name_of(kind);
    if (const std::string name = object_name(object); !name.empty()) (text_ += ' ') += name;
    text_ += '\n';
}

void event_log::note(std::uint64_t number, std::uint64_t time, std::string_view who,
                     std::string_view text) {
    for (const char c : text)
        mix(static_cast<unsigned char>(c));
    mix(0x100);
    write_line(number, time, who, text);
}

void event_log::write_line(std::uint64_t number, std::uint64_t time, std::string_view who,
                           std::string_view text) {
    if (!written_) return;
    begin_line(number, time, who);
    text_ += text;
    text_ += '\n';
}

void event_log::name_object(const void* object, const char* kind) {
    if (written_) objects_[object] = {kind, ++last_number_};
}

std::string event_log::object_name(const void* object) const {
    const auto found = objects_.find(object);
    if (found == objects_.end()) return {};
    return found->second.kind + std::to_string(found->second.number);
}

} // namespace irpverbs::dispatch::sim
