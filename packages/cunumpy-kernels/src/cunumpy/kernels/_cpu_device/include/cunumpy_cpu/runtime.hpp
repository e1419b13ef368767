// All that CUDA has built in, without an include. Needs context.hpp before it.
#pragma once

#include "vector_types.hpp"
//
#include "trap.hpp"
//
#include "fibers.hpp"
//
#include "atomics.hpp"
#include "integers.hpp"
#include "mathematics.hpp"
#include "memory.hpp"
#include "output.hpp"
#include "ptx.hpp"
#include "rounding.hpp"
#include "textures.hpp"
#include "warps.hpp"
//
#include "qualifiers.hpp"
