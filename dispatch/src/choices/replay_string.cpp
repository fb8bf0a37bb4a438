// The replay string: "r1." payload checksum. The payload is a bit string, six bits a character, of
// Elias gamma numbers: the number of choices that are not 0 (+1); for each of them the length of
// the run of zeros before it (+1), then the choice; at the end the length of the last run of zeros
// (+1). Traces consist mostly of small numbers before shrinking and mostly of zeros after it; both
// have short strings.
#include <dispatch/testing/schedule.hpp>

#include <boost/crc.hpp>

#include <array>
#include <bit>
#include <utility>

namespace irpverbs::dispatch {
namespace {

constexpr std::string_view prefix = "r1.";
constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t checksum_length = 6; // 32 bits

constexpr std::array<std::uint8_t, 256> digit_values = [] {
    std::array<std::uint8_t, 256> values{};
    values.fill(0xff);
    for (std::uint8_t i = 0; i < 64; ++i)
        values[static_cast<std::uint8_t>(alphabet[i])] = i;
    return values;
}();

std::uint8_t digit_value(char c) { return digit_values[static_cast<std::uint8_t>(c)]; }

// CRC-32 (IEEE 802.3) detects every change of up to 32 neighbouring bits.
std::string checksum(std::string_view payload) {
    boost::crc_optimal<32, 0x04c11db7, 0xffffffff, 0, true, true> sum;
    sum.process_bytes(payload.data(), payload.size());
    std::uint32_t crc = sum.checksum();
    std::string text;
    for (std::size_t i = 0; i < checksum_length; ++i, crc >>= 6)
        text += alphabet[crc & 63];
    return text;
}

class bit_writer {
public:
    void gamma(std::uint64_t number) {
        const int width = 64 - std::countl_zero(number);
        for (int i = 1; i < width; ++i)
            put(0);
        for (int i = width; i-- > 0;)
            put(static_cast<unsigned>(number >> i) & 1);
    }

    std::string finish() {
        while (used_ != 0)
            put(0);
        return std::move(text_);
    }

private:
    void put(unsigned bit) {
        digit_ = digit_ << 1 | bit;
        if (++used_ < 6) return;
        text_ += alphabet[digit_];
        digit_ = used_ = 0;
    }

    std::string text_;
    unsigned digit_ = 0;
    unsigned used_ = 0;
};

[[noreturn]] void throw_parse_error(const std::string& why, std::size_t position) {
    throw schedule_error("replay string: " + why + " at character " + std::to_string(position + 1) +
                             "; expected the whole token that a failing run printed, \"r1.\" and "
                             "letters, digits, '-', '_'",
                         position);
}

class bit_reader {
public:
    explicit bit_reader(std::string_view payload) : payload_(payload) {}

    // None of the numbers needs more than 32 bits.
    std::uint64_t gamma() {
        int zeros = 0;
        while (!get())
            if (++zeros == 32) damaged();
        std::uint64_t number = 1;
        for (; zeros > 0; --zeros)
            number = number << 1 | (get() ? 1 : 0);
        return number;
    }

    [[noreturn]] void damaged() const {
        throw_parse_error("the contents make no sense", prefix.size() + position_ / 6);
    }

private:
    bool get() {
        if (position_ == payload_.size() * 6) damaged();
        const unsigned digit = digit_value(payload_[position_ / 6]);
        return (digit >> (5 - position_++ % 6) & 1) != 0;
    }

    std::string_view payload_;
    std::size_t position_ = 0;
};

std::string_view checked_payload(std::string_view text) {
    for (std::size_t i = 0; i < prefix.size(); ++i)
        if (i >= text.size() || text[i] != prefix[i])
            throw_parse_error("does not begin with \"r1.\"", i);
    for (std::size_t i = prefix.size(); i < text.size(); ++i)
        if (digit_value(text[i]) == 0xff)
            throw_parse_error("a character that can't be part of it", i);
    const std::string_view rest = text.substr(prefix.size());
    if (rest.size() <= checksum_length) throw_parse_error("ends too soon", text.size());
    const std::string_view payload = rest.substr(0, rest.size() - checksum_length);
    if (rest.substr(payload.size()) != checksum(payload))
        throw_parse_error("the checksum is wrong (cut, or changed)",
                          prefix.size() + payload.size());
    return payload;
}

std::vector<std::uint32_t> unpack(bit_reader& bits) {
    std::vector<std::uint32_t> trace;
    const auto zeros = [&] {
        const std::uint64_t run = bits.gamma() - 1;
        if (run > max_replay_length - trace.size()) bits.damaged();
        trace.resize(trace.size() + run);
    };
    for (std::uint64_t left = bits.gamma() - 1; left > 0; --left) {
        zeros();
        if (trace.size() == max_replay_length) bits.damaged();
        trace.push_back(static_cast<std::uint32_t>(bits.gamma()));
    }
    zeros();
    return trace;
}

std::string pack(std::span<const std::uint32_t> trace) {
    std::uint64_t others = 0;
    for (const std::uint32_t choice : trace)
        others += choice != 0;
    bit_writer bits;
    bits.gamma(others + 1);
    std::uint64_t run = 0;
    for (const std::uint32_t choice : trace) {
        if (choice == 0) {
            ++run;
            continue;
        }
        bits.gamma(run + 1);
        bits.gamma(choice);
        run = 0;
    }
    bits.gamma(run + 1);
    return bits.finish();
}

} // namespace

std::string to_replay_string(std::span<const std::uint32_t> trace) {
    if (trace.size() > max_replay_length)
        throw std::length_error("replay string: " + std::to_string(trace.size()) +
                                " decisions, at most " + std::to_string(max_replay_length) +
                                " fit");
    const std::string payload = pack(trace);
    return std::string(prefix) + payload + checksum(payload);
}

std::vector<std::uint32_t> from_replay_string(std::string_view text) {
    const std::string_view payload = checked_payload(text);
    bit_reader bits(payload);
    std::vector<std::uint32_t> trace = unpack(bits);
    // A forged string with a correct checksum may still have bits behind the last number.
    if (pack(trace) != payload) bits.damaged();
    return trace;
}

} // namespace irpverbs::dispatch
