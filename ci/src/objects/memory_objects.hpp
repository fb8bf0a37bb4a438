// Protection domains, memory regions and memory windows.
#pragma once

#include "child_object.hpp"
#include "turn_queue.hpp"

namespace irpverbs::ci {

struct pd_object final : child_object<pd_object, HCA_PD, ca_object> {
    static constexpr const char* name = "pd";
    static constexpr unsigned channel_count = 0;
    static SIZE_T extension_size(const HCA_DEVICE& of) { return of.PdExtensionSize; }

    explicit pd_object(event_channel* channels) : child_object(channels) {}
    void set_up(const create_parameters& wanted, event_channel*) { shared.Pd.Type = wanted.count; }
};

struct mr_object final : child_object<mr_object, HCA_MR, pd_object> {
    static constexpr const char* name = "mr";
    static constexpr unsigned channel_count = 0;
    static constexpr bool may_stay = true;
    static SIZE_T extension_size(const HCA_DEVICE& of) { return of.MrExtensionSize; }

    static used_objects used_by(const create_parameters& wanted);
    used_objects used() const;

    explicit mr_object(event_channel* channels) : child_object(channels) {}
    void set_up(const create_parameters& wanted, event_channel*);

    turn_queue* turns() override { return &turns_; } // of changes and queries
    /// Checks a change, just before the driver executes it. A new domain then counts the region.
    template <class Change>
    NTSTATUS begin_change(const Change* wanted);
    void on_changed(const parameters& with, NTSTATUS status) override;

private:
    turn_queue turns_;
    pd_object* next_pd_ = nullptr; // of the change under way; null: it does not begin
};

struct mw_object final : child_object<mw_object, HCA_MW, pd_object> {
    static constexpr const char* name = "mw";
    static constexpr unsigned channel_count = 0;
    static SIZE_T extension_size(const HCA_DEVICE& of) { return of.MwExtensionSize; }

    explicit mw_object(event_channel* channels) : child_object(channels) {}
    void set_up(const create_parameters& wanted, event_channel*) { shared.Mw.Type = wanted.count; }
};

} // namespace irpverbs::ci
