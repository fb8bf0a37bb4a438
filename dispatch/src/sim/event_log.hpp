// The log of a simulated run: its events, in an order and in words that depend only on the choices.
// No address appears in it: objects have numbers, assigned when they are initialized.
#pragma once

#include <dispatch/detail/platform.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace irpverbs::dispatch::sim {

const char* name_of(detail::point kind);

class event_log {
public:
    explicit event_log(bool written) : written_(written) {}

    bool written() const { return written_; }

    void step(std::uint32_t actor, detail::point kind, std::uint64_t time) {
        mix((std::uint64_t{actor} << 8 | static_cast<std::uint64_t>(kind)) ^ time << 24);
    }
    /// Writes the line of a step. Only when written() is true.
    void write_step(std::uint64_t number, std::uint64_t time, const std::string& actor,
                    detail::point kind, const void* object);

    /// Writes a line of the test.
    void note(std::uint64_t number, std::uint64_t time, std::string_view who,
              std::string_view text);
    /// Writes a line that the hash leaves out.
    void write_line(std::uint64_t number, std::uint64_t time, std::string_view who,
                    std::string_view text);

    /// Begins a new object at this address.
    void name_object(const void* object, const char* kind);

    /// Returns "event3", or an empty text for an object that was not named.
    std::string object_name(const void* object) const;

    const std::string& text() const { return text_; }
    std::uint64_t hash() const { return hash_; }

private:
    struct known {
        const char* kind;
        std::uint32_t number;
    };

    void mix(std::uint64_t value) {
        hash_ = (hash_ ^ value) * 0x9e3779b97f4a7c15u;
        hash_ ^= hash_ >> 29;
    }
    void begin_line(std::uint64_t number, std::uint64_t time, std::string_view who);

    bool written_;
    std::uint64_t hash_ = 0xcbf29ce484222325u;
    std::string text_;
    std::unordered_map<const void*, known> objects_; // filled only when the log is written
    std::uint32_t last_number_ = 0;
};

} // namespace irpverbs::dispatch::sim
