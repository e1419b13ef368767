// CUB's collectives of a block.
#pragma once

#include "cunumpy_cpu/cub.hpp"
