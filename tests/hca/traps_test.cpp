// How long a trap is repeated, and the events that end it.
#include "unmanaged_subnet.hpp"

namespace {

using namespace irpverbs::testing;

constexpr UCHAR repress_method = 7;
constexpr USHORT link_integrity = 129;
constexpr LONGLONG millisecond = 10'000;
constexpr LONGLONG tick = 100 * millisecond; // of the timer that repeats traps

// Source: IBA 14.2.5.6 (SubnetTimeOut).
constexpr LONGLONG encoded_time(UCHAR value) { return (4096LL << value) / 100; }

class Traps : public unmanaged_subnet {
protected:
    static constexpr UCHAR timeout = 18; // of every port at first
    static constexpr std::uint64_t key = 0x1234;

    void raise_event() {
        EXPECT_EQ(HcaSoftwareReportErrorThreshold(hcas.guid(2), 1, link_integrity), STATUS_SUCCESS);
    }
    mad next() { return listener().receive().data; }
    static std::uint64_t number_of(const mad& notice) { return notice.get<2>(smp_data + 4); }
    static mad repress_of(const mad& notice) {
        mad repress = notice;
        repress[3] = repress_method;
        return repress;
    }
    void send(const mad& what, ib_lid_t to = 3) {
        EXPECT_EQ(listener().send(to_subnet(to), what), STATUS_SUCCESS);
    }
    /// Returns whether the trap is repeated within two periods.
    bool next_repetition() {
        for (int i = 0; i < 4; ++i)
            if (number_of(next()) == link_integrity) return true;
        return false;
    }
    bool silent_for(LONGLONG time) {
        mad data;
        IB_MAD_RECEIVE into{};
        into.Data = data.data();
        into.Size = IB_MAD_SIZE;
        verb_call get([&](IRP* irp) { return CiGetMad(listener().agent(), &into, irp); });
        pass(time);
        const bool silent = !get.done();
        get.cancel();
        return silent;
    }
    static void pass(LONGLONG time) {
        LARGE_INTEGER from_now;
        from_now.QuadPart = -time;
        KeDelayExecutionThread(KernelMode, FALSE, &from_now);
    }
    mad_client& listener() {
        if (listener_ == nullptr) {
            configure();
            listener_ = std::make_unique<mad_client>(one, agent_of(subnet_class, {trap_method}));
        }
        return *listener_;
    }

private:
    std::unique_ptr<mad_client> listener_;
};

TEST_P(Traps, UnrepressedTrap_RepeatsPerSubnetTimeout) {
    for (const UCHAR value : {timeout, UCHAR{20}}) {
        listener();
        manager.modify(host3, sm_port_info, 1, [&](mad& info) { info[smp_data + 51] = value; });
        raise_event();
        const mad first = next();
        EXPECT_EQ(number_of(first), link_integrity);
        ULONGLONG before = KeQueryInterruptTime();
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(next(), first);
            const ULONGLONG now = KeQueryInterruptTime();
            EXPECT_GE(now - before, static_cast<ULONGLONG>(encoded_time(value)));
            EXPECT_LE(now - before, static_cast<ULONGLONG>(encoded_time(value) + 2 * tick));
            before = now;
        }
        send(repress_of(first));
    }
}

TEST_P(Traps, RepressedTrap_IsNotRepeated) {
    listener();
    raise_event();
    send(repress_of(next()));
    EXPECT_TRUE(silent_for(2 * encoded_time(timeout) + 2 * tick));
    raise_event(); // the event occurs again
    EXPECT_EQ(number_of(next()), link_integrity);
}

TEST_P(Traps, RepressWithOtherIdOrPort_IsIgnored) {
    listener();
    raise_event();
    const mad notice = next();
    mad other = repress_of(notice);
    other.put<8>(8, notice.get<8>(8) + 1);
    send(other);
    EXPECT_TRUE(next_repetition());
    send(repress_of(notice), 12); // the switch's trap
    EXPECT_TRUE(next_repetition());
    send(repress_of(notice));
    EXPECT_TRUE(silent_for(2 * encoded_time(timeout) + 2 * tick));
}

TEST_P(Traps, RepressWithWrongMKey_IsIgnored) {
    listener();
    manager.modify(host3, sm_port_info, 1, [&](mad& info) { info.put<8>(smp_data, key); });
    raise_event();
    const mad notice = next();
    mad wrong = repress_of(notice);
    wrong.put<8>(smp_mkey, key + 1);
    send(wrong);
    EXPECT_TRUE(next_repetition());
    mad refused; // which raises a trap, too
    do
        refused = next();
    while (number_of(refused) == link_integrity);
    EXPECT_EQ(number_of(refused), 256u);
    EXPECT_EQ(refused[smp_data + 10 + 6], repress_method);
    for (const mad& each : {notice, refused})
        send(repress_of(each).put<8>(smp_mkey, key));
    EXPECT_TRUE(silent_for(2 * encoded_time(timeout) + 2 * tick));
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(Traps);

} // namespace
