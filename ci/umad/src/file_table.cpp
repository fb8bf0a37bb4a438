#include "file_table.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <map>
#include <utility>

namespace irpverbs::umad {

namespace {

struct file_table {
    KSPIN_LOCK lock = 0; // guards `files`
    std::map<int, std::shared_ptr<port_file>> files;
};

// Not destroyed: the program's threads may use it until the process has ended.
file_table& open_files() {
    static file_table* const only = new file_table;
    return *only;
}

} // namespace

void add_file(std::shared_ptr<port_file> file) {
    file_table& all = open_files();
    const int descriptor = file->descriptor();
    std::map<int, std::shared_ptr<port_file>> fresh;
    fresh.emplace(descriptor, std::move(file)); // allocates before the lock
    std::shared_ptr<port_file> stale;
    const dispatch::detail::spin_guard guard(all.lock);
    if (const auto place = all.files.find(descriptor); place != all.files.end())
        stale = std::exchange(place->second, fresh.begin()->second);
    else
        all.files.merge(fresh);
}

std::shared_ptr<port_file> find_file(int descriptor) {
    file_table& all = open_files();
    const dispatch::detail::spin_guard guard(all.lock);
    const auto place = all.files.find(descriptor);
    return place != all.files.end() ? place->second : nullptr;
}

std::shared_ptr<port_file> take_file(int descriptor) {
    file_table& all = open_files();
    std::map<int, std::shared_ptr<port_file>>::node_type taken;
    {
        const dispatch::detail::spin_guard guard(all.lock);
        taken = all.files.extract(descriptor);
    }
    return taken.empty() ? nullptr : std::move(taken.mapped());
}

} // namespace irpverbs::umad
