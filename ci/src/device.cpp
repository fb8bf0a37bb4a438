#include "device.hpp"

#include "spin_guard.hpp"

namespace irpverbs::ci {

hca_device::hca_device(const HCA_DEVICE& its_description, DEVICE_OBJECT* its_fdo)
    : operations(*its_description.Operations), description(its_description),
      name(its_description.Name), fdo(its_fdo) {
    InitializeListHead(&open);
}

NTSTATUS hca_device::begin_open() {
    const spin_guard guard(lock);
    if (refusing) return STATUS_DELETE_PENDING;
    ++opens;
    return STATUS_SUCCESS;
}

void hca_device::end_open() {
    const spin_guard guard(lock);
    --opens;
}

bool hca_device::refuse(bool on) {
    const spin_guard guard(lock);
    if (on && opens != 0) return false;
    refusing = on;
    return true;
}

bool hca_device::link(ca_object& ca) {
    const spin_guard guard(lock);
    ca.link.ca = &ca;
    InsertTailList(&open, &ca.link.entry);
    return !dead.load();
}

void hca_device::unlink(ca_object& ca) {
    const spin_guard guard(lock);
    if (ca.link.ca != nullptr) RemoveEntryList(&ca.link.entry);
    ca.link.ca = nullptr;
}

ca_object* hca_device::enter_from(LIST_ENTRY* entry) {
    for (; entry != &open; entry = entry->Flink) {
        ca_object* ca = CONTAINING_RECORD(entry, device_link, entry)->ca;
        if (ca->enter()) return ca;
    }
    return nullptr;
}

// A user keeps a CA linked, and so the way on from it is there after the lock was let go.
void hca_device::signal(unsigned channel, IB_ASYNC_EVENT event) {
    ca_object* current = nullptr;
    do {
        ca_object* next = nullptr;
        {
            const spin_guard guard(lock);
            next = enter_from(current != nullptr ? current->link.entry.Flink : open.Flink);
        }
        if (current != nullptr) current->leave();
        if (next != nullptr) next->signal(channel, event);
        current = next;
    } while (current != nullptr);
}

} // namespace irpverbs::ci
