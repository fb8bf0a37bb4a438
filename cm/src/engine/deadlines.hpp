// The deadlines of a port, in one timer.
#pragma once

#include "port_object.hpp"

namespace irpverbs::cm::engine {

/// The caller holds the port's lock.
class deadlines {
public:
    void set(port_object& of, ticks due) {
        clear(of);
        of.due = due;
        all_.insert(of);
    }
    void clear(port_object& of) {
        if (of.deadline_entry.is_linked()) all_.erase(all_.iterator_to(of));
    }
    bool empty() const { return all_.empty(); }
    ticks first() const { return all_.begin()->due; }
    /// Removes and returns one that is due, or null.
    port_object* remove_due(ticks now) {
        if (all_.empty() || first() > now) return nullptr;
        port_object& next = *all_.begin();
        all_.erase(all_.begin());
        return &next;
    }

private:
    struct by_due {
        bool operator()(const port_object& left, const port_object& right) const {
            return left.due < right.due;
        }
    };
    boost::intrusive::multiset<
        port_object,
        boost::intrusive::member_hook<port_object, boost::intrusive::set_member_hook<>,
                                      &port_object::deadline_entry>,
        boost::intrusive::compare<by_due>>
        all_;
};

} // namespace irpverbs::cm::engine
