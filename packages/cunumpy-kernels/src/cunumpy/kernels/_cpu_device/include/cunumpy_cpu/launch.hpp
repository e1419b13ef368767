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
};

}
