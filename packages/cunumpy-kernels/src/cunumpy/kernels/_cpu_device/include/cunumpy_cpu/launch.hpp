// What the launcher and a compiled kernel agree on.
#pragma once

namespace cunumpy_cpu {

// Shared by the blocks of a cooperative launch, which all run at the same time; zero, but for the number of blocks.
// `ended` are all that no longer run, `failed` those that a trap has ended.
struct GridBarrier {
    unsigned int blocks, arrived, round, ended, failed;
};

}  // namespace cunumpy_cpu

extern "C" {

// One launch, as one worker sees it.
struct cunumpy_cpu_launch {
    unsigned int grid[3], block[3];
    unsigned long long shared_bytes;
    char* message;  // of `message_size` bytes, for the text of a trap
    unsigned long long message_size;
    unsigned long long failed_block;  // that of the trap
    void** fibers;                    // a slot that lives as long as the worker
    cunumpy_cpu::GridBarrier* grid_barrier;  // null unless the launch is cooperative
    unsigned int schedule;  // of blocks and threads: 0 in order, 1 backwards, else the seed of a random order
    // Set by the kernel: where cunumpy_cpu_leave goes while a kernel runs, else null, for the handler of a signal. With
    // `where` also block, thread, and whether they are known: code with loops over threads keeps them in registers.
    void* (*interrupt)(unsigned int* where);
    void (*leave)(void* place);
};

}
