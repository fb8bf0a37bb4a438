// The common parts of the fake kernel's functions.
#pragma once

#include "fake_verbs_objects.hpp"

#include <cerrno>
#include <cstdlib>

namespace irpverbs::testing {

/// The parts that the functions in the table have in common. Their objects are the fake's, whose
/// private members these classes may use.
struct verbs_calls {
    using context = fake_verbs::context;
    using channel = fake_verbs::channel;
    using queue = fake_verbs::queue;
    using pair = fake_verbs::pair;
    using shared = fake_verbs::shared;
    using device = fake_verbs::device;

    static fake_verbs* now() { return fake_verbs::now_; }

    static context& of(ibv_context* which) { return *static_cast<context*>(which); }
    static queue& of(ibv_cq* which) { return *static_cast<queue*>(which); }
    static channel& of(ibv_comp_channel* which) { return *static_cast<channel*>(which); }
    static pair& of(ibv_qp* which) { return *static_cast<pair*>(which); }
    static shared& of(ibv_srq* which) { return *static_cast<shared*>(which); }

    // `body()` performs the call and returns an errno, unless the test has it fail. errno is set
    // without the lock: another actor may run when the lock is released, and all actors share one
    // errno.
    template <class Body>
    static fake_verbs::failure run(fake_verbs::call which, const Body& body) {
        now()->pass(which);
        fake_verbs::failure ended{};
        {
            const std::lock_guard guard(now()->lock_);
            ended = now()->take(which);
            if (ended.result == 0) ended = {body(), 0};
        }
        errno = ended.error;
        return ended;
    }
    // `verb` returns a failure as most providers do; `read` returns -1 and sets errno.
    template <class Body>
    static int verb(fake_verbs::call which, const Body& body) {
        return run(which, body).result;
    }
    template <class Body>
    static int read(fake_verbs::call which, const Body& body) {
        const fake_verbs::failure ended = run(which, body);
        if (ended.result > 0) errno = ended.result;
        return ended.result != 0 ? -1 : 0;
    }
    // libibverbs has freed the object in every case.
    template <class Body>
    static int close(fake_verbs::call which, const Body& body) {
        now()->pass(which);
        const std::lock_guard guard(now()->lock_);
        body();
        return now()->take(which).result;
    }
    template <class Made, class Body>
    static Made* make(fake_verbs::call which, const Body& body) {
        Made* made = nullptr;
        const fake_verbs::failure ended = run(which, [&] { return body(made); });
        if (ended.result > 0) errno = ended.result;
        if (ended.result < -1) errno = -ended.result;
        return ended.result != 0 ? nullptr : made;
    }

    // Runs `body()` on a device that is present.
    template <class Body>
    static int ask(fake_verbs::call which, ibv_context* with, const Body& body) {
        return verb(which, [&] {
            const device& asked = *of(with).of;
            return asked.gone ? EIO : body(asked);
        });
    }

    // Work requests are posted until a call is to fail, or there is no space.
    template <class Request>
    static int post(fake_verbs::call which, std::vector<Request>& posted, Request* list,
                    Request** bad) {
        *bad = list;
        return verb(which, [&] {
            if (!now()->records_posts) return EOPNOTSUPP;
            now()->lengths_of_lists.push_back(0);
            for (; list != nullptr; list = list->next) {
                *bad = list;
                if (now()->space == 0) return ENOMEM;
                --now()->space;
                ++now()->lengths_of_lists.back();
                note(*list);
                posted.push_back(*list);
            }
            return 0;
        });
    }

    // A provider reads the key of a window during the post.
    static void note(const ibv_send_wr& what) {
        if (what.opcode == IBV_WR_BIND_MW) now()->keys_before.push_back(what.bind_mw.mw->rkey);
    }
    static void note(const ibv_recv_wr&) {}

    // Waits until `is_acknowledged()`, which is called under the lock.
    template <class Condition>
    static void wait_until(const Condition& is_acknowledged) {
        for (bool done = false; !done;) {
            KeClearEvent(&now()->acknowledged_);
            {
                const std::lock_guard guard(now()->lock_);
                done = is_acknowledged();
            }
            if (!done)
                KeWaitForSingleObject(&now()->acknowledged_, Executive, KernelMode, FALSE, nullptr);
        }
    }
};

} // namespace irpverbs::testing
