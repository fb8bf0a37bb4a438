// DMA adapters: transfers page by page, the channel, lists, and the rules about what a driver
// frees.
#include "one_run.hpp"

#include <numeric>
#include <vector>

#include <ntddk.h>

namespace {

using one_run::at;
using one_run::is;
using one_run::report_of;

DEVICE_DESCRIPTION bus_master() {
    DEVICE_DESCRIPTION made{};
    made.Version = DEVICE_DESCRIPTION_VERSION;
    made.Master = TRUE;
    made.ScatterGather = TRUE;
    made.InterfaceType = PCIBus;
    made.MaximumLength = 4 * PAGE_SIZE;
    return made;
}

/// An adapter and a device that transfers two and a half pages from the middle of a page on.
class dma {
public:
    explicit dma(DEVICE_DESCRIPTION wanted = bus_master()) {
        adapter = IoGetDmaAdapter(nullptr, &wanted, &registers);
        IoCreateDevice(&driver_, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
        page_ = static_cast<char*>(MmAllocateContiguousMemory(4 * PAGE_SIZE, {}));
        buffer = page_ + PAGE_SIZE / 2;
        mdl = IoAllocateMdl(buffer, length, FALSE, FALSE, nullptr);
        MmBuildMdlForNonPagedPool(mdl);
    }
    ~dma() {
        IoFreeMdl(mdl);
        MmFreeContiguousMemory(page_);
        IoDeleteDevice(device);
    }

    DMA_OPERATIONS& calls() const { return *adapter->DmaOperations; }
    void put() const { calls().PutDmaAdapter(adapter); }

    static constexpr ULONG length = 2 * PAGE_SIZE + PAGE_SIZE / 2;
    PDMA_ADAPTER adapter;
    ULONG registers = 0;
    PDEVICE_OBJECT device = nullptr;
    char* buffer;
    PMDL mdl;

private:
    DRIVER_OBJECT driver_{};
    char* page_;
};

struct part {
    const char* begin;
    ULONG length;
    bool operator==(const part&) const = default;
};

struct transfer {
    dma& used;
    IO_ALLOCATION_ACTION action = DeallocateObjectKeepRegisters;
    bool flushes = true;
    void* base = nullptr;
    std::vector<part> parts{};
};

void map_all(transfer& self) {
    char* current = self.used.buffer;
    for (ULONG left = dma::length; left != 0;) {
        ULONG mapped = left;
        const PHYSICAL_ADDRESS where = self.used.calls().MapTransfer(
            self.used.adapter, self.used.mdl, self.base, current, &mapped, FALSE);
        self.parts.push_back({reinterpret_cast<const char*>(where.QuadPart), mapped});
        current += mapped;
        left -= mapped;
    }
}

IO_ALLOCATION_ACTION start(PDEVICE_OBJECT, PIRP, PVOID base, PVOID context) {
    auto& self = *static_cast<transfer*>(context);
    self.base = base;
    map_all(self);
    if (self.flushes)
        self.used.calls().FlushAdapterBuffers(self.used.adapter, self.used.mdl, base,
                                              self.used.buffer, dma::length, FALSE);
    return self.action;
}

NTSTATUS begin(transfer& self) {
    return self.used.calls().AllocateAdapterChannel(self.used.adapter, self.used.device, 3, start,
                                                    &self);
}

void free_registers(transfer& self, ULONG count = 3) {
    self.used.calls().FreeMapRegisters(self.used.adapter, self.base, count);
}

TEST(DmaAdapter, TransferOfABusMaster_GoesPageByPage) {
    EXPECT_EQ(report_of([] {
                  dma used;
                  EXPECT_EQ(used.registers, 5u);
                  transfer all{used};
                  at(DISPATCH_LEVEL, [&] {
                      EXPECT_EQ(begin(all), STATUS_SUCCESS);
                      free_registers(all);
                  });
                  const std::vector<part> pages{{used.buffer, PAGE_SIZE / 2},
                                                {used.buffer + PAGE_SIZE / 2, PAGE_SIZE},
                                                {used.buffer + 3 * PAGE_SIZE / 2, PAGE_SIZE}};
                  EXPECT_EQ(all.parts, pages);
                  used.put();
              }),
              "");
}

TEST(DmaAdapter, DeviceWithoutScatterGather_GetsAllInOnePart) {
    EXPECT_EQ(report_of([] {
                  DEVICE_DESCRIPTION wanted = bus_master();
                  wanted.ScatterGather = FALSE;
                  dma used(wanted);
                  transfer all{used, DeallocateObject};
                  at(DISPATCH_LEVEL, [&] { begin(all); });
                  EXPECT_EQ(all.parts, (std::vector<part>{{used.buffer, dma::length}}));
                  used.put();
              }),
              "");
}

TEST(DmaAdapter, ChannelThatIsKept_LetsOthersWait) {
    EXPECT_EQ(report_of([] {
                  dma used;
                  transfer first{used, KeepObject};
                  transfer second{used, DeallocateObject};
                  at(DISPATCH_LEVEL, [&] {
                      begin(first);
                      begin(second);
                      EXPECT_TRUE(second.parts.empty());
                      used.calls().FreeAdapterChannel(used.adapter);
                      EXPECT_EQ(second.parts, first.parts);
                  });
                  used.put();
              }),
              "");
}

TEST(DmaAdapter, MoreMapRegistersThanItHas_AreRefused) {
    EXPECT_EQ(report_of([] {
                  dma used;
                  transfer any{used};
                  at(DISPATCH_LEVEL, [&] {
                      EXPECT_EQ(used.calls().AllocateAdapterChannel(
                                    used.adapter, used.device, used.registers + 1, start, &any),
                                STATUS_INSUFFICIENT_RESOURCES);
                  });
                  used.put();
              }),
              "");
}

TEST(DmaAdapter, VersionsThatAreNotHere_GetNone) {
    EXPECT_EQ(report_of([] {
                  DEVICE_DESCRIPTION wanted = bus_master();
                  wanted.Version = DEVICE_DESCRIPTION_VERSION3;
                  ULONG registers = 0;
                  EXPECT_EQ(IoGetDmaAdapter(nullptr, &wanted, &registers), nullptr);
              }),
              "");
}

void keep_list(PDEVICE_OBJECT, PIRP, PSCATTER_GATHER_LIST list, PVOID kept) {
    *static_cast<PSCATTER_GATHER_LIST*>(kept) = list;
}

PSCATTER_GATHER_LIST list_of(const dma& used) {
    PSCATTER_GATHER_LIST list = nullptr;
    EXPECT_EQ(used.calls().GetScatterGatherList(used.adapter, used.device, used.mdl, used.buffer,
                                                dma::length, keep_list, &list, TRUE),
              STATUS_SUCCESS);
    return list;
}

TEST(DmaAdapter, ListOfATransfer_HasAnElementForEachPage) {
    EXPECT_EQ(report_of([] {
                  const dma used;
                  at(DISPATCH_LEVEL, [&] {
                      PSCATTER_GATHER_LIST list = list_of(used);
                      EXPECT_EQ(list->NumberOfElements, 3u);
                      EXPECT_EQ(std::accumulate(list->Elements,
                                                list->Elements + list->NumberOfElements, 0u,
                                                [](ULONG sum, const SCATTER_GATHER_ELEMENT& each) {
                                                    return sum + each.Length;
                                                }),
                                dma::length);
                      used.calls().PutScatterGatherList(used.adapter, list, TRUE);
                  });
                  used.put();
              }),
              "");
}

TEST(DmaAdapter, ListInTheCallersMemory_NeedsTheCalculatedSize) {
    EXPECT_EQ(report_of([] {
                  const dma used;
                  ULONG size = 0;
                  ULONG registers = 0;
                  used.calls().CalculateScatterGatherList(used.adapter, used.mdl, used.buffer,
                                                          dma::length, &size, &registers);
                  EXPECT_EQ(registers, 3u);
                  std::vector<char> room(size);
                  PSCATTER_GATHER_LIST list = nullptr;
                  const auto build = [&](ULONG bytes) {
                      return used.calls().BuildScatterGatherList(
                          used.adapter, used.device, used.mdl, used.buffer, dma::length, keep_list,
                          &list, TRUE, room.data(), bytes);
                  };
                  at(DISPATCH_LEVEL, [&] {
                      EXPECT_EQ(build(size - 1), STATUS_BUFFER_TOO_SMALL);
                      EXPECT_EQ(build(size), STATUS_SUCCESS);
                      EXPECT_EQ(static_cast<void*>(list), room.data());
                      used.calls().PutScatterGatherList(used.adapter, list, TRUE);
                  });
                  used.put();
              }),
              "");
}

TEST(DmaAdapter, TransferBeyondTheMdl_IsRefused) {
    EXPECT_EQ(report_of([] {
                  const dma used;
                  PSCATTER_GATHER_LIST list = nullptr;
                  at(DISPATCH_LEVEL, [&] {
                      EXPECT_EQ(used.calls().GetScatterGatherList(
                                    used.adapter, used.device, used.mdl, used.buffer + 1,
                                    dma::length, keep_list, &list, TRUE),
                                STATUS_BUFFER_TOO_SMALL);
                  });
                  used.put();
              }),
              "");
}

PVOID common_buffer(const dma& used, PHYSICAL_ADDRESS& logical) {
    return used.calls().AllocateCommonBuffer(used.adapter, PAGE_SIZE, &logical, FALSE);
}

void free_common_buffer(const dma& used, PVOID buffer) {
    used.calls().FreeCommonBuffer(used.adapter, PAGE_SIZE, MmGetPhysicalAddress(buffer), buffer,
                                  FALSE);
}

TEST(DmaAdapterInUse, Broken_IsReported) {
    EXPECT_TRUE(is(report_of([] {
                       const dma used;
                       PHYSICAL_ADDRESS logical;
                       common_buffer(used, logical);
                       used.put();
                   }),
                   "DmaAdapterInUse", "common buffer"));
    EXPECT_TRUE(is(report_of([] {
                       dma used;
                       transfer left{used, KeepObject};
                       at(DISPATCH_LEVEL, [&] { begin(left); });
                       used.put();
                   }),
                   "DmaAdapterInUse", "channel"));
    EXPECT_TRUE(is(report_of([] {
                       dma used;
                       transfer left{used};
                       at(DISPATCH_LEVEL, [&] {
                           begin(left);
                           free_registers(left, 2);
                       });
                       used.put();
                   }),
                   "DmaAdapterInUse", "map registers"));
    EXPECT_TRUE(is(report_of([] {
                       const dma used;
                       at(DISPATCH_LEVEL, [&] { list_of(used); });
                       used.put();
                   }),
                   "DmaAdapterInUse", "scatter/gather list"));
}

TEST(DmaAdapterInUse, Kept_IsNotReported) {
    EXPECT_EQ(report_of([] {
                  dma used;
                  PHYSICAL_ADDRESS logical;
                  PVOID const buffer = common_buffer(used, logical);
                  EXPECT_EQ(logical.QuadPart, MmGetPhysicalAddress(buffer).QuadPart);
                  free_common_buffer(used, buffer);
                  transfer all{used, KeepObject};
                  at(DISPATCH_LEVEL, [&] {
                      begin(all);
                      used.calls().FreeAdapterChannel(used.adapter);
                      used.calls().PutScatterGatherList(used.adapter, list_of(used), TRUE);
                  });
                  used.put();
              }),
              "");
}

TEST(DmaAdapter, AdapterThatIsNeverPut_IsALeak) {
    EXPECT_TRUE(is(report_of([] { const dma left; }), "PoolLeak", "Dma"));
}

TEST(DmaFreedTwice, Broken_IsReported) {
    EXPECT_TRUE(is(report_of([] {
                       const dma used;
                       PHYSICAL_ADDRESS logical;
                       PVOID const buffer = common_buffer(used, logical);
                       free_common_buffer(used, buffer);
                       free_common_buffer(used, buffer);
                   }),
                   "DmaFreedTwice", "common buffer"));
    EXPECT_TRUE(is(report_of([] {
                       const dma used;
                       at(DISPATCH_LEVEL, [&] { used.calls().FreeAdapterChannel(used.adapter); });
                   }),
                   "DmaFreedTwice", "channel"));
    EXPECT_TRUE(is(report_of([] {
                       dma used;
                       transfer all{used};
                       at(DISPATCH_LEVEL, [&] {
                           begin(all);
                           free_registers(all, 4);
                       });
                   }),
                   "DmaFreedTwice", "map registers"));
    EXPECT_TRUE(is(report_of([] {
                       const dma used;
                       at(DISPATCH_LEVEL, [&] {
                           PSCATTER_GATHER_LIST list = list_of(used);
                           used.calls().PutScatterGatherList(used.adapter, list, TRUE);
                           used.calls().PutScatterGatherList(used.adapter, list, TRUE);
                       });
                   }),
                   "DmaFreedTwice", "scatter/gather list"));
}

TEST(DmaFreedTwice, Kept_IsNotReported) {
    EXPECT_EQ(report_of([] {
                  dma used;
                  transfer all{used};
                  at(DISPATCH_LEVEL, [&] {
                      begin(all);
                      free_registers(all, 1);
                      free_registers(all, 2);
                  });
                  used.put();
              }),
              "");
}

TEST(DmaNotFlushed, Broken_IsReported) {
    for (const IO_ALLOCATION_ACTION action : {DeallocateObject, DeallocateObjectKeepRegisters})
        EXPECT_TRUE(is(report_of([action] {
                           dma used;
                           transfer all{used, action, false};
                           at(DISPATCH_LEVEL, [&] {
                               begin(all);
                               free_registers(all);
                           });
                       }),
                       "DmaNotFlushed", "FlushAdapterBuffers"));
}

TEST(DmaNotFlushed, Kept_IsNotReported) {
    EXPECT_EQ(report_of([] {
                  dma used;
                  transfer all{used, KeepObject};
                  at(DISPATCH_LEVEL, [&] {
                      begin(all);
                      map_all(all);
                      used.calls().FlushAdapterBuffers(used.adapter, used.mdl, all.base,
                                                       used.buffer, dma::length, FALSE);
                      used.calls().FreeAdapterChannel(used.adapter);
                  });
                  used.put();
              }),
              "");
}

TEST(DmaAdapter, ChannelAtPassiveLevel_IsReported) {
    EXPECT_TRUE(is(report_of([] {
                       dma used;
                       transfer any{used};
                       begin(any);
                   }),
                   "IrqlDispatch", "AllocateAdapterChannel"));
}

TEST(DmaAdapter, AdapterAfterItsPut_IsReported) {
    EXPECT_TRUE(is(report_of([] {
                       const dma used;
                       DMA_OPERATIONS& calls = used.calls();
                       used.put();
                       ULONG size;
                       calls.CalculateScatterGatherList(used.adapter, used.mdl, used.buffer,
                                                        dma::length, &size, nullptr);
                   }),
                   "FreedMemoryUsed", "DMA adapter"));
}

} // namespace
