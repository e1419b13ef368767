// C++ functions as kernels on the CPU device's fibers, in its checking mode, for tests of the shipped headers.
//
//     const char* error = blocks::launch(grid, block, schedule, [&] { kernel(arguments); });  // nullptr: none
//
// schedule: 0 threads and blocks in order, 1 backwards, others are seeds of random orders.
#pragma once

#define CUNUMPY_CPU_CHECK
#include "cunumpy_cpu/vector_types.hpp"

static thread_local uint3 threadIdx, blockIdx;
static thread_local dim3 blockDim, gridDim;
static constexpr int warpSize = 32;
namespace cunumpy_cpu {
static inline uint3 true_block() { return blockIdx; }
static inline uint3 true_thread() { return threadIdx; }
}  // namespace cunumpy_cpu

#include "cunumpy_cpu/runtime.hpp"
#define __shared__ thread_local

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

namespace blocks {

typedef unsigned int Shape[3];
static char failure[1000];
static unsigned int barriers;  // how many the last block has passed

static const char* launch(const dim3& grid, const dim3& block, unsigned int schedule, std::function<void()> kernel) {
    static void* fibers = nullptr;
    std::vector<unsigned int> order(grid.x * grid.y * grid.z);
    for (size_t i = 0; i < order.size(); ++i) order[i] = (unsigned int)i;
    std::mt19937 random(schedule);
    if (schedule == 1) std::reverse(order.begin(), order.end());
    if (schedule > 1) std::shuffle(order.begin(), order.end(), random);
    gridDim = grid, blockDim = block;
    const bool ended = cunumpy_cpu::run_guarded(
        [&] {
            for (unsigned int i : order) {
                cunumpy_cpu::Block one{};
                blockIdx = one.index = uint3{i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y};
                one.shape = block, one.grid_shape = grid, one.fibers = &fibers, one.schedule = schedule;
                cunumpy_cpu::run_block_fibers([](void* work) { (*(std::function<void()>*)work)(); }, &kernel, one);
                barriers = ((cunumpy_cpu::Fibers*)fibers)->barriers_passed;
            }
        },
        failure, sizeof failure);
    return ended ? nullptr : failure;
}

}  // namespace blocks
