// Marks the functions of a native library that Python calls; everything else stays hidden.
#pragma once

#ifdef _WIN32
#define CUNUMPY_EXPORT __declspec(dllexport)
#else
#define CUNUMPY_EXPORT __attribute__((visibility("default")))
#endif
