// What the launcher and a compiled kernel agree on.
#pragma once

extern "C" {

// One launch, as one worker sees it.
struct cunumpy_cpu_launch {
    unsigned int grid[3], block[3];
    unsigned long long shared_bytes;
    char* message;  // of `message_size` bytes, for the text of a trap
    unsigned long long message_size;
    unsigned long long failed_block;  // that of the trap
    void** fibers;                    // a slot that lives as long as the worker
    void* grid_barrier;
    unsigned int schedule;  // of blocks and threads: 0 in order, 1 backwards, else the seed of a random order
    // Set by the kernel: where cunumpy_cpu_leave goes while a kernel runs, else null, for the handler of a signal. With
    // `where` also block, thread, and whether they are known: code with loops over threads keeps them in registers.
    void* (*interrupt)(unsigned int* where);
    void (*leave)(void* place);
};

}
