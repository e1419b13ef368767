// Places in a kernel's text, for the messages of checked builds.
//
// Functions of CUDA's that wait know where they are called: note_place() puts file and line into the thread's data, and what
// leads to the functions that called. If the file is one of our headers, these tell the line.
#pragma once

namespace cunumpy_cpu {

struct Place {
    const char* file;
    unsigned int line;
    const void* code;          // where the calling function goes on
    const void* const* frame;  // its frame: the caller's, and where that one goes on
    bool operator==(const Place& other) const { return line == other.line && file == other.file; }
};

}  // namespace cunumpy_cpu

// A function of our own at whose accesses nobody looks. Those are never inlined into others.
#if defined(CUNUMPY_CPU_CHECK) && defined(__clang__) && __has_attribute(disable_sanitizer_instrumentation)
// The first covers atomic functions, too, the second alone keeps clang from inlining.
#define CUNUMPY_CPU_PLAIN __attribute__((disable_sanitizer_instrumentation, no_sanitize("thread")))
#elif defined(CUNUMPY_CPU_CHECK)
#define CUNUMPY_CPU_PLAIN __attribute__((no_sanitize("thread")))
#else
#define CUNUMPY_CPU_PLAIN
#endif

// The last parameters of a function that notes its place, and what it passes on to another one.
#ifdef CUNUMPY_CPU_CHECK
#define CUNUMPY_CPU_PLACE const char *cunumpy_cpu_file = __builtin_FILE(), unsigned int cunumpy_cpu_line = __builtin_LINE()
#define CUNUMPY_CPU_AND_PLACE , CUNUMPY_CPU_PLACE
#define CUNUMPY_CPU_NOTE_PLACE cunumpy_cpu::note_place(cunumpy_cpu_file, cunumpy_cpu_line)
#define CUNUMPY_CPU_SAME_PLACE cunumpy_cpu_file, cunumpy_cpu_line
#define CUNUMPY_CPU_AND_SAME_PLACE , CUNUMPY_CPU_SAME_PLACE
#else
#define CUNUMPY_CPU_PLACE
#define CUNUMPY_CPU_AND_PLACE
#define CUNUMPY_CPU_NOTE_PLACE (void)0
#define CUNUMPY_CPU_SAME_PLACE
#define CUNUMPY_CPU_AND_SAME_PLACE
#endif
