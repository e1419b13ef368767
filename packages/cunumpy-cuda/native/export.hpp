// Marks the functions of a native library that Python calls; everything else stays hidden.
#pragma once

#define CUNUMPY_EXPORT __attribute__((visibility("default")))
