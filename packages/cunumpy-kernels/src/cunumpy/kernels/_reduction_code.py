"""The CUDA source of a reduction kernel: of one reduction after another, or of many side by side."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cunumpy.kernels._generated_code import C_TYPES, code_of, prelude

if TYPE_CHECKING:
    from cunumpy.kernels._reduction_kernel import ReductionKernel

TILE = 64
"""Neighbouring outputs that go together, side by side."""
_BLOCK, _LEVELS = 256, 7
"""Elements that 16 running values take one after another; such blocks are put together pairwise, so that sums are as
accurate as NumPy's; and how many levels of pairs the blocks of one partial result have."""


def reduce_type_of(kernel: ReductionKernel, types: dict[str, Any]) -> str:
    """Return the type of what is reduced, in C++."""
    name = kernel.reduce_type
    if name is None:
        return C_TYPES[types[kernel.out_params[0].type_name]]
    if name in types:
        return C_TYPES[types[name]]
    # A dtype's full name; all else that NumPy reads, such as float, uint or P, may mean something else in C++.
    return next((ctype for dtype, ctype in C_TYPES.items() if dtype.name == name), name)


def reduction_source(
    kernel: ReductionKernel,
    types: dict[str, Any],
    side_by_side: bool,
    plain: bool,
    numbers: list[bool],
    raw: list[tuple[int, bool]],
) -> str:
    """Return the CUDA C++ source: of one reduction after another, or of many side by side."""
    declared, before, starts, moves, elements, results = [], [], [], [], [], []
    raws = iter(raw)
    after = "_cunumpy_raw"
    count = 0
    for parameter, number in zip(kernel.in_params, numbers, strict=True):
        kind = C_TYPES[types[parameter.type_name]]
        name, pointer = parameter.name, f"_cunumpy_of_{parameter.name}"
        if number:
            declared.append(f"const {kind} {name}")
            continue
        declared.append(f"const {kind}* {pointer}")
        if parameter.raw:
            ndim, contiguous = next(raws)
            before.append(f"const CArray<const {kind}, {ndim}, {str(contiguous).lower()}> {name}({pointer}, {after});")
            before.append(f"{after} += {2 * ndim};")
            continue
        out, red = (
            f"_cunumpy_out_steps + {count} * _cunumpy_out_ndim",
            f"_cunumpy_red_steps + {count} * _cunumpy_red_ndim",
        )
        starts.append(
            f"const {kind}* const _cunumpy_start_of_{name} = {pointer} + "
            f"cunumpy_kernel::place(_cunumpy_o, _cunumpy_out_ndim, _cunumpy_out_shape, {out});"
        )
        step_of = f"({out})[_cunumpy_out_ndim - 1]" if side_by_side else f"({red})[_cunumpy_red_ndim - 1]"
        before.append(f"const ptrdiff_t _cunumpy_step_of_{name} = {1 if plain else step_of};")
        moves.append(
            f"const {kind}* const _cunumpy_row_of_{name} = _cunumpy_start_of_{name} + "
            f"cunumpy_kernel::place(_cunumpy_r, _cunumpy_red_ndim, _cunumpy_red_shape, {red});"
        )
        elements.append(f"const {kind}& {name} = _cunumpy_row_of_{name}[_cunumpy_j * _cunumpy_step_of_{name}];")
        count += 1
    for place, parameter in enumerate(kernel.out_params):
        kind = C_TYPES[types[parameter.type_name]]
        declared.append(f"{kind}* _cunumpy_of_{parameter.name}")
        results.append(
            f"{kind}& {parameter.name} = _cunumpy_of_{parameter.name}[cunumpy_kernel::place(_cunumpy_o, "
            f"_cunumpy_out_ndim, _cunumpy_out_shape, _cunumpy_out_steps + {count + place} * _cunumpy_out_ndim)];"
        )
    line = "\n".join
    code = line(
        [kernel.map_expr, kernel.reduce_expr, kernel.post_map_expr, kernel.identity or "", kernel.reduce_type or ""]
    )
    first_value = "" if kernel.identity is None else "a = _cunumpy_reduce(_type_reduce(_cunumpy_identity), a);"
    identity = ""
    if kernel.identity is not None:
        given = code_of("identity", kernel.identity, ");")
        identity = f"const _type_reduce _cunumpy_identity = _type_reduce({given}"
    empty = "" if kernel.identity is None else "if (_cunumpy_length == 0) a = _cunumpy_identity; else"
    sizes = {"_in_ind": "_cunumpy_length * _cunumpy_count", "_out_ind": "_cunumpy_count"}
    before += [f"CIndexer {name}({sizes[name]}, {after});\n{after} += {after}[0] + 1;" for name in kernel._indexers]
    places = []
    if re.search(r"\b(?:_i|_j|_(?:in|out)_ind)\b", kernel.map_expr):
        places.append(f"const ptrdiff_t _i = _cunumpy_o{' + _cunumpy_j' if side_by_side else ''};")
        places.append("const ptrdiff_t _j = _J * (ptrdiff_t)_cunumpy_count + _i;")
    places += [
        f"{name}.set({place});"
        for name, place in {"_in_ind": "_j", "_out_ind": "_i"}.items()
        if re.search(rf"\b{name}\b", kernel.map_expr)
    ]
    element = code_of("map_expr", kernel.map_expr, ");")
    value = f"{line(places)} {line(elements)} return (_type_reduce)({element}"
    mapped = f"[&](ptrdiff_t _cunumpy_j, ptrdiff_t _J) -> _type_reduce {{ {value} }}"
    ends = []
    if re.search(r"\b_i\b", kernel.post_map_expr):
        ends.append("const ptrdiff_t _i = _cunumpy_o;")
    if re.search(r"\b_out_ind\b", kernel.post_map_expr):
        ends.append("_out_ind.set(_cunumpy_o);")
    finish = f"""
    auto _cunumpy_finish = [&](ptrdiff_t _cunumpy_o, _type_reduce a) {{
        {empty} {{ {first_value} }}
        {line(results)}
        {line(ends)}
        {code_of("post_map_expr", kernel.post_map_expr)}
    }};
    auto _cunumpy_give = [&](ptrdiff_t _cunumpy_o, ptrdiff_t _cunumpy_c, const _type_reduce& a) {{
        if (_cunumpy_chunks > 1) _cunumpy_partial[_cunumpy_o * _cunumpy_chunks + _cunumpy_c] = a;
        else _cunumpy_finish(_cunumpy_o, a);
    }};"""
    reduce_type = reduce_type_of(kernel, types)
    if kernel.reduce_type is not None:
        reduce_type = code_of("reduce_type", reduce_type, "")
    if side_by_side:
        work = f"""
    const ptrdiff_t _cunumpy_width = _cunumpy_out_shape[_cunumpy_out_ndim - 1];
    const ptrdiff_t _cunumpy_per_row = (_cunumpy_width + {TILE - 1}) / {TILE};
    const ptrdiff_t _cunumpy_t = (ptrdiff_t)blockIdx.x / _cunumpy_chunks;
    const ptrdiff_t _cunumpy_c = (ptrdiff_t)blockIdx.x % _cunumpy_chunks;
    const ptrdiff_t _cunumpy_left = _cunumpy_t % _cunumpy_per_row * {TILE};
    const ptrdiff_t _cunumpy_o = _cunumpy_t / _cunumpy_per_row * _cunumpy_width + _cunumpy_left;
    const ptrdiff_t _cunumpy_n = _cunumpy_width - _cunumpy_left < {TILE} ? _cunumpy_width - _cunumpy_left : {TILE};
    {line(starts)}
    const ptrdiff_t _cunumpy_from = _cunumpy_c * _cunumpy_chunk;
    const ptrdiff_t _cunumpy_to =
            _cunumpy_length - _cunumpy_from < _cunumpy_chunk ? _cunumpy_length : _cunumpy_from + _cunumpy_chunk;
    _type_reduce _cunumpy_all[{TILE}];
    for (ptrdiff_t _cunumpy_r = _cunumpy_from; _cunumpy_r < _cunumpy_to; ++_cunumpy_r) {{
        {line(moves)}
        auto _cunumpy_map = {mapped};
        if (_cunumpy_r == _cunumpy_from)
            for (ptrdiff_t k = 0; k < _cunumpy_n; ++k) _cunumpy_all[k] = _cunumpy_map(k, _cunumpy_r);
        else
            for (ptrdiff_t k = 0; k < _cunumpy_n; ++k) _cunumpy_all[k] = _cunumpy_reduce(_cunumpy_all[k],
                    _cunumpy_map(k, _cunumpy_r));
    }}
    for (ptrdiff_t k = 0; k < _cunumpy_n; ++k) _cunumpy_give(_cunumpy_o + k, _cunumpy_c, _cunumpy_all[k]);"""
    else:
        work = f"""
    const ptrdiff_t _cunumpy_width = _cunumpy_red_shape[_cunumpy_red_ndim - 1];
    const ptrdiff_t _cunumpy_works = _cunumpy_count * _cunumpy_chunks;
    for (ptrdiff_t _cunumpy_w = (ptrdiff_t)blockIdx.x * _cunumpy_each, _cunumpy_e = _cunumpy_w + _cunumpy_each;
            _cunumpy_w < _cunumpy_e && _cunumpy_w < _cunumpy_works; ++_cunumpy_w) {{
        const ptrdiff_t _cunumpy_o = _cunumpy_w / _cunumpy_chunks, _cunumpy_c = _cunumpy_w % _cunumpy_chunks;
        {line(starts)}
        const ptrdiff_t _cunumpy_from = _cunumpy_c * _cunumpy_chunk;
        const ptrdiff_t _cunumpy_to =
                _cunumpy_length - _cunumpy_from < _cunumpy_chunk ? _cunumpy_length : _cunumpy_from + _cunumpy_chunk;
        _type_reduce _cunumpy_all[16], _cunumpy_levels[{_LEVELS}][16];
        int _cunumpy_filled = 0, _cunumpy_kept[{_LEVELS}];
        ptrdiff_t _cunumpy_since = 0, _cunumpy_blocks = 0;
        auto _cunumpy_merge = [&](const _type_reduce* from, int others) {{
            if (_cunumpy_filled == 16 && others == 16) {{
                for (int k = 0; k < 16; ++k) _cunumpy_all[k] = _cunumpy_reduce(from[k], _cunumpy_all[k]);
                return;
            }}
            for (int k = 0; k < others; ++k)
                _cunumpy_all[k] = k < _cunumpy_filled ? _cunumpy_reduce(from[k], _cunumpy_all[k]) : from[k];
            if (_cunumpy_filled < others) _cunumpy_filled = others;
        }};
        for (ptrdiff_t _cunumpy_r = _cunumpy_from; _cunumpy_r < _cunumpy_to;) {{
            const ptrdiff_t _cunumpy_rest = _cunumpy_width - _cunumpy_r % _cunumpy_width;
            ptrdiff_t _cunumpy_n = {_BLOCK} - _cunumpy_since;
            if (_cunumpy_n > _cunumpy_rest) _cunumpy_n = _cunumpy_rest;
            if (_cunumpy_n > _cunumpy_to - _cunumpy_r) _cunumpy_n = _cunumpy_to - _cunumpy_r;
            {line(moves)}
            auto _cunumpy_map = {mapped};
            ptrdiff_t _cunumpy_at = 0;
            if (_cunumpy_filled < 16)  // the running values begin with the first elements
                for (; _cunumpy_at < 16 && _cunumpy_at < _cunumpy_n; ++_cunumpy_at) {{
                    _type_reduce one = _cunumpy_map(_cunumpy_at, _cunumpy_r + _cunumpy_at);
                    if (_cunumpy_at >= _cunumpy_filled) _cunumpy_all[_cunumpy_filled++] = one;
                    else _cunumpy_all[_cunumpy_at] = _cunumpy_reduce(_cunumpy_all[_cunumpy_at], one);
                }}
            for (; _cunumpy_at + 16 <= _cunumpy_n; _cunumpy_at += 16)
                for (int k = 0; k < 16; ++k)
                    _cunumpy_all[k] = _cunumpy_reduce(_cunumpy_all[k], _cunumpy_map(_cunumpy_at + k,
                            _cunumpy_r + _cunumpy_at + k));
            for (int k = 0; _cunumpy_at < _cunumpy_n; ++_cunumpy_at, ++k)
                _cunumpy_all[k] = _cunumpy_reduce(_cunumpy_all[k], _cunumpy_map(_cunumpy_at, _cunumpy_r + _cunumpy_at));
            _cunumpy_r += _cunumpy_n;
            _cunumpy_since += _cunumpy_n;
            if (_cunumpy_since == {_BLOCK}) {{  // put with blocks before, pairwise
                int level = 0;
                for (ptrdiff_t b = _cunumpy_blocks++; b & 1; b >>= 1, ++level)
                    _cunumpy_merge(_cunumpy_levels[level], _cunumpy_kept[level]);
                for (int k = 0; k < _cunumpy_filled; ++k) _cunumpy_levels[level][k] = _cunumpy_all[k];
                _cunumpy_kept[level] = _cunumpy_filled;
                _cunumpy_since = _cunumpy_filled = 0;
            }}
        }}
        for (int level = 0; _cunumpy_blocks >> level; ++level)
            if (_cunumpy_blocks >> level & 1) _cunumpy_merge(_cunumpy_levels[level], _cunumpy_kept[level]);
        for (int width = 1; width < _cunumpy_filled; width *= 2)
            for (int k = 0; k + width < _cunumpy_filled; k += 2 * width)
                _cunumpy_all[k] = _cunumpy_reduce(_cunumpy_all[k], _cunumpy_all[k + width]);
        _cunumpy_give(_cunumpy_o, _cunumpy_c, _cunumpy_all[0]);
    }}"""
    return f"""{prelude(types, kernel.preamble, code)}
typedef {reduce_type} _type_reduce;
extern "C" __global__ void {kernel.name}({", ".join(declared)}, const long long* _cunumpy_layout,
        long long _cunumpy_count,
        long long _cunumpy_length, long long _cunumpy_chunk, long long _cunumpy_chunks, void* _cunumpy_memory,
        long long _cunumpy_each, int _cunumpy_pass) {{
    if (_cunumpy_pass == 2) {{
        *(long long*)_cunumpy_memory = sizeof(_type_reduce);
        return;
    }}
    const int _cunumpy_out_ndim = (int)_cunumpy_layout[0], _cunumpy_red_ndim = (int)_cunumpy_layout[1];
    const long long* const _cunumpy_out_shape = _cunumpy_layout + 2;
    const long long* const _cunumpy_red_shape = _cunumpy_out_shape + _cunumpy_out_ndim;
    const long long* const _cunumpy_out_steps = _cunumpy_red_shape + _cunumpy_red_ndim;
    const long long* const _cunumpy_red_steps = _cunumpy_out_steps + {count + kernel.nout} * _cunumpy_out_ndim;
    const long long* _cunumpy_raw = _cunumpy_red_steps + {count} * _cunumpy_red_ndim;
    _type_reduce* const _cunumpy_partial = (_type_reduce*)_cunumpy_memory;
    {line(before)}
    {identity}
    auto _cunumpy_reduce = [&](_type_reduce a, _type_reduce b) -> _type_reduce {{
        return ({code_of("reduce_expr", kernel.reduce_expr, ");")}
    }};
{finish}
    if (_cunumpy_pass == 1) {{
        for (ptrdiff_t o = (ptrdiff_t)blockIdx.x * _cunumpy_each, e = o + _cunumpy_each; o < e &&
                o < _cunumpy_count; ++o) {{
            _type_reduce* const parts = _cunumpy_partial + o * _cunumpy_chunks;
            for (ptrdiff_t width = 1; width < _cunumpy_chunks; width *= 2)
                for (ptrdiff_t c = 0; c + width < _cunumpy_chunks; c += 2 * width)
                    parts[c] = _cunumpy_reduce(parts[c], parts[c + width]);
            _cunumpy_finish(o, parts[0]);
        }}
        return;
    }}
{work}
}}
"""
