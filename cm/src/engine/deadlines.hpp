// The deadlines of a port, in one timer.
#pragma once

#include "times.hpp"

#include <boost/intrusive/set.hpp>

namespace irpverbs::cm::engine {

class effects;

/// An object with a deadline, which it need not have at present.
struct timed {
    virtual ~timed() = default;
    /// The deadline has passed, and is no longer set. Called under the port's lock.
    virtual void on_time(effects& fx) = 0;

    boost::intrusive::set_member_hook<> deadline_entry;
    ticks due = 0;
};

/// The caller holds the port's lock.
class deadlines {
public:
    void set(timed& of, ticks due) {
        clear(of);
        of.due = due;
        all_.insert(of);
    }
    void clear(timed& of) {
        if (of.deadline_entry.is_linked()) all_.erase(all_.iterator_to(of));
    }
    bool empty() const { return all_.empty(); }
    ticks first() const { return all_.begin()->due; }
    /// Removes and returns one that is due, or null.
    timed* remove_due(ticks now) {
        if (all_.empty() || first() > now) return nullptr;
        timed& next = *all_.begin();
        all_.erase(all_.begin());
        return &next;
    }

private:
    struct by_due {
        bool operator()(const timed& left, const timed& right) const {
            return left.due < right.due;
        }
    };
    boost::intrusive::multiset<
        timed,
        boost::intrusive::member_hook<timed, boost::intrusive::set_member_hook<>,
                                      &timed::deadline_entry>,
        boost::intrusive::compare<by_due>>
        all_;
};

} // namespace irpverbs::cm::engine
