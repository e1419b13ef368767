"""C structs that CUDA kernels take by value: their fields, layout, C text, and packed values."""

from __future__ import annotations

import operator
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy._gate import as_path, as_truth, describe
from cunumpy.arguments import _layouts
from cunumpy.arguments._annotations import Annotations, fields_of_class, fields_of_function, made_contiguous, names_of
from cunumpy.arguments._current_device import device_of_arrays
from cunumpy.arguments._fields import (
    alignment_of,
    declaration_of,
    declarations_of,
    difference,
    layout_of,
    read_fields,
    signature_of,
)
from cunumpy.arguments._header_text import header_text, write_text
from cunumpy.arguments._identifiers import check_identifier
from cunumpy.arguments._packing import packer
from cunumpy.cuda._arguments import structs_by_name
from cunumpy.cuda._parameters import field_type
from cunumpy.cuda._structs import struct_definition
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from cunumpy.cuda._parameters import CudaParameter


class CudaStruct:
    """The type of a C struct that CUDA kernels take by value.

    Called with a value for each field, it checks and packs them: ``struct(x=x, n=n)`` is a `CudaStructValue`.

    Parameters
    ----------
    name : str
        The struct's name in C.
    fields : sequence of (str, str)
        Name and C type of each field, in order. Types are scalars and vectors of CUDA's (``"int"``, ``"double2"``,
        ``"complex<double>"``), pointers to them (``"const double*"``, ``"void*"``), array views
        (``"Array2D<double>"``, ``"CArray1D<int>"``), arrays of fixed size (``"double[3]"``), and structs of `structs`,
        pointers to them, views and arrays of them.
    structs : iterable of CudaStruct, optional
        The structs that fields are made of.
    alignment : int, optional
        An alignment in bytes above that of the fields, as ``struct alignas(16) name`` has it in the source.
    keep_const : bool, default: False
        Write ``const`` of pointers and views into the C text too. Without it the text is that of cunumpy 0.7, byte for
        byte. Values are checked as `fields` say either way: what is not const takes no read-only array.

    Attributes
    ----------
    name : str
    fields : tuple of CudaParameter
    dtype : numpy.dtype
        The structured dtype: each field at a multiple of its alignment, the size a multiple of the largest one.
    alignment : int
        In bytes, on the device.
    has_views : bool
        Whether a field is an array view, which needs ``cunumpy/array_view.cuh``.
    declaration : str
        The C text.

    Raises
    ------
    ArgumentError
        A name that is no C identifier or is reserved in C++, a repeated field, no fields, or a type that is not
        supported: pointers to pointers or views, enums, unions, bit-fields, references.
    ArgumentTypeError
        Arguments of other types.

    Notes
    -----
    Pointers are held as uint64, views as records of ``data`` (uint64), ``shape`` (int64[N]) and, without ``C``,
    ``strides`` (int64[N], in elements).

    The layout is that of the device, with CUDA's alignments: ``complex<double>``, ``double2`` and the like have 16
    bytes there, and NumPy's ``align=True`` gives them 8. For all other fields both are the same. A C++ compiler that
    knows ``complex<double>`` as ``std::complex`` aligns it to 8 bytes too.

    A kernel takes 4 KiB of parameters, 32764 bytes with CUDA 12.1 and later; larger structs are put into device memory
    and passed by pointer: ``cupy.asarray`` of an array with ``dtype=struct.dtype``.

    Examples
    --------
    >>> import cunumpy as xp
    >>> fields = [("x", "const double*"), ("n", "int"), ("dt", "double")]
    >>> particles = xp.arguments.CudaStruct("Particles", fields, keep_const=True)
    >>> print(particles.declaration, end="")
    struct Particles {
        const double* x;
        int n;
        double dt;
    };
    >>> [particles.dtype.fields[name][1] for name in particles.dtype.names], particles.dtype.itemsize
    ([0, 8, 16], 24)
    """

    def __init__(
        self,
        name: str,
        fields: Sequence[tuple[str, str]],
        *,
        structs: Iterable[CudaStruct] = (),
        alignment: int | None = None,
        keep_const: bool = False,
    ) -> None:
        function = "CudaStruct"
        keep_const = as_truth(keep_const, function=function, argument="keep_const")
        check_identifier(name, "the name", function)
        function = f"CudaStruct {name!r}"
        known = structs_by_name(structs, function)
        if name in known:
            raise ArgumentError(f"{function}: argument 'structs' has a struct of the same name; rename one.")
        self.name = name
        self.fields: tuple[CudaParameter, ...] = tuple(read_fields(fields, list(known.values()), function))
        self.structs: tuple[CudaStruct, ...] = tuple(
            one for one in known.values() if any(field.struct is one for field in self.fields)
        )
        self.has_views: bool = any(field.view_ndim is not None for field in self.fields)
        self.alignment: int = alignment_of(self.fields, alignment, function)
        dtype, offsets = layout_of(self.fields, self.alignment)
        self.dtype: np.dtype[Any] = dtype
        self._asked_alignment = alignment
        self._keep_const = keep_const
        packers = [packer(field, f"field {field.name!r} of struct {name}") for field in self.fields]
        # For each field: how its numbers are packed, where, and what checks a value and returns the numbers.
        self._packing = [
            (struct.Struct(f"={one.code}").pack_into, offset, one.numbers)
            for one, offset in zip(packers, offsets, strict=True)
        ]
        self._names = frozenset(field.name for field in self.fields)
        self._read, self._is_settled = _reader(self.fields)

    def __repr__(self) -> str:
        return f"CudaStruct({self.name!r}, {len(self.fields)} field{'s' * (len(self.fields) != 1)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CudaStruct):
            return NotImplemented
        return (self.name, self.fields, self.alignment) == (other.name, other.fields, other.alignment)

    def __hash__(self) -> int:
        return hash((self.name, self.dtype))

    def __reduce__(self) -> tuple[Any, ...]:
        fields = [(field.name, field_type(field)) for field in self.fields]
        return _make, (type(self), self.name, fields, self.structs, self._asked_alignment, self._keep_const)

    @property
    def declaration(self) -> str:
        """The C text: ``struct name {``, one member a line, ``};``."""
        aligned = f"alignas({self._asked_alignment}) " if self._asked_alignment is not None else ""
        fields = self.fields if self._keep_const else [field._replace(const=False) for field in self.fields]
        members = "".join(f"    {declaration_of(field)};\n" for field in fields)
        return f"struct {aligned}{self.name} {{\n{members}}};\n"

    # Definitions from Python

    @classmethod
    def from_signature(
        cls,
        func: Callable[..., Any],
        name: str,
        *,
        int_type: str = "long long",
        scalar_names: Mapping[str, str] | None = None,
        contiguous: bool | str | Iterable[str] = False,
    ) -> CudaStruct:
        """Make a struct of a function's parameters, from their annotations.

        Parameters
        ----------
        func : callable
            Its parameters are the fields, in order; ``self``, ``*args`` and ``**kwargs`` are left out.
        name : str
            The struct's name.
        int_type : str, default: "long long"
            The C type of ``int``.
        scalar_names : mapping of str to str, optional
            C types of more scalars, or other ones: ``{"float": "float", "real": "double"}``.
        contiguous : bool, str or iterable of str, default: False
            Make all array fields C-contiguous views, or those that are named.

        Returns
        -------
        CudaStruct

        Raises
        ------
        ArgumentError
            A parameter without annotation, or one that has no C type; a name in `contiguous` that is no array.

        Notes
        -----
        ``float`` and ``float64`` are double, ``float32`` float, ``float16`` ``__half``; ``int8`` to ``int64`` and
        ``uint8`` to ``uint64``, ``bool``, ``complex`` (``complex<double>``) and ``complex64`` as in NumPy, also as
        ``numpy.float64``. ``"float[:, :]"`` is ``Array2D<double>``, up to 16 dimensions; ``(order=F)`` after it changes
        nothing, as views have strides. ``Final[...]`` and ``const`` count for nothing. Annotations may be texts.

        Examples
        --------
        >>> import cunumpy as xp
        >>> def push(x: "float[:, :]", dt: float, n: int): ...
        >>> print(xp.arguments.CudaStruct.from_signature(push, "Push", int_type="int").declaration, end="")
        struct Push {
            Array2D<double> x;
            double dt;
            int n;
        };
        """
        function = "CudaStruct.from_signature"
        fields = fields_of_function(func, Annotations(int_type, scalar_names, function))
        return cls(name, made_contiguous(fields, contiguous, function))

    @classmethod
    def from_pyccel_class(
        cls,
        source: str | Path,
        class_name: str,
        name: str | None = None,
        *,
        int_type: str = "long long",
        scalar_names: Mapping[str, str] | None = None,
        exclude: str | Iterable[str] = (),
        attribute_names: bool = True,
        contiguous: bool | str | Iterable[str] = False,
    ) -> CudaStruct:
        """Make a struct of a class's ``__init__``, which is read and never run.

        Parameters
        ----------
        source : str or Path
            A path (a `Path`, or one line that ends in ``.py``), or Python source code.
        class_name : str
            A class of the source; ``"Outer.Inner"`` for one inside another.
        name : str, optional
            The struct's name, by default the last part of `class_name`.
        int_type, scalar_names, contiguous
            As for `from_signature`; `contiguous` takes names of fields.
        exclude : str or iterable of str, optional
            Parameters, or attributes, to leave out.
        attribute_names : bool, default: True
            Call a field by the attribute that ``__init__`` stores the parameter in, as in ``self.n = count``; the
            first one counts. Attributes that are computed, as in ``self.n = count + 1``, give no name: the field is
            called like the parameter.

        Returns
        -------
        CudaStruct

        Raises
        ------
        ArgumentError
            No such class or no ``__init__``, or an annotation that is missing or has no C type.

        Examples
        --------
        >>> import cunumpy as xp
        >>> source = '''
        ... class Domain:
        ...     def __init__(self, kind: int, params: "float[:]"):
        ...         self.kind_map = kind
        ...         self.params = params
        ... '''
        >>> print(xp.arguments.CudaStruct.from_pyccel_class(source, "Domain").declaration, end="")
        struct Domain {
            long long kind_map;
            Array1D<double> params;
        };
        """
        function = "CudaStruct.from_pyccel_class"
        attribute_names = as_truth(attribute_names, function=function, argument="attribute_names")
        annotations = Annotations(int_type, scalar_names, function)
        left_out = names_of(exclude, "exclude", function)
        fields = fields_of_class(source, class_name, annotations, exclude=left_out, attribute_names=attribute_names)
        return cls(name or class_name.rpartition(".")[2], made_contiguous(fields, contiguous, function))

    # C text

    def to_header(
        self, path: str | Path | None = None, *, guard: str | None = None, includes: Iterable[str] = ()
    ) -> str:
        """Return a header that declares the struct; write it too if a path is given.

        Parameters
        ----------
        path : str or Path, optional
            The file to write.
        guard : str, optional
            The include guard, by default the struct's name in capitals with ``_CUH``.
        includes : iterable of str, optional
            As for `write_cuda_header`.

        Returns
        -------
        str
            The text; the same on every call, so that a test can compare it with a committed file.

        Examples
        --------
        >>> import cunumpy as xp
        >>> print(xp.arguments.CudaStruct("Step", [("dt", "double")]).to_header(), end="")
        // Generated by cunumpy.arguments.CudaStruct from the Python definition; do not edit.
        #ifndef STEP_CUH
        #define STEP_CUH
        <BLANKLINE>
        struct Step {
            double dt;
        };
        <BLANKLINE>
        #endif  // STEP_CUH
        """
        function = "CudaStruct.to_header"
        if path is not None:
            path = as_path(path, function=function, argument="path")
        text = header_text([self], f"{self.name.upper()}_CUH" if guard is None else guard, includes, function)
        if path is not None:
            write_text(path, text)
        return text

    def check_source(
        self, source: str, *, defines: Mapping[str, Any] | None = None, filename: str = "<source>"
    ) -> None:
        """Compare the struct with the one of the same name in CUDA source code, if there is one.

        Parameters
        ----------
        source : str
            CUDA source code; headers that it includes are not read.
        defines : mapping of str to Any, optional
            Macros that the compiler is given.
        filename : str, optional
            What messages call the source.

        Raises
        ------
        ArgumentError
            The source's struct has other names, types, pointers, alignment or order of members, or can't be compared:
            it has base classes, bit-fields, virtual functions and the like. Qualifiers and other spellings of a type
            with the same layout are no difference.

        Examples
        --------
        >>> import cunumpy as xp
        >>> xp.arguments.CudaStruct("S", [("a", "int"), ("b", "int")]).check_source("struct S { int a, b; };")
        """
        function = f"CudaStruct.check_source of {self.name!r}"
        for one in self.structs:
            one.check_source(source, defines=defines, filename=filename)
        found = struct_definition(
            source, self.name, structs=self.structs, defines=defines, filename=filename, function=function
        )
        if found is None:
            return
        place = f"{filename}:{found.line}:{found.column}"
        if found.problem is not None:
            raise ArgumentError(
                f"{function}: {place}: struct {self.name} is defined in the source, and can't be compared with the "
                f"CudaStruct: {found.problem}."
            )
        theirs, ours = list(map(signature_of, found.members)), list(map(signature_of, self.fields))
        if theirs != ours:
            raise ArgumentError(
                f"{function}: {place}: {difference(found.members, self.fields)}; the source has "
                f"{{{declarations_of(found.members)}}}, the CudaStruct {{{declarations_of(self.fields)}}}. Include the "
                "header that write_cuda_header generates in the place of the definition."
            )
        if found.alignment is not None and found.alignment > self.alignment:
            raise ArgumentError(
                f"{function}: {place}: the source aligns struct {self.name} to {found.alignment} bytes, the CudaStruct "
                f"has {self.alignment}; pass alignment={found.alignment} to CudaStruct."
            )
        if found.alignment is None and self._asked_alignment is not None:
            natural = alignment_of(self.fields, None, function)
            if natural != self.alignment:
                raise ArgumentError(
                    f"{function}: {place}: the source aligns struct {self.name} to {natural} bytes, the CudaStruct has "
                    f"{self.alignment}; write 'struct alignas({self.alignment}) {self.name}'."
                )

    def layout_source(self, include: str | None = None) -> str:
        """Return CUDA source with a kernel that tells the layout the compiler gives the struct.

        Parameters
        ----------
        include : str, optional
            The header that defines the struct, a file's name or an ``#include`` line. By default `declaration` is
            used, with the headers that it needs.

        Returns
        -------
        str
            The kernel is ``cunumpy_layout_<name>(unsigned long long* out)``; ``out`` gets size, alignment and each
            field's offset in bytes.

        Examples
        --------
        >>> import cunumpy as xp
        >>> print(xp.arguments.CudaStruct("Step", [("dt", "double")]).layout_source(), end="")
        struct Step {
            double dt;
        };
        <BLANKLINE>
        extern "C" __global__ void cunumpy_layout_Step(unsigned long long* out) {
            out[0] = sizeof(Step);
            out[1] = alignof(Step);
            out[2] = (unsigned long long)&((Step*)0)->dt;
        }
        """
        return _layouts.layout_source(self, include)

    def verify_layout(
        self,
        include: str | None = None,
        *,
        include_dirs: Iterable[str | Path] = (),
        options: Iterable[str] = (),
        gpu: bool = True,
    ) -> dict[str, int]:
        """Compare `dtype` with the layout that the CUDA compiler gives the struct.

        Parameters
        ----------
        include : str, optional
            As for `layout_source`.
        include_dirs : iterable of str or Path, optional
            Folders of headers, besides that of the shipped ones.
        options : iterable of str, optional
            More options of the compiler.
        gpu : bool, default: True
            Compile `layout_source` with CuPy, and run it on the current device. With False the compiler NVRTC is asked
            alone, by `cunumpy.cuda.check_cuda`, which needs neither CuPy nor a GPU. It comes without the headers of
            ``complex<T>``, ``__half`` and the like: unless `include` brings them, types of their size and alignment
            take their places.

        Returns
        -------
        dict of str to int
            ``"sizeof"``, ``"alignof"``, and the offset of each field, in bytes.

        Raises
        ------
        ArgumentError
            The layouts differ; the text lists each difference.
        BackendUnavailableError
            There is no CuPy or no GPU.
        CompileError
            With ``gpu=False``: the source does not compile.

        Notes
        -----
        On a GPU this waits for the device and reads a few bytes, which counts as ``to_host``.

        Examples
        --------
        >>> import cunumpy as xp
        >>> xp.arguments.CudaStruct("S", [("n", "int"), ("x", "double3")]).verify_layout(gpu=False)
        {'sizeof': 32, 'alignof': 8, 'n': 0, 'x': 8}
        """
        return _layouts.verify_layout(self, include, include_dirs, options, gpu=gpu)

    # Values

    def __call__(self, /, **values: Any) -> CudaStructValue:
        """Check a value for each field as a kernel checks its arguments, and pack them; nothing is copied.

        Returns
        -------
        CudaStructValue

        Raises
        ------
        ArgumentTypeError
            Fields are missing or unknown, or a value does not fit: pointers and views take device arrays of exactly
            their dtype.
        ArgumentRangeError
            A number is outside the range of its field.
        ArgumentError
            An array on another device than the current one, or a read-only one for a field that is not const.

        Examples
        --------
        >>> import cunumpy as xp
        >>> xp.arguments.CudaStruct("Step", [("dt", "double"), ("n", "int")])(dt=0.5, n=3).packed
        np.void((0.5, 3), dtype={'names': ['dt', 'n'], 'formats': ['<f8', '<i4'], 'offsets': [0, 8], 'itemsize': 16, \
'aligned': True})
        """
        if values.keys() != self._names:
            missing = [field.name for field in self.fields if field.name not in values]
            unknown = [name for name in values if name not in self._names]
            raise ArgumentTypeError(
                f"CudaStruct {self.name!r}: fields missing: {', '.join(missing) or 'none'}; unknown fields: "
                f"{', '.join(unknown) or 'none'}. It has the fields {', '.join(field.name for field in self.fields)}."
            )
        return CudaStructValue(self, self._as_void(self._pack(values)), values)

    def _pack(self, values: Mapping[str, Any]) -> bytearray:
        data, device = bytearray(self.dtype.itemsize), device_of_arrays()
        for field, (pack_into, offset, numbers) in zip(self.fields, self._packing, strict=True):
            pack_into(data, offset, *numbers(values[field.name], device))
        return data

    def _as_void(self, data: bytes | bytearray) -> np.void:
        return np.ndarray((), self.dtype, bytes(data))[()]  # type: ignore[return-value]


def _reader(fields: Sequence[CudaParameter]) -> tuple[Callable[[Any], tuple[Any, ...]], Callable[..., bool]]:
    """Return what tells whether an object has to be packed again, for structs with these fields.

    The first function reads an object's values and then the shapes of its views: as long as the values are the same
    objects and the shapes equal, nothing has changed, since the shape is all of an array that can. The second one says
    whether that holds for values: it does not for lists, structs, and arrays of other libraries, which may move.
    """
    names = [field.name for field in fields]
    views = [field.name for field in fields if field.view_ndim is not None]
    arrays = [field.name for field in fields if field.pointer] + views
    get = operator.attrgetter(*names, *[f"{name}.shape" for name in views])
    read = get if len(names) + len(views) > 1 else lambda value: (get(value),)
    others = any(map(_can_change, fields))

    def is_settled(values: Mapping[str, Any]) -> bool:
        return not others and all(hasattr(getattr(values[name], "data", None), "ptr") for name in arrays)

    return read, is_settled


def _can_change(field: CudaParameter) -> bool:
    """Tell whether a value of the field is a list, an array of the host, or a struct."""
    is_array = field.pointer or field.view_ndim is not None
    return not is_array and (field.struct is not None or field.dtype is None or field.dtype.kind == "V")


def _make(
    cls: type[CudaStruct],
    name: str,
    fields: list[tuple[str, str]],
    structs: tuple[CudaStruct, ...],
    alignment: int | None,
    keep_const: bool,
) -> CudaStruct:
    return cls(name, fields, structs=structs, alignment=alignment, keep_const=keep_const)


class CudaStructValue:
    """A packed struct: what `CudaStruct` returns, and an argument of kernels.

    Parameters
    ----------
    struct : CudaStruct
    packed : numpy.void
        The bytes, with the dtype of the struct.
    values : dict
        The value of each field, as it was given; this keeps the arrays alive.

    Notes
    -----
    It is a snapshot: that an array is replaced later is not noticed. ``value["x"]`` is what was given for the field.

    Examples
    --------
    >>> import cunumpy as xp
    >>> value = xp.arguments.CudaStruct("Step", [("dt", "double"), ("n", "int")])(dt=0.5, n=3)
    >>> value["n"], value.packed["dt"]
    (3, np.float64(0.5))
    """

    def __init__(self, struct: CudaStruct, packed: np.void, values: dict[str, Any]) -> None:
        self.struct = struct
        self.packed = packed
        self.values = values

    def __cuda_args__(self) -> tuple[np.void]:
        return (self.packed,)

    def __getitem__(self, field: str) -> Any:
        try:
            return self.values[field]
        except (KeyError, TypeError):
            raise KeyError(
                f"struct {self.struct.name} has no field {field!r}; its fields are {', '.join(self.values)}"
            ) from None

    def __repr__(self) -> str:
        listed = ", ".join(f"{name}={shown(value)}" for name, value in self.values.items())
        return f"{self.struct.name}({listed})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Addresses mean nothing elsewhere: pack the copies of the arrays.
        return _repacked, (self.struct, self.values)


def _repacked(struct: CudaStruct, values: dict[str, Any]) -> CudaStructValue:
    return struct(**values)


def shown(value: Any) -> str:
    return repr(value) if isinstance(value, (bool, int, float, complex, np.generic)) else describe(value)
