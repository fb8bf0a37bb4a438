// Posts of work requests in C++.
#pragma once

#include <ci/data_path.h>
#include <dispatch/status.hpp>

namespace irpverbs::ci::detail {

/// Returns the first work request that `Post` did not post, with the status in `error`; null when
/// all were.
template <auto Post, class Object, class Request>
Request* post(Object* to, Request* list, boost::system::error_code& error) {
    Request* failed = nullptr;
    const NTSTATUS status = Post(to, list, &failed);
    error = dispatch::make_error_code(status);
    return NT_SUCCESS(status) ? nullptr : failed;
}

/// Throws dispatch::status_error when `Post` fails.
template <auto Post, class Object, class Request>
void post(Object* to, Request* list) {
    const NTSTATUS status = Post(to, list, nullptr);
    if (!NT_SUCCESS(status)) throw dispatch::status_error(status);
}

} // namespace irpverbs::ci::detail
