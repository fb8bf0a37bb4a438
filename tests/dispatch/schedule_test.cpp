#include <dispatch/testing/schedule.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace irpverbs::dispatch {
namespace {

using trace_t = std::vector<std::uint32_t>;

const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Encodes a replay string with a valid checksum, so that a test can forge one.
std::string forged(const std::string& payload) {
    std::uint64_t crc = 0xffffffff;
    for (const char c : payload)
        for (unsigned bit = 0; bit < 8; ++bit) {
            const std::uint64_t top = (crc ^ (static_cast<std::uint64_t>(c) >> bit)) & 1;
            crc = (crc >> 1) ^ (top ? 0xedb88320 : 0);
        }
    std::string text = "r1." + payload;
    for (unsigned i = 0; i < 36; i += 6)
        text += alphabet[crc >> i & 63];
    return text;
}

// Encodes these bits as characters.
std::string characters(std::string bits) {
    bits.resize((bits.size() + 5) / 6 * 6, '0');
    std::string text;
    for (std::size_t i = 0; i < bits.size(); i += 6)
        text += alphabet[std::stoul(bits.substr(i, 6), nullptr, 2)];
    return text;
}

// Returns the position at which the string was refused, npos when it was accepted.
std::size_t refused_at(const std::string& text) {
    try {
        from_replay_string(text);
    } catch (const schedule_error& error) {
        EXPECT_NE(std::string(error.what()).find("expected"), std::string::npos);
        EXPECT_LE(error.position(), text.size());
        return error.position();
    }
    return std::string::npos;
}

std::vector<trace_t> samples() {
    std::vector<trace_t> all{{},           {0}, {1}, {0, 0, 0}, {0xffffffff}, {0, 0xffffffff, 0},
                             trace_t(5000)};
    random_choices random(2);
    for (std::uint32_t length = 1; length < 60; ++length) {
        trace_t trace;
        for (std::uint32_t i = 0; i < length; ++i)
            trace.push_back(random.pick(2 + length % 5 * length, "choice"));
        all.push_back(trace);
    }
    return all;
}

TEST(ReplayString, TraceWritten_IsReadBack) {
    for (const trace_t& trace : samples()) {
        const std::string text = to_replay_string(trace);
        EXPECT_EQ(from_replay_string(text), trace);
        EXPECT_EQ(text.find_first_not_of(alphabet, 3), std::string::npos) << "shell-safe";
    }
}

// Tests that strings of earlier builds stay readable.
TEST(ReplayString, EarlierBuildsStrings_StayReadable) {
    EXPECT_EQ(to_replay_string(trace_t{}), "r1.wtTPnjD");
    EXPECT_EQ(to_replay_string(trace_t{0, 2, 0, 0, 0, 1, 1}), "r1.IkTwa92ksB");
}

TEST(ReplayString, ShortTrace_IsShort) {
    random_choices random(5);
    const std::array<actor_id, 3> three{0, 1, 2};
    for (int i = 0; i < 30; ++i)
        random.pick_actor(three, true, false);
    EXPECT_LE(to_replay_string(random.trace()).size(), 30u);
    trace_t shrunk(1000);
    shrunk[500] = 1;
    EXPECT_LE(to_replay_string(shrunk).size(), 20u);
}

// Tests that every truncation and every change of one character is detected.
TEST(ReplayString, DamagedString_IsRefused) {
    for (const trace_t& trace : samples()) {
        const std::string text = to_replay_string(trace);
        if (text.size() > 40) continue; // long strings would repeat this slowly
        for (std::size_t i = 0; i < text.size(); ++i) {
            ASSERT_NE(refused_at(text.substr(0, i)), std::string::npos) << "cut at " << i;
            ASSERT_NE(refused_at(text.substr(i + 1)), std::string::npos) << "front cut at " << i;
            for (const char c : alphabet + " \n:.\x80") {
                std::string changed = text;
                changed[i] = c;
                if (changed != text) {
                    ASSERT_NE(refused_at(changed), std::string::npos) << changed;
                }
                ASSERT_NE(refused_at(std::string(text).insert(i, 1, c)), std::string::npos);
            }
            const std::string deleted = std::string(text).erase(i, 1);
            ASSERT_NE(refused_at(deleted), std::string::npos);
        }
        ASSERT_NE(refused_at(text + text), std::string::npos);
        ASSERT_NE(refused_at(text + "\n"), std::string::npos);
    }
}

TEST(ReplayString, ManyChangesAtOnce_AreRefused) {
    const std::string text = to_replay_string(trace_t{1, 0, 2, 2, 0, 0, 1, 7, 0, 0, 0, 0, 3});
    random_choices random(6);
    for (int i = 0; i < 20000; ++i) {
        std::string changed = text;
        for (std::uint32_t n = 1 + random.pick(4, "changes"); n > 0; --n) {
            const std::size_t place =
                random.pick(static_cast<std::uint32_t>(changed.size()), "place");
            switch (random.pick(4, "kind")) {
            case 0:
                changed[place] = alphabet[random.pick(64, "letter")];
                break;
            case 1:
                changed[place] = static_cast<char>(random.pick(256, "byte"));
                break;
            case 2:
                changed.erase(place, 1 + random.pick(3, "length"));
                break;
            default:
                std::swap(changed[place], changed[changed.size() - 1 - place]);
                break;
            }
            if (changed.empty()) break;
        }
        if (changed != text) {
            ASSERT_NE(refused_at(changed), std::string::npos) << changed;
        }
    }
}

// Tests that contents are checked even when the checksum is right, and never exhaust the memory.
TEST(ReplayString, ForgedContents_AreRefusedOrWrittenEqually) {
    random_choices random(4);
    int good = 0;
    for (int i = 0; i < 20000; ++i) {
        std::string payload;
        for (std::uint32_t n = 1 + random.pick(12, "length"); n > 0; --n)
            payload += alphabet[random.pick(2, "zeros") ? random.pick(64, "letter") : 0];
        const std::string text = forged(payload);
        if (refused_at(text) != std::string::npos) continue;
        ++good;
        ASSERT_EQ(to_replay_string(from_replay_string(text)), text);
    }
    EXPECT_GT(good, 0) << "the forged checksum is wrong";
}

// Tests that reading and writing both enforce the limit at the same length.
TEST(ReplayString, LongestTrace_IsReadBackAndALongerOneRefused) {
    static_assert(max_replay_length == 1 << 20);
    std::string run(20, '0');
    run += "100000000000000000001"; // max_replay_length zeros
    const trace_t longest(max_replay_length);
    EXPECT_EQ(to_replay_string(longest), forged(characters("1" + run)));
    EXPECT_EQ(from_replay_string(to_replay_string(longest)), longest);
    const std::string one_more = "010" + run + "1" + "1"; // followed by a 1
    EXPECT_NE(refused_at(forged(characters(one_more))), std::string::npos);
    EXPECT_THROW(to_replay_string(trace_t(max_replay_length + 1)), std::length_error);
}

TEST(ReplayString, BadString_ErrorHasItsPosition) {
    EXPECT_EQ(refused_at(""), 0u);
    EXPECT_EQ(refused_at("r2.AAAAAAAAA"), 1u);
    EXPECT_EQ(refused_at("r1."), 3u);
    EXPECT_EQ(refused_at("r1.ABCDEF"), 9u);
    EXPECT_EQ(refused_at("r1.ABC DEFGHI"), 6u);
    const std::string text = to_replay_string(trace_t(100, 1));
    EXPECT_EQ(refused_at(text.substr(0, 20)), 14u);
    EXPECT_EQ(refused_at(forged("AAAAAAAA")), 8u); // a number of more than 32 bits
}

// --- environment -------------------------------------------------------------------------------

// Returns the message, "" when there is none.
std::string message_for(const char* seed, const char* strategy) {
    try {
        parse_schedule({.seed = seed, .strategy = strategy});
    } catch (const schedule_error& error) {
        return error.what();
    }
    return "";
}

TEST(ScheduleOptions, NothingSet_YieldsDefaults) {
    const schedule_options plain = parse_schedule({});
    EXPECT_EQ(plain.strategy, strategy::random);
    EXPECT_EQ(plain.seed, 0u);
    schedule_options pct;
    pct.strategy = strategy::pct;
    pct.seed = 4;
    EXPECT_EQ(parse_schedule({}, pct).strategy, strategy::pct);
    EXPECT_EQ(parse_schedule({.seed = "5"}, pct).seed, 5u);
}

TEST(ScheduleOptions, EveryStrategy_IsRead) {
    EXPECT_EQ(parse_schedule({.seed = "18446744073709551615", .strategy = "random"}).seed,
              18446744073709551615u);
    const schedule_options pct = parse_schedule({.strategy = "pct:5:70"});
    EXPECT_EQ(pct.strategy, strategy::pct);
    EXPECT_EQ(pct.depth, 5u);
    EXPECT_EQ(pct.expected_steps, 70u);
    EXPECT_EQ(parse_schedule({.strategy = "pct"}).depth, 3u);
    EXPECT_EQ(parse_schedule({.strategy = "exhaustive"}).preemption_bound, std::nullopt);
    schedule_options bounded;
    bounded.preemption_bound = 5;
    EXPECT_EQ(parse_schedule({.strategy = "exhaustive"}, bounded).preemption_bound, std::nullopt);
    EXPECT_EQ(parse_schedule({.strategy = "exhaustive:0"}).preemption_bound, 0u);
    const std::string replay = "replay:" + to_replay_string(trace_t{1, 2});
    EXPECT_EQ(parse_schedule({.strategy = replay.c_str()}).script, (trace_t{1, 2}));
}

TEST(ScheduleOptions, BadText_IsReportedWithTheExpectedForm) {
    EXPECT_EQ(message_for("5x", nullptr), "IRPVERBS_SEED=5x: expected a decimal number "
                                          "0..18446744073709551615 at character 2");
    EXPECT_EQ(message_for(nullptr, "luck"),
              "IRPVERBS_STRATEGY=luck: expected random, pct[:DEPTH[:STEPS]], "
              "exhaustive[:PREEMPTIONS] or replay:STRING at character 1");
    EXPECT_EQ(message_for(nullptr, "pct:0"),
              "IRPVERBS_STRATEGY=pct:0: expected a decimal number 1..1000 at character 5");
    for (const char* bad : {"", " ", "-1", "+1", "0x5", "18446744073709551616", "5 "})
        EXPECT_NE(message_for(bad, nullptr), "") << bad;
    for (const char* bad :
         {"", ":", "Random", "random:", "random:5", "pct:", "pct:a", "pct:1001",
          "pct:3:", "pct:3:0", "pct:3:4294967296", "pct:3:5:6", "exhaustive:", "exhaustive:-1",
          "exhaustive:1:2", "replay", "replay:", "replay:r1.", "replay:r1.AAAAAAA:"})
        EXPECT_NE(message_for(nullptr, bad), "") << bad;
}

TEST(ScheduleOptions, BadReplayString_IsReportedWithItsPosition) {
    try {
        parse_schedule({.strategy = "replay:r1.AB"});
        FAIL();
    } catch (const schedule_error& error) {
        EXPECT_EQ(error.position(), 12u);
        EXPECT_NE(std::string(error.what()).find("ends too soon"), std::string::npos);
    }
}

// Tests that the printed line determines the whole run: parsed over other defaults, it yields the
// same run.
TEST(ScheduleOptions, ReplayLine_RepeatsTheRun) {
    schedule_options pct{.strategy = strategy::pct, .seed = 58, .depth = 4, .expected_steps = 9};
    EXPECT_EQ(replay_line(pct), "IRPVERBS_SEED=58 IRPVERBS_STRATEGY=pct:4:9");
    const schedule_options read = parse_schedule({.seed = "58", .strategy = "pct:4:9"});
    const auto first = make_choices(pct);
    const auto second = make_choices(read);
    const std::array<actor_id, 3> three{0, 1, 2};
    for (int i = 0; i < 20; ++i) {
        first->pick_actor(three, true, false);
        second->pick_actor(three, true, false);
    }
    EXPECT_EQ(first->trace(), second->trace());
    EXPECT_EQ(replay_line(schedule_options{.seed = 58}),
              "IRPVERBS_SEED=58 IRPVERBS_STRATEGY=random");
    EXPECT_EQ(replay_line(parse_schedule({.strategy = "exhaustive"})),
              "IRPVERBS_STRATEGY=exhaustive");
    EXPECT_EQ(replay_line(parse_schedule({.strategy = "exhaustive:2"})),
              "IRPVERBS_STRATEGY=exhaustive:2");
    const std::string line = replay_line(first->trace());
    const std::string value = line.substr(line.find('=') + 1);
    const schedule_options replay = parse_schedule({.strategy = value.c_str()});
    EXPECT_EQ(replay.script, first->trace());
    EXPECT_EQ(replay_line(replay), line);
}

TEST(ScheduleOptions, NamedStrategy_IsMade) {
    const auto made = [](const char* text) {
        return make_choices(parse_schedule({.strategy = text}));
    };
    EXPECT_NE(dynamic_cast<random_choices*>(made("random").get()), nullptr);
    EXPECT_NE(dynamic_cast<pct_choices*>(made("pct").get()), nullptr);
    EXPECT_NE(dynamic_cast<exhaustive_choices*>(made("exhaustive").get()), nullptr);
    const std::string replay = "replay:" + to_replay_string(trace_t{});
    EXPECT_NE(dynamic_cast<replay_choices*>(made(replay.c_str()).get()), nullptr);
}

} // namespace
} // namespace irpverbs::dispatch
