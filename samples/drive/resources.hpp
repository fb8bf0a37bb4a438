// Hardware resources of the script's device, as IRP_MN_START_DEVICE brings them.
#pragma once

#include "script.hpp"

#include <memory>
#include <vector>

struct _CM_RESOURCE_LIST;

namespace drive {

/// A line of an interrupt, ports that no device drives, and plain memory, which is zero at first.
class resource_lists {
public:
    /// `vector`, `level`: of the device's interrupt line.
    resource_lists(const std::vector<resource>& what, ULONG vector, KIRQL level);

    /// Null: the device has no resources.
    _CM_RESOURCE_LIST* raw();
    /// In which an interrupt has the processor's level.
    _CM_RESOURCE_LIST* translated();

private:
    struct free_memory {
        void operator()(char* memory) const;
    };

    char* add_memory(std::size_t bytes);

    std::vector<char> raw_;
    std::vector<char> translated_;
    std::vector<std::unique_ptr<char, free_memory>> memory_;
};

} // namespace drive
