#include "fabric_drawing.hpp"

#include <dispatch/support/safe_text.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <fmt/format.h>
#include <utility>

namespace irpctl {

namespace {

const char* colour_of(const fabric_port& port) {
    if (port.state == "Active") return "#2a7d3f";
    return port.state == "Down" ? "#b3261e" : "#c77700";
}

bool has_manager(const fabric_node& node) {
    return std::ranges::any_of(node.ports,
                               [](const auto& each) { return !each.second.manager.empty(); });
}

// The fabric chooses the names, so they are escaped.
std::string escaped(const std::string& text, bool xml) {
    std::string made;
    for (const char each : irpverbs::dispatch::printable(text)) {
        if (xml && each == '<')
            made += "&lt;";
        else if (xml && each == '&')
            made += "&amp;";
        else if (!xml && (each == '"' || each == '\\'))
            made += std::string("\\") + each;
        else
            made += each;
    }
    return made;
}

/// The position of each node: rows from the top, and columns in a row.
class layout {
public:
    explicit layout(const fabric_map& map) : map_(map), row_(map.nodes().size(), 0) {
        measure();
        place();
    }

    static constexpr unsigned row_height = 140;
    static constexpr unsigned margin = 40;

    unsigned width() const { return margin * 2 + widest_ * pitch; }
    unsigned height() const { return margin * 2 + deepest_ * row_height + box_height; }
    double x(std::size_t node) const { return x_[node]; }
    double y(std::size_t node) const { return margin + row(node) * row_height + box_height / 2.0; }

    static constexpr unsigned pitch = 120;
    static constexpr unsigned box_width = 104;
    static constexpr unsigned box_height = 40;

private:
    unsigned row(std::size_t node) const { return deepest_ - row_[node]; }

    // Sets each node's row: its distance from the nearest host.
    void measure() {
        constexpr unsigned far = 1u << 16;
        std::deque<std::size_t> reached;
        for (std::size_t i = 0; i < row_.size(); ++i) {
            row_[i] = map_.nodes()[i].is_switch ? far : 0;
            if (row_[i] == 0) reached.push_back(i);
        }
        while (!reached.empty()) {
            const std::size_t here = reached.front();
            reached.pop_front();
            for (const auto& [number, port] : map_.nodes()[here].ports)
                if (port.peer && row_[*port.peer] == far) {
                    row_[*port.peer] = row_[here] + 1;
                    reached.push_back(*port.peer);
                }
        }
        for (unsigned& each : row_) {
            if (each == far) each = 1; // no host is reachable
            deepest_ = std::max(deepest_, each);
        }
    }

    // Hosts stand in the order of the switches to which they are attached.
    void place() {
        x_.resize(row_.size());
        for (unsigned at = 0; at <= deepest_; ++at) {
            std::vector<std::size_t> members;
            for (std::size_t i = 0; i < row_.size(); ++i)
                if (row_[i] == at) members.push_back(i);
            std::ranges::sort(members, {},
                              [this](std::size_t each) { return std::pair(above(each), each); });
            widest_ = std::max(widest_, static_cast<unsigned>(members.size()));
            rows_.push_back(std::move(members));
        }
        for (const std::vector<std::size_t>& members : rows_)
            for (std::size_t i = 0; i < members.size(); ++i)
                x_[members[i]] = margin + (static_cast<double>(i) + 0.5) * pitch * widest_ /
                                              static_cast<double>(members.size());
    }
    std::size_t above(std::size_t node) const {
        for (const auto& [number, port] : map_.nodes()[node].ports)
            if (port.peer && row_[*port.peer] > row_[node]) return *port.peer;
        return row_.size();
    }

    const fabric_map& map_;
    std::vector<unsigned> row_; // counted from the lowest row
    std::vector<std::vector<std::size_t>> rows_;
    std::vector<double> x_;
    unsigned deepest_ = 0;
    unsigned widest_ = 1;
};

/// Numbers the parallel links between two nodes, and returns how far each link is bent aside.
class edge_routing {
public:
    explicit edge_routing(const std::vector<fabric_link>& links) {
        for (const fabric_link& each : links)
            ++all_[ends(each)];
    }
    double next(const fabric_link& link) {
        const unsigned number = drawn_[ends(link)]++;
        return 16 * (number - (all_[ends(link)] - 1) / 2.0);
    }

private:
    using pair = std::pair<std::size_t, std::size_t>;
    static pair ends(const fabric_link& link) { return {link.from, link.to}; }

    std::map<pair, unsigned> all_;
    std::map<pair, unsigned> drawn_;
};

// A link between nodes of one row passes above the row, since other nodes may lie on the straight
// line.
std::string svg_link(const fabric_map& map, const layout& places, const fabric_link& link,
                     double bend) {
    const fabric_port& port = map.nodes()[link.from].ports.at(link.from_port);
    const double wide = places.x(link.to) - places.x(link.from);
    const double high = places.y(link.to) - places.y(link.from);
    const double length = std::hypot(wide, high);
    const double above = high == 0 ? length / 4 : 0;
    return fmt::format(
        "<path d=\"M{:.0f} {:.0f}Q{:.0f} {:.0f} {:.0f} {:.0f}\" stroke=\"{}\"><title>{} - {}: {} "
        "{}</title></path>\n",
        places.x(link.from), places.y(link.from),
        places.x(link.from) + wide / 2 + 2 * bend * high / std::max(length, 1.0),
        places.y(link.from) + high / 2 - 2 * bend * wide / std::max(length, 1.0) - above,
        places.x(link.to), places.y(link.to), colour_of(port),
        escaped(map.place(link.from, link.from_port), true),
        escaped(map.place(link.to, link.to_port), true), port.link, port.state);
}

// Truncates a name to the width of the box, between characters of UTF-8.
std::string label_of(const std::string& raw_name) {
    constexpr std::size_t most = 15;
    const std::string name = irpverbs::dispatch::printable(raw_name);
    if (name.size() <= most) return escaped(name, true);
    std::size_t end = most - 1;
    while (end != 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80)
        --end;
    return escaped(name.substr(0, end), true) + "&#8230;";
}

std::string svg_box(const fabric_node& node, double x, double y) {
    const bool manages = has_manager(node);
    std::string lids;
    for (const auto& [number, port] : node.ports)
        if (port.lid != 0) lids += fmt::format(" {}", port.lid);
    return fmt::format(
        "<g><title>{0}, GUID 0x{1:016x}{2}</title><rect x=\"{3:.0f}\" y=\"{4:.0f}\" width=\"{5}\" "
        "height=\"{6}\" rx=\"{7}\" fill=\"{8}\" stroke=\"#333\"{9}/>\n"
        "<text x=\"{10:.0f}\" y=\"{11:.0f}\">{15}</text><text x=\"{10:.0f}\" y=\"{12:.0f}\" "
        "class=\"small\">LID{13}{14}</text></g>\n",
        escaped(node.name, true), node.guid, manages ? ", subnet manager" : "",
        x - layout::box_width / 2.0, y - layout::box_height / 2.0, layout::box_width,
        layout::box_height, node.is_switch ? 2 : 12,
        manages          ? "#ffe9a8"
        : node.is_switch ? "#dbe7f5"
                         : "#f2f2f2",
        manages ? " stroke-width=\"2.5\"" : "", x, y - 3, y + 13, lids, manages ? " SM" : "",
        label_of(node.name));
}

std::string dot_node(std::size_t number, const fabric_node& node) {
    return fmt::format("  n{} [label=\"{}{}\" shape={}{}];\n", number, escaped(node.name, false),
                       has_manager(node) ? "\\nSM" : "", node.is_switch ? "box" : "ellipse",
                       has_manager(node) ? " style=filled fillcolor=\"#ffe9a8\"" : "");
}

} // namespace

std::string dot_of(const fabric_map& map) {
    std::string text = "graph fabric {\n  ranksep=1.5;\n";
    for (std::size_t i = 0; i < map.nodes().size(); ++i)
        text += dot_node(i, map.nodes()[i]);
    for (const fabric_link& each : map.links()) {
        const fabric_port& port = map.nodes()[each.from].ports.at(each.from_port);
        text += fmt::format("  n{} -- n{} [taillabel={} headlabel={} label=\"{}\" color=\"{}\"];\n",
                            each.from, each.to, each.from_port, each.to_port, port.link,
                            colour_of(port));
    }
    return text + "}\n";
}

std::string svg_of(const fabric_map& map) {
    const layout places(map);
    std::string text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\">\n<style>text{{font:12px sans-serif;text-anchor:middle}}"
        ".small{{font-size:10px;fill:#555}}path{{stroke-width:1.5;fill:none}}</style>\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
        places.width(), places.height());
    const std::vector<fabric_link> links = map.links();
    edge_routing aside(links);
    for (const fabric_link& each : links)
        text += svg_link(map, places, each, aside.next(each));
    for (std::size_t i = 0; i < map.nodes().size(); ++i)
        text += svg_box(map.nodes()[i], places.x(i), places.y(i));
    return text + "</svg>\n";
}

} // namespace irpctl
