// Checks a trace against the rules of the Trace Event Format that viewers rely on.
#pragma once

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace irpverbs::testing {

/// The counts and names of the events in a trace.
struct trace_contents {
    std::size_t slices = 0;
    std::size_t spans = 0;
    std::size_t arrows = 0;
    std::size_t crossing = 0; // arrows from one track to another
    std::size_t cancels = 0;
    std::multiset<std::string> names; // of slices
    std::map<std::int64_t, std::string> tracks;

    bool has(const std::string& name) const { return names.contains(name); }
};

namespace trace_parts {

class trace_reader {
public:
    trace_contents read(std::string_view text) {
        boost::system::error_code wrong;
        const boost::json::value whole = boost::json::parse(text, wrong);
        EXPECT_FALSE(wrong) << wrong.message();
        if (wrong) return found_;
        for (const boost::json::value& each : whole.at("traceEvents").as_array())
            read(each.as_object());
        for (const auto& [track, open] : open_)
            EXPECT_TRUE(open.empty()) << "track " << track << " has a slice without an end";
        EXPECT_TRUE(arrows_.empty()) << arrows_.size() << " arrows without an end";
        EXPECT_TRUE(spans_.empty()) << spans_.size() << " spans without an end";
        for (const auto& [track, open] : open_)
            EXPECT_TRUE(found_.tracks.contains(track)) << "track " << track << " has no name";
        return found_;
    }

private:
    using object = boost::json::object;

    static std::string text(const object& event, const char* name) {
        return std::string(event.at(name).as_string());
    }

    void read(const object& event) {
        const std::string phase = text(event, "ph");
        ASSERT_EQ(phase.size(), 1u);
        EXPECT_TRUE(event.contains("pid"));
        if (phase == "M") return name_track(event);
        track_ = event.at("tid").to_number<std::int64_t>();
        const double time = event.at("ts").to_number<double>();
        EXPECT_GE(time, time_) << "the trace goes back in time";
        time_ = time;
        switch (phase[0]) {
        case 'B':
            ++found_.slices;
            found_.names.insert(text(event, "name"));
            return open_[track_].push_back(text(event, "name"));
        case 'E':
            ASSERT_FALSE(open_[track_].empty()) << "an end without a beginning";
            return open_[track_].pop_back();
        case 'i':
            EXPECT_EQ(text(event, "s"), "t");
            return;
        case 's':
        case 't':
        case 'f':
            return read_arrow(phase[0], event);
        case 'b':
        case 'n':
        case 'e':
            return read_span(phase[0], event);
        default:
            ADD_FAILURE() << "unknown phase " << phase;
        }
    }

    void name_track(const object& event) {
        if (text(event, "name") != "thread_name") return;
        found_.tracks[event.at("tid").to_number<std::int64_t>()] =
            text(event.at("args").as_object(), "name");
    }

    std::string identity(const object& event) const {
        return text(event, "cat") + '/' + serialize(event.at("id"));
    }

    void read_arrow(char phase, const object& event) {
        const std::string id = identity(event) + '/' + text(event, "name");
        EXPECT_FALSE(open_[track_].empty()) << "an arrow's end hangs in no slice";
        if (phase == 's') {
            EXPECT_TRUE(arrows_.emplace(id, track_).second) << "two arrows are called " << id;
            return;
        }
        EXPECT_EQ(text(event, "bp"), "e");
        const auto from = arrows_.find(id);
        ASSERT_NE(from, arrows_.end()) << "an arrow without a beginning: " << id;
        if (phase == 't') return;
        ++found_.arrows;
        if (from->second != track_) ++found_.crossing;
        arrows_.erase(from);
    }

    void read_span(char phase, const object& event) {
        const std::string id = identity(event);
        if (phase == 'b') {
            ++found_.spans;
            EXPECT_TRUE(spans_.insert(id).second) << "a span begins twice: " << id;
        } else if (phase == 'n') {
            ++found_.cancels;
            EXPECT_TRUE(spans_.contains(id)) << id;
        } else {
            EXPECT_EQ(spans_.erase(id), 1u) << "a span that did not begin: " << id;
        }
    }

    trace_contents found_;
    std::map<std::int64_t, std::vector<std::string>> open_;
    std::map<std::string, std::int64_t> arrows_;
    std::set<std::string> spans_;
    std::int64_t track_ = 0;
    double time_ = 0;
};

} // namespace trace_parts

/// Expects a trace that viewers accept, in which each begin event has its end event.
inline trace_contents expect_trace(std::string_view text) {
    return trace_parts::trace_reader().read(text);
}

} // namespace irpverbs::testing
