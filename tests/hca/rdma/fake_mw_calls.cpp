#include "fake_mw_calls.hpp"

namespace irpverbs::testing {

ibv_mw* mw_calls::alloc_mw(ibv_pd* with, ibv_mw_type type) {
    return make<ibv_mw>(fake_verbs::alloc_mw, [&](ibv_mw*& made) {
        if (of(with->context).of->gone) return EIO;
        made = new ibv_mw();
        made->context = with->context;
        made->pd = with;
        made->type = type;
        made->rkey = now()->next_number_++ << 8;
        ++static_cast<fake_verbs::domain*>(with)->users;
        ++now()->windows_;
        return 0;
    });
}

int mw_calls::dealloc_mw(ibv_mw* which) {
    const int result = verb(fake_verbs::dealloc_mw, [&] {
        --static_cast<fake_verbs::domain*>(which->pd)->users;
        --now()->windows_;
        return 0;
    });
    if (result == 0) delete which;
    return result;
}

int mw_calls::bind_mw(ibv_qp* by, ibv_mw* which, ibv_mw_bind* how) {
    return ask(fake_verbs::bind_mw, by->context, [&](const device&) {
        now()->bindings.push_back(*how);
        ++which->rkey;
        return 0;
    });
}

} // namespace irpverbs::testing
