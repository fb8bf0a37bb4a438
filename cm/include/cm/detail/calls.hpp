// The operations behind the wrappers of the verbs.
#pragma once

#include <cm/handles.hpp>

#include <optional>

namespace irpverbs::cm::detail {

using ci::detail::access;
using ci::detail::closing_handle;
using ci::detail::fail_unsent;
using ci::detail::parent_handles;

/// A verb that makes an object and fills a Data: `send(data, irp)`. The result is {handle, Data}.
template <class Result, class Data, class Send, class Handle = connection>
struct object_call {
    parent_handles parents;
    Send send;
    Data data{};
    std::shared_ptr<closing_handle> made = nullptr;

    CCHAR stack_size() const { return 1; }
    void start(IRP* irp) {
        made = closing_handle::reserve(access::closing_verb_of<Handle>, std::move(parents));
        if (made != nullptr)
            send(data, irp);
        else
            fail_unsent(irp, STATUS_INSUFFICIENT_RESOURCES);
    }
    Result result(ULONG_PTR information) && {
        if (information == 0) return {Handle(), data};
        made->set_object(reinterpret_cast<void*>(information));
        return {access::handle<Handle>(std::move(made)), data};
    }
};

/// A verb that fills a Data.
template <class Data, class Send>
struct data_call {
    Send send;
    Data data{};
    std::shared_ptr<closing_handle> parent = nullptr; // kept until completion

    CCHAR stack_size() const { return 1; }
    void start(IRP* irp) { send(data, irp); }
    Data result(ULONG_PTR) && { return data; }
};

/// A connection of which the handle keeps a queue pair from now on, too.
struct binding {
    /// False: no memory.
    static bool bind(connection& link, std::shared_ptr<closing_handle> qp) {
        const std::shared_ptr<closing_handle> before = link.open_handle();
        auto fresh =
            closing_handle::reserve(access::closing_verb_of<connection>, {before, std::move(qp)});
        if (fresh == nullptr) return false;
        fresh->set_object(before->object());
        before->set_object(nullptr);
        link = access::handle<connection>(std::move(fresh));
        return true;
    }
};

} // namespace irpverbs::cm::detail
