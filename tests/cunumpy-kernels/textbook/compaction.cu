// The positive elements of an array, without the others.
#include <cooperative_groups.h>

// In any order: one atomic addition for all lanes of a warp that have something (Adinets, 2014).
extern "C" __global__ void by_warps(const int* x, int* kept, unsigned int* count, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool keep = i < n && x[i] > 0;
    const unsigned int lanes = __ballot_sync(0xffffffffu, keep), lane = threadIdx.x % 32;
    if (!keep) return;
    const int leader = __ffs(lanes) - 1;
    unsigned int place = 0;
    if (lane == leader) place = atomicAdd(count, __popc(lanes));
    place = __shfl_sync(lanes, place, leader);
    kept[place + __popc(lanes & ((1u << lane) - 1))] = x[i];
}

// The same with the groups of cooperative groups.
extern "C" __global__ void by_groups(const int* x, int* kept, unsigned int* count, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) {
        const auto active = cooperative_groups::coalesced_threads();
        unsigned int place = 0;
        if (active.thread_rank() == 0) place = atomicAdd(count, active.size());
        kept[active.shfl(place, 0) + active.thread_rank()] = x[i];
    }
}

// In order, of one block: the number of threads before that keep theirs, by the votes of the warps.
extern "C" __global__ void in_order(const int* x, int* kept, int* count, int n) {
    __shared__ int of_warps[33];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, warps = blockDim.x / 32;
    int before = 0;
    for (int first = 0; first < n; first += blockDim.x) {
        const bool keep = first + t < n && x[first + t] > 0;
        const unsigned int lanes = __ballot_sync(0xffffffffu, keep);
        if (lane == 0) of_warps[warp + 1] = __popc(lanes);
        if (t == 0) of_warps[0] = 0;
        __syncthreads();
        if (t == 0)
            for (int w = 1; w <= warps; ++w) of_warps[w] += of_warps[w - 1];
        __syncthreads();
        if (keep) kept[before + of_warps[warp] + __popc(lanes & ((1u << lane) - 1))] = x[first + t];
        before += of_warps[warps];
        __syncthreads();
    }
    if (t == 0) *count = before;
}
