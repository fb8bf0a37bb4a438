// Writes events of IRPs in the Trace Event Format: for each processor a track with its steps and a
// track with its IRQL below it, an arrow from each call to its completion, and a span for each IRP
// from its first call to its return to the originator.
#include <irp/trace.hpp>

#include <dispatch/ntstatus.h>
#include <dispatch/support/safe_text.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <ostream>
#include <utility>

namespace irpverbs::irp {
namespace {

std::string quoted(const std::string& text) {
    std::string json;
    dispatch::append_json_string(text, json);
    return json;
}

std::string member(const char* name, const std::string& value) {
    return ",\"" + std::string(name) + "\":" + value;
}

std::string status_name(NTSTATUS status) {
    if (const char* name = NtStatusName(status)) return name;
    char text[12];
    std::snprintf(text, sizeof text, "0x%08X", static_cast<unsigned>(status));
    return text;
}

std::string level_name(KIRQL irql) {
    switch (irql) {
    case PASSIVE_LEVEL:
        return "PASSIVE_LEVEL";
    case APC_LEVEL:
        return "APC_LEVEL";
    case DISPATCH_LEVEL:
        return "DISPATCH_LEVEL";
    default:
        return "IRQL " + std::to_string(irql);
    }
}

std::string major_name(UCHAR major) {
    switch (major) {
    case IRP_MJ_CREATE:
        return "IRP_MJ_CREATE";
    case IRP_MJ_CLOSE:
        return "IRP_MJ_CLOSE";
    case IRP_MJ_READ:
        return "IRP_MJ_READ";
    case IRP_MJ_WRITE:
        return "IRP_MJ_WRITE";
    case IRP_MJ_DEVICE_CONTROL:
        return "IRP_MJ_DEVICE_CONTROL";
    case IRP_MJ_INTERNAL_DEVICE_CONTROL:
        return "IRP_MJ_INTERNAL_DEVICE_CONTROL";
    default:
        return "major function " + std::to_string(major);
    }
}

std::string plain_request(const trace_event& sent) {
    const std::string minor = sent.minor != 0 ? ", minor " + std::to_string(sent.minor) : "";
    return major_name(sent.major) + minor;
}

std::string plain_device(const trace_event& sent) {
    return "device#" + std::to_string(sent.device_number);
}

std::string name_from(const trace_names::source& given, std::string (*plain)(const trace_event&),
                      const trace_event& sent) {
    std::string name = given ? given(sent) : "";
    return name.empty() ? plain(sent) : name;
}

std::string number_of(const trace_event& event) { return "irp#" + std::to_string(event.irp); }

bool is_completion(trace_step step) {
    return step != trace_step::sent && step != trace_step::cancelling &&
           step != trace_step::cancel_routine;
}

bool is_instant(const trace_event& event) {
    return event.step == trace_step::location_completed ||
           event.step == trace_step::returned_to_originator;
}

/// The part of an event in an arrow, which runs from the (repeated) sending of a location to its
/// completion.
struct arrow {
    char phase = 0; // s(tart), t (continues), f(inish); 0: no part
    std::size_t id = 0;
};

// Keeps only arrows with both ends.
std::vector<arrow> find_arrows(const std::vector<trace_event>& events) {
    std::vector<arrow> parts(events.size());
    std::map<std::pair<std::uint64_t, int>, std::vector<std::size_t>> open;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const trace_event& each = events[i];
        if (each.ends) continue;
        const std::pair key(each.irp, each.location);
        if (each.step == trace_step::sent) open[key].push_back(i);
        if (each.step != trace_step::completion_routine &&
            each.step != trace_step::location_completed)
            continue;
        const auto calls = open.find(key);
        if (calls == open.end()) continue;
        for (const std::size_t call : calls->second)
            parts[call] = {call == calls->second.front() ? 's' : 't', i};
        parts[i] = {'f', i};
        open.erase(calls);
    }
    return parts;
}

class writer {
public:
    writer(std::ostream& out, const trace_names& names) : out_(out), names_(names) {}

    void write(const std::vector<trace_event>& events, std::uint64_t dropped) {
        out_ << "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":" << dropped
             << "},\"traceEvents\":[\n"
             << R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"machine"}})";
        const std::vector<arrow> arrows = find_arrows(events);
        for (std::size_t i = 0; i < events.size(); ++i)
            write(events[i], arrows[i]);
        finish();
        out_ << "\n]}\n";
    }

private:
    /// A processor, or an actor on it. The next track shows its IRQL.
    struct track {
        std::size_t id = 0;
        std::size_t depth = 0; // steps that have begun
        KIRQL irql = PASSIVE_LEVEL;
        bool shows_irql = false;
    };

    struct request {
        std::string name;
        std::size_t track = 0; // track that sent it; 0: the originator has it
    };

    void emit(char phase, std::size_t track_id, const std::string& members) {
        char head[96];
        std::snprintf(head, sizeof head, ",\n{\"ph\":\"%c\",\"pid\":1,\"tid\":%zu,\"ts\":%llu.%03u",
                      phase, track_id, static_cast<unsigned long long>(now_ / 1000),
                      static_cast<unsigned>(now_ % 1000));
        out_ << head << members << '}';
    }

    void name_track(std::size_t id, const std::string& name) {
        out_ << ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":" << id
             << ",\"name\":\"thread_name\",\"args\":{\"name\":" << quoted(name) << "}}"
             << ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":" << id
             << ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":" << id << "}}";
    }

    track& track_of(const trace_event& event) {
        const auto [place, fresh] = tracks_.try_emplace({event.processor, event.actor});
        if (fresh) {
            place->second.id = 2 * tracks_.size() - 1;
            name_track(place->second.id, event.actor);
            name_track(place->second.id + 1, event.actor + ": IRQL");
        }
        return place->second;
    }

    // Events with equal times are drawn a nanosecond apart, in their order.
    void advance(const trace_event& event) { now_ = std::max(event.time * 100, now_ + 1); }

    void write(const trace_event& event, const arrow& part) {
        track& where = track_of(event);
        if (event.ends && where.depth == 0) return; // began before the recorder
        advance(event);
        if (event.ends)
            end_step(where, event);
        else if (is_instant(event))
            mark(where, event);
        else
            begin_step(where, event);
        if (part.phase != 0) emit_arrow(where, part);
        span_irp(where, event);
    }

    void begin_step(track& where, const trace_event& event) {
        show_irql(where, event.irql);
        if (event.step == trace_step::sent) store_names(event);
        ++where.depth;
        emit('B', where.id,
             member("name", quoted(title(event))) + member("cat", category(event)) +
                 arguments(event));
    }

    void end_step(track& where, const trace_event& event) {
        const bool returns =
            event.step == trace_step::sent || event.step == trace_step::completion_routine;
        emit('E', where.id,
             returns ? member("args", "{\"returned\":" + quoted(status_name(event.status)) + '}')
                     : "");
        if (--where.depth == 0)
            hide_irql(where);
        else
            show_irql(where, event.irql);
    }

    void mark(const track& where, const trace_event& event) {
        const char* what = event.step == trace_step::returned_to_originator
                               ? "at the top"
                               : "no completion routine";
        emit('i', where.id,
             member("name", quoted(what)) + member("cat", category(event)) + member("s", "\"t\"") +
                 arguments(event));
    }

    // "bp": the arrow ends in the step around its point, not in the next step that begins.
    void emit_arrow(const track& where, const arrow& part) {
        emit(part.phase, where.id,
             member("name", "\"completes\"") + member("cat", "\"arrow\"") +
                 member("id", std::to_string(part.id)) +
                 (part.phase == 's' ? "" : member("bp", "\"e\"")));
    }

    // The span from an IRP's first call until its originator has it again.
    void span_irp(const track& where, const trace_event& event) {
        if (event.ends) return;
        request& irp = requests_[event.irp];
        if (event.step == trace_step::sent && irp.track == 0) {
            irp.track = where.id;
            span('b', where.id, event.irp, irp.name);
        } else if (event.step == trace_step::cancelling && irp.track != 0) {
            span('n', where.id, event.irp, "cancelled");
        } else if (irp.track != 0 && is_at_originator(event)) {
            irp.track = 0;
            span('e', where.id, event.irp, irp.name);
        }
    }

    static bool is_at_originator(const trace_event& event) {
        return event.step == trace_step::returned_to_originator ||
               (event.step == trace_step::completion_routine && event.device_number == 0);
    }

    void span(char phase, std::size_t track_id, std::uint64_t irp, const std::string& name) {
        emit(phase, track_id,
             member("name", quoted(name)) + member("cat", "\"irp\"") +
                 member("id", std::to_string(irp)));
    }

    void show_irql(track& where, KIRQL irql) {
        if (where.shows_irql && where.irql == irql) return;
        hide_irql(where);
        where.irql = irql;
        where.shows_irql = true;
        emit('B', where.id + 1,
             member("name", quoted(level_name(irql))) + member("cat", "\"irql\""));
    }

    void hide_irql(track& where) {
        if (where.shows_irql) emit('E', where.id + 1, "");
        where.shows_irql = false;
    }

    void finish() {
        for (auto& [key, each] : tracks_) {
            for (; each.depth != 0; --each.depth)
                emit('E', each.id, "");
            hide_irql(each);
        }
        for (const auto& [irp, each] : requests_)
            if (each.track != 0) span('e', each.track, irp, each.name);
    }

    void store_names(const trace_event& sent) {
        devices_.try_emplace(sent.device_number, name_from(names_.device, plain_device, sent));
        request& irp = requests_[sent.irp];
        if (irp.track == 0)
            irp.name = name_from(names_.request, plain_request, sent) + ' ' + number_of(sent);
    }

    std::string device_name(const trace_event& event) const {
        const auto found = devices_.find(event.device_number);
        return found != devices_.end() ? found->second : plain_device(event);
    }

    std::string request_name(const trace_event& event) {
        const std::string& name = requests_[event.irp].name;
        return name.empty() ? number_of(event) : name;
    }

    std::string title(const trace_event& event) {
        switch (event.step) {
        case trace_step::sent:
            return name_from(names_.request, plain_request, event) + " to " + device_name(event);
        case trace_step::completing:
            return "IoCompleteRequest " + request_name(event);
        case trace_step::completion_routine:
            return "completion routine of " +
                   (event.device_number != 0 ? device_name(event) : std::string("the originator"));
        case trace_step::cancelling:
            return "IoCancelIrp " + request_name(event);
        case trace_step::cancel_routine:
            return "cancel routine of " + device_name(event);
        default:
            return "";
        }
    }

    static std::string category(const trace_event& event) {
        if (is_completion(event.step)) return "\"completion\"";
        return event.step == trace_step::sent ? "\"call\"" : "\"cancel\"";
    }

    static std::string arguments(const trace_event& event) {
        std::string text =
            "{\"irp\":" + quoted(number_of(event)) + member("irql", quoted(level_name(event.irql)));
        if (event.location != 0) text += member("location", std::to_string(event.location));
        if (is_completion(event.step)) text += member("status", quoted(status_name(event.status)));
        return member("args", text + '}');
    }

    std::ostream& out_;
    const trace_names& names_;
    std::map<std::pair<std::uint32_t, std::string>, track> tracks_;
    std::map<std::uint64_t, request> requests_;
    std::map<std::uint32_t, std::string> devices_;
    std::uint64_t now_ = 0; // ns
};

} // namespace

void write_trace(std::ostream& out, const std::vector<trace_event>& events,
                 const trace_names& names, std::uint64_t dropped) {
    writer(out, names).write(events, dropped);
}

} // namespace irpverbs::irp
