// The file of a daemon's socket.
#pragma once

#include <ci/support/seq_socket.hpp>
#include <dispatch/ke.h>

#include <string>

namespace irpverbs::ual {

/// Makes the directory with mode 0700 unless it exists, and a socket that listens at `path`. A
/// socket that no daemon listens at is replaced. The statuses are those of UalListen; `problem` has
/// the reason.
NTSTATUS bind_socket(const std::string& path, ci::detail::unique_descriptor& made,
                     std::string& problem);

/// Duplicates a socket that listens already, and returns its path.
NTSTATUS adopt_socket(int socket, ci::detail::unique_descriptor& made, std::string& path,
                      std::string& problem);

} // namespace irpverbs::ual
