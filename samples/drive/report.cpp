#include "report.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/src.hpp> // Boost.JSON itself: headers are all it needs

namespace drive {

namespace {

using irpverbs::dispatch::explore_failure;
using irpverbs::dispatch::explore_summary;
namespace json = boost::json;

std::string text_of(const result& what) {
    const explore_summary& found = what.summary;
    std::string text = what.driver + ", " + what.script + ": ";
    text += found.passed() ? "no run failed\n" : "FAILED\n";
    return text + found.text() + '\n';
}

json::object json_of(const explore_summary::counts& counts) {
    json::object made{{"runs", counts.runs}, {"failures", counts.failures}};
    if (counts.first_failure) made["first_failure"] = *counts.first_failure;
    return made;
}

json::object json_of(const explore_failure& failure) {
    return {{"what", failure.what},         {"replay", failure.replay},
            {"found_by", failure.found_by}, {"decisions", failure.decisions},
            {"events", failure.event_log},  {"report", failure.report}};
}

std::string json_of(const result& what) {
    const explore_summary& found = what.summary;
    json::object made{{"driver", what.driver},
                      {"script", what.script},
                      {"passed", found.passed()},
                      {"random", json_of(found.random)},
                      {"pct", json_of(found.pct)},
                      {"exhaustive", json_of(found.exhaustive)},
                      {"all_schedules", found.exhausted && !found.preemptions}};
    if (found.exhausted && found.preemptions)
        made["all_schedules_with_preemptions_up_to"] = *found.preemptions;
    if (found.failure) made["failure"] = json_of(*found.failure);
    return json::serialize(made) + '\n';
}

// Characters that XML does not allow are left out.
std::string xml(const std::string& text) {
    std::string made;
    for (const char each : text) {
        switch (each) {
        case '<':
            made += "&lt;";
            break;
        case '>':
            made += "&gt;";
            break;
        case '&':
            made += "&amp;";
            break;
        case '"':
            made += "&quot;";
            break;
        default:
            if (static_cast<unsigned char>(each) >= ' ' || each == '\n' || each == '\t')
                made += each;
        }
    }
    return made;
}

std::string junit_of(const result& what) {
    const explore_summary& found = what.summary;
    std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                       "<testsuite name=\"irpverbs-drive\" tests=\"1\" failures=\"";
    text += found.passed() ? "0" : "1";
    text += "\">\n  <testcase classname=\"" + xml(what.driver) + "\" name=\"" + xml(what.script) +
            "\">\n";
    if (!found.passed()) {
        const std::string report = found.text();
        const std::string first = found.failure ? found.failure->what : report;
        text += "    <failure message=\"" + xml(first.substr(0, first.find('\n'))) + "\">" +
                xml(report) + "</failure>\n";
    }
    return text + "  </testcase>\n</testsuite>\n";
}

} // namespace

std::string written_as(format form, const result& what) {
    switch (form) {
    case format::json:
        return json_of(what);
    case format::junit:
        return junit_of(what);
    case format::text:
        break;
    }
    return text_of(what);
}

} // namespace drive
