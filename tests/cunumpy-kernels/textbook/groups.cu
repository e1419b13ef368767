// Sums with cooperative groups: of tiles of 8 threads, and of the block.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

extern "C" __global__ void sums_of_tiles(const int* x, int* of_tiles, int* of_block, int n) {
    __shared__ int total;
    const cg::thread_block block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<8>(block);
    if (block.thread_rank() == 0) total = 0;
    block.sync();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int sum = cg::reduce(tile, i < n ? x[i] : 0, cg::plus<int>());
    if (tile.thread_rank() == 0) {
        of_tiles[i / 8] = sum;
        atomicAdd(&total, sum);
    }
    block.sync();
    if (block.thread_rank() == 0) of_block[blockIdx.x] = total;
}
