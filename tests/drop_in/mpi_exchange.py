"""A program of mpi4py: ranks exchange messages of many sizes, and check each byte of them."""
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
right, left = (rank + 1) % ranks, (rank - 1) % ranks


def pattern(sender, message, size):
    """The bytes of a sender's message, which no other message has."""
    return (bytes((7 * sender + 3 * message + at) % 251 for at in range(251)) * (size // 251 + 1))[:size]


for size in (0, 1, 255, 4096, 8193, 100_000, 1 << 20): # eager, fragmented, and by rendezvous
    received = bytearray(size)
    world.Sendrecv(pattern(rank, size, size), right, 1, received, left, 1)
    assert received == pattern(left, size, size), size

many = [bytearray(3000) for _ in range(100)]
requests = [world.Irecv(each, left, tag) for tag, each in enumerate(many)]
requests += [world.Isend(pattern(rank, tag, 3000), right, tag) for tag in reversed(range(len(many)))]
MPI.Request.Waitall(requests)
assert all(each == pattern(left, tag, 3000) for tag, each in enumerate(many))

assert world.allreduce(rank + 1) == ranks * (ranks + 1) // 2
assert world.alltoall([(rank, to) for to in range(ranks)]) == [(sender, rank) for sender in range(ranks)]

window = MPI.Win.Allocate(8192, 1, comm=world)
window.Fence()
window.Put(pattern(rank, 0, 8192), right)
window.Fence()
assert bytes(window.tomemory()) == pattern(left, 0, 8192)
copy = bytearray(8192)
window.Get(copy, right)
window.Fence()
assert copy == pattern(rank, 0, 8192)
window.Free()

world.Barrier() # a rank that has failed does not come here, and mpirun ends the others
if rank == 0:
    print(f"{ranks} ranks have the right bytes")
