// Kernel signatures as people write them. Each starts with a line "//! name", with its template arguments where it is
// a template, and with "refused LINE:COLUMN words" where no kernel can have such a parameter, or the parser reads on
// purpose no such thing; lines are counted from the line after. All of them are accepted by a C++ compiler.

//! plain_pointer
__global__ void plain_pointer(double* x) {}
//! c_linkage
extern "C" __global__ void c_linkage(double* x, const double* y, int n) { if (n > 0) x[0] = y[0]; }
//! c_linkage_block
extern "C" {
__global__ void c_linkage_block(float* x, unsigned int n);
}
//! nothing
__global__ void nothing() {}
//! nothing_as_in_c
__global__ void nothing_as_in_c(void) {}
//! bounds_after_void
__global__ void __launch_bounds__(256) bounds_after_void(double* x) {}
//! bounds_before_void
__global__ __launch_bounds__(128, 4) void bounds_before_void(double* x) {}
//! bounds_first
__launch_bounds__(64) __global__ void bounds_first(double* x) {}
//! bounds_by_macro
#define THREADS 128
__global__ void __launch_bounds__(THREADS * 2, 1) bounds_by_macro(double* x) {}
//! bounds_by_constant
constexpr int threads = 4 * 32;
__global__ void __launch_bounds__(threads) bounds_by_constant(double* x) {}
//! cluster
__global__ void __cluster_dims__(2, 1, 1) cluster(double* x) {}
//! cluster_and_bounds
__global__ void __cluster_dims__(2) __launch_bounds__(32) cluster_and_bounds(double* x, long n) {}
//! static_first
static __global__ void static_first(int* x);
static __global__ void static_first(int* x) {}
//! static_after
__global__ static void static_after(int* x) {}
//! inline_kernel
inline __global__ void inline_kernel(short* x) {}
//! void_before_global
void __global__ void_before_global(double* x) {}
//! all_attributes
extern "C" __attribute__((noinline)) __global__ __attribute__((used)) void __launch_bounds__(32) all_attributes(char* x) {}
//! standard_attribute
[[maybe_unused]] __global__ void standard_attribute(double* x) {}
//! attribute_on_parameter
__global__ void attribute_on_parameter([[maybe_unused]] const double* x, int n [[maybe_unused]]) {}
//! gnu_attribute_on_parameter
__global__ void gnu_attribute_on_parameter(__attribute__((unused)) double* x, int n __attribute__((unused))) {}
//! noexcept_kernel
__global__ void noexcept_kernel(double* x) noexcept {}
//! trailing_return
__global__ auto trailing_return(double* x) -> void {}
//! every_integer
__global__ void every_integer(char a, signed char b, unsigned char c, short d, unsigned short e, int f, unsigned g, long h,
                              unsigned long i, long long j, unsigned long long k) {}
//! long_spellings
__global__ void long_spellings(short int a, signed short b, signed short int c, unsigned short int d, signed e,
                               signed int f, unsigned int g, long int h, signed long i, signed long int j,
                               unsigned long int k, long long int l, signed long long m, signed long long int n,
                               unsigned long long int o) {}
//! other_orders
__global__ void other_orders(int short a, int unsigned b, long unsigned int c, int long d, long signed e, long int long f,
                             unsigned long int long g, char unsigned h, char signed i, long unsigned long j,
                             int signed k, short unsigned int l, int long unsigned long m) {}
//! floats
__global__ void floats(float a, double b, bool c) {}
//! fixed_width
__global__ void fixed_width(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f, int64_t g, uint64_t h) {}
//! std_fixed_width
__global__ void std_fixed_width(std::int8_t a, std::uint8_t b, std::int16_t c, std::uint16_t d, std::int32_t e,
                                std::uint32_t f, std::int64_t g, std::uint64_t h, std::size_t i, std::ptrdiff_t j) {}
//! global_fixed_width
__global__ void global_fixed_width(::int8_t a, ::uint64_t b, ::size_t c, const ::int32_t* d, ::std::int64_t e) {}
//! cuda_std_width
__global__ void cuda_std_width(cuda::std::int64_t a, const cuda::std::uint8_t* b, ::cuda::std::size_t n) {}
//! sizes
__global__ void sizes(size_t a, ptrdiff_t b, ssize_t c, intptr_t d, uintptr_t e) {}
//! short_names
__global__ void short_names(uint a, ushort b, ulong c) {}
//! textures
__global__ void textures(cudaTextureObject_t a, cudaSurfaceObject_t b) {}
//! const_scalars
__global__ void const_scalars(const int a, int const b, const unsigned long long c, unsigned const long d) {}
//! volatile_scalars
__global__ void volatile_scalars(volatile int a, const volatile double b) {}
//! const_pointer_west
__global__ void const_pointer_west(const double* x) {}
//! const_pointer_east
__global__ void const_pointer_east(double const* x) {}
//! const_pointer_itself
__global__ void const_pointer_itself(double* const x) {}
//! const_both
__global__ void const_both(const double* const x, double const* const y) {}
//! const_in_the_middle
__global__ void const_in_the_middle(unsigned const int* x, long const long* y, long long const* z) {}
//! restricted
__global__ void restricted(double* __restrict__ x, const double* __restrict__ y, const float* const __restrict__ z) {}
//! restricted_short
__global__ void restricted_short(double* __restrict x, const double* __restrict y) {}
//! volatile_pointer
__global__ void volatile_pointer(volatile int* flag, const volatile unsigned* counter, int* volatile x) {}
//! stars_left_middle_right
__global__ void stars_left_middle_right(double* a, double *b, double * c, double*d) {}
//! void_pointers
__global__ void void_pointers(void* a, const void* b, void const* c, void* const d) {}
//! bool_pointers
__global__ void bool_pointers(bool* mask, const bool* other) {}
//! char_pointers
__global__ void char_pointers(char* a, const char* b, unsigned char* c, const signed char* d) {}
//! arrays_without_extent
__global__ void arrays_without_extent(double x[], const float y[], int n) {}
//! arrays_with_extent
__global__ void arrays_with_extent(double x[3], const int y[16], float z[2 * 4 + 1]) {}
//! arrays_with_named_extent
#define WIDTH 5
enum { HEIGHT = 7 };
__global__ void arrays_with_named_extent(double x[WIDTH], float y[HEIGHT], long z[WIDTH * HEIGHT]) {}
//! array_with_attribute
__global__ void array_with_attribute(double x[3] [[maybe_unused]], int n) {}
//! unnamed
__global__ void unnamed(double*, const float*, int, unsigned long) ;
//! partly_unnamed
__global__ void partly_unnamed(double* x, int, const double*, int n) {}
//! unnamed_arrays
__global__ void unnamed_arrays(double[], const int[3], bool);
//! defaults
__global__ void defaults(double* x, int n = 3, double dt = 1.5e-3, bool flag = true) {}
//! default_expressions
__global__ void default_expressions(double* x, int n = (1 + 2) * 3, int m = sizeof(double), char c = ',') {}
//! default_templates
template <class A, class B> struct pair_of { static const int value = 2; };
__global__ void default_templates(int n = pair_of<int, double>::value, double x = 1.0) {}
//! default_comparison
__global__ void default_comparison(bool a = 1 < 2, int b = 3, bool c = 4 > 5) {}
//! default_comparisons_that_look_like_templates
constexpr int LIMIT = 3;
__global__ void default_comparisons_that_look_like_templates(int a = LIMIT < 2, int b = 2 > (1), int c = 1 < 2, bool d = 4 > (5)) {}
//! default_braces
__global__ void default_braces(int n = {}, double x = double{1}, int m = int{}) {}
//! default_null
__global__ void default_null(double* x = nullptr, const void* y = 0) {}
//! grid_constant
__global__ void grid_constant(const __grid_constant__ double a, __grid_constant__ const int n) {}
//! views
__global__ void views(Array1D<double> a, Array2D<float> b, Array3D<int> c, Array4D<long long> d) {}
//! contiguous_views
__global__ void contiguous_views(CArray1D<double> a, CArray2D<const float> b, CArray3D<bool> c) {}
//! large_views
__global__ void large_views(Array5D<double> a, CArray9D<float> b, Array10D<int> c, Array16D<double> d, CArray16D<char> e) {}
//! const_views
__global__ void const_views(const Array2D<double> a, Array1D<const double> b, Array1D<double const> c, const CArray1D<const int> d) {}
//! views_of_words
__global__ void views_of_words(Array1D<unsigned long long> a, Array2D< long unsigned int > b, CArray1D<signed char> c) {}
//! views_of_complex
__global__ void views_of_complex(Array2D<complex<double>> a, Array1D<complex<float> > b, CArray1D<const thrust::complex<double>> c) {}
//! views_in_namespace
__global__ void views_in_namespace(cunumpy::Array2D<double> a, ::Array1D<float> b) {}
//! unnamed_views
__global__ void unnamed_views(Array2D<double>, CArray1D<int>);
//! complex_numbers
__global__ void complex_numbers(complex<float> a, complex<double> b, complex<double>* c, const complex<float>* d) {}
//! complex_in_namespaces
__global__ void complex_in_namespaces(thrust::complex<double> a, const thrust::complex<float>* b, cuda::std::complex<double>* c) {}
//! cuda_complex
__global__ void cuda_complex(cuDoubleComplex a, cuFloatComplex b, cuComplex* c, const cuDoubleComplex* d) {}
//! halves
__global__ void halves(__half a, half b, const __half* c, half* d) {}
//! half_vectors
__global__ void half_vectors(__half2 a, const half2* b) {}
//! brain_floats
__global__ void brain_floats(__nv_bfloat16* a, const nv_bfloat16* b) {}
//! double_vectors
__global__ void double_vectors(double1 a, double2 b, double3 c, double4 d) {}
//! float_vectors
__global__ void float_vectors(float1 a, float2 b, float3 c, float4 d) {}
//! int_vectors
__global__ void int_vectors(int1 a, int2 b, int3 c, int4 d, uint1 e, uint2 f, uint3 g, uint4 h) {}
//! small_vectors
__global__ void small_vectors(char1 a, char2 b, char3 c, char4 d, uchar4 e, short2 f, short3 g, short4 h, ushort4 i) {}
//! long_vectors
__global__ void long_vectors(long2 a, ulong3 b, longlong1 c, longlong2 d, longlong3 e, ulonglong4 f) {}
//! vector_pointers
__global__ void vector_pointers(double2* a, const float4* b, int3* const c, const dim3* d) {}
//! dimensions
__global__ void dimensions(dim3 a, const uint3 b) {}
//! in_namespace
namespace physics {
__global__ void in_namespace(double* x, int n) {}
}
using physics::in_namespace;
//! physics::qualified
namespace physics {
__global__ void qualified(double* x, int n) {}
}
//! physics::fields::nested
namespace physics { namespace fields {
__global__ void nested(const double* e) {}
} }
//! physics::fields::nested_at_once
namespace physics::fields {
__global__ void nested_at_once(const double* e, double* j) {}
}
//! fields::by_the_last_names
namespace physics::fields {
__global__ void by_the_last_names(const double* e, float* j) {}
}
namespace fields = physics::fields;
//! in_inline_namespace
inline namespace version_2 {
__global__ void in_inline_namespace(double* x) {}
}
//! api::through_inline
namespace api { inline namespace version_1 { __global__ void through_inline(double* x) {} } }
//! unnamed_namespace
namespace {
__global__ void unnamed_namespace(double* x, unsigned n) {}
}
//! kept::attribute_namespace
namespace [[gnu::visibility("default")]] kept { __global__ void attribute_namespace(float* x) {} }
//! solver::defined_outside
namespace solver { __global__ void defined_outside(double* x); }
__global__ void solver::defined_outside(double* y) {}
//! alias_of_namespace
namespace numbers { typedef float real; }
namespace n = numbers;
__global__ void alias_of_namespace(double* x) {}
//! typedef_scalar
typedef double real;
__global__ void typedef_scalar(real* x, const real* y, real a) {}
//! using_scalar
using real = float;
__global__ void using_scalar(real* x, const real* y, const real a) {}
//! typedef_words
typedef unsigned long long counter_type;
__global__ void typedef_words(counter_type* x, counter_type n) {}
//! typedef_order
long typedef long wide;
__global__ void typedef_order(double* x) {}
//! typedef_of_typedef
typedef double real; typedef real scalar; using number = scalar;
__global__ void typedef_of_typedef(number* x, scalar y) {}
//! typedef_pointer
typedef double* vector; typedef const double* input;
__global__ void typedef_pointer(vector x, input y, const vector z, const input w) {}
//! typedef_several
typedef float real, *pointer, triple[3];
__global__ void typedef_several(real a, pointer b, triple c, const pointer d, const triple e) {}
//! typedef_array
typedef const int pair[2];
__global__ void typedef_array(pair x, double* y) {}
//! typedef_const
typedef const double fixed; typedef double const also_fixed;
__global__ void typedef_const(fixed* x, also_fixed* y, fixed z) {}
//! typedef_fixed_width
typedef long long int64; typedef unsigned int uint32;
__global__ void typedef_fixed_width(int64 n, const uint32* x) {}
//! typedef_standard_name
typedef signed char int8_t; typedef unsigned long size_t;
__global__ void typedef_standard_name(int8_t* x, size_t n) {}
//! numbers::typedef_in_namespace
namespace numbers { typedef float real; __global__ void typedef_in_namespace(real* x); }
typedef double real;
__global__ void other(real* x);
//! typedef_by_qualified_name
namespace numbers { typedef float real; namespace inner { typedef short small; } }
__global__ void typedef_by_qualified_name(numbers::real* x, const numbers::inner::small* y) {}
//! inside::further::typedef_outside
typedef double real;
namespace inside { namespace further { __global__ void typedef_outside(real* x, const real* y) {} } }
//! inside::typedef_hidden
typedef double real;
namespace inside { using real = float; __global__ void typedef_hidden(real* x) {} }
//! using_directive
namespace numbers { using real = float; }
using namespace numbers;
__global__ void using_directive(real* x) {}
//! using_declaration
namespace numbers { using real = float; }
using numbers::real;
__global__ void using_declaration(const real* x) {}
//! using_std
using std::int16_t; using std::size_t;
__global__ void using_std(const int16_t* x, size_t n) {}
//! typedef_inside_a_function
__global__ void before(double* x) { typedef int real; real y = 3; x[0] = y; }
typedef double real;
__global__ void typedef_inside_a_function(real* x) {}
//! typedef_view
typedef Array2D<double> matrix; using row = CArray1D<const double>;
__global__ void typedef_view(matrix a, row b) {}
//! typedef_complex
using cplx = thrust::complex<double>;
__global__ void typedef_complex(cplx* z, const cplx w) {}
//! alias_template
template <typename T> using matrix_of = Array2D<T>;
__global__ void alias_template(matrix_of<double> a, matrix_of<const float> b) {}
//! alias_template_default
template <typename T = double> using vector_of = CArray1D<T>;
__global__ void alias_template_default(vector_of<> a, vector_of<int> b) {}
//! alias_template_pointer
template <class T, int N> using buffer = const T*;
__global__ void alias_template_pointer(buffer<double, 3> a, buffer<float, 2>) {}
//! elaborated
__global__ void elaborated(struct float3 x, const struct double2* y) {}
//! enumeration
enum Color { red, green, blue };
__global__ void enumeration(Color c, const Color* cs) {}
//! enumeration_negative
enum Sign { minus = -1, zero, plus };
__global__ void enumeration_negative(Sign s) {}
//! enumeration_large
enum Big { small_one = 1, large_one = 0x100000000 };
__global__ void enumeration_large(Big b) {}
//! enumeration_unsigned
enum Mask { all = 0xffffffffu, some = all >> 4 };
__global__ void enumeration_unsigned(Mask b) {}
//! enumeration_underlying
enum Level : unsigned char { low, high };
__global__ void enumeration_underlying(Level l, enum Level m) {}
//! enumeration_scoped
enum class Mode { a, b }; enum struct Kind : short { c };
__global__ void enumeration_scoped(Mode m, const Kind* k) {}
//! enumeration_declared
enum class Later : std::uint16_t;
__global__ void enumeration_declared(Later m) {}
//! enumeration_typedef
typedef enum { open_end, closed_end } Boundary;
__global__ void enumeration_typedef(Boundary b) {}
//! enumeration_in_namespace
namespace model { enum class Phase : std::int8_t { one }; }
__global__ void enumeration_in_namespace(model::Phase p) {}
//! macro_type
#define REAL double
__global__ void macro_type(REAL* x, const REAL* y, REAL a) {}
//! macro_words
#define COUNT unsigned long long
__global__ void macro_words(COUNT* x, const COUNT n) {}
//! macro_of_macro
#define REAL SCALAR
#define SCALAR float
__global__ void macro_of_macro(REAL* x, SCALAR y) {}
//! macro_qualifier
#define RESTRICT __restrict__
#define IN const
#define NOTHING
__global__ void macro_qualifier(double* RESTRICT x, IN double* RESTRICT y, NOTHING int n) {}
//! macro_whole
#define KERNEL extern "C" __global__ void
KERNEL macro_whole(double* x, int n) {}
//! macro_parameters
#define COMMON const double* x, int n
__global__ void macro_parameters(double* y, COMMON) {}
//! macro_name
#define NAMED macro_name
__global__ void NAMED(double* y) {}
//! macro_recursive
#define double double
__global__ void macro_recursive(double* y) {}
//! macro_redefined
#define REAL float
__global__ void first(REAL* x) {}
#undef REAL
#define REAL double
__global__ void macro_redefined(REAL* x) {}
//! macro_undefined
typedef long REAL;
#define REAL float
#undef REAL
__global__ void macro_undefined(REAL* x) {}
//! macro_continued
#define KERNEL \
    extern "C" \
    __global__ void
KERNEL macro_continued(double* x, \
                       int n) {}
//! macro_for_bounds
#define BOUNDS(n) __launch_bounds__(n)
__global__ void BOUNDS(64) macro_for_bounds(double* x) {}
//! macro_for_attribute
#define EXPORT(kind) __attribute__((visibility(kind)))
EXPORT("default") __global__ void macro_for_attribute(double* x) {}
//! block_left_out
#if 0
__global__ void block_left_out(float x, int y) {}
don't read "this
#endif
__global__ void block_left_out(double* x) {}
//! block_else
#if 1 - 1
__global__ void block_else(float x) {}
#else
__global__ void block_else(double* x) {}
#endif
//! block_elif
#define VERSION 3
#undef VERSION_2
#if VERSION < 2
__global__ void block_elif(float x) {}
#elif VERSION == 3 && defined(VERSION) && !defined VERSION_2 || 0
__global__ void block_elif(double* x, long n) {}
#else
__global__ void block_elif(int x) {}
#endif
#undef VERSION
//! block_ifdef
#define USE_DOUBLE
#ifdef USE_DOUBLE
typedef double real;
#else
typedef float real;
#endif
__global__ void block_ifdef(real* x) {}
//! block_nested
#define OUTER 1
#if OUTER
#if !OUTER
typedef float real;
#else
typedef double real;
#endif
#endif
__global__ void block_nested(real* x) {}
//! block_default
#ifndef REAL
#define REAL double
#endif
__global__ void block_default(REAL* x) {}
//! block_cuda
#ifdef __cplusplus
extern "C" {
#endif
__global__ void block_cuda(double* x) {}
#ifdef __cplusplus
}
#endif
//! block_in_parameters
#define WITH_WEIGHTS 1
__global__ void block_in_parameters(double* x,
#if WITH_WEIGHTS
                                    const double* w,
#endif
                                    int n) {}
//! same_in_both_branches
#ifdef SOME_MACHINE
__global__ void same_in_both_branches(double* x) {
#else
__global__ void same_in_both_branches(double* y) {
#endif
}
__global__ void after_same_in_both_branches(int n) {}
//! comments_everywhere
/* first */ __global__ /* second */ void // third
comments_everywhere(/* const */ double* x /* , int m */, // int k,
                    int n /* = "*/) {}
//! comment_with_quote
// don't stop here: "
/* nor here: ' " */
__global__ void comment_with_quote(double* x) {}
//! comment_continued
// this goes on \
__global__ void comment_continued(float x);
__global__ void comment_continued(double* x) {}
//! string_with_comment
const char* string_url = "http://x"; __global__ void string_with_comment(double* x) {}
//! string_with_kernel
const char* string_text = "__global__ void string_with_kernel(float* y)"; __global__ void string_with_kernel(double* x) {}
//! string_raw
const char* string_raw_text = R"(
__global__ void string_raw(float* y); " /*
)"; __global__ void string_raw(double* x) {}
//! string_raw_marked
const auto* string_marked_text = u8R"end(
)" __global__ void string_raw_marked(float* y);)end"; __global__ void string_raw_marked(double* x) {}
//! character_literals
const char quote = '"', escaped = '\'', brace = '{'; __global__ void character_literals(double* x) {}
//! digit_separators
constexpr long separated = 1'000'000; __global__ void digit_separators(double* x, int n = 1'000) {}
//! strange_spaces
__global__	void
strange_spaces
(
	double
	*
	x
	,int
	n
)
{
}
//! no_spaces
__global__ void no_spaces(const double*x,double*y,int n,unsigned m){}
//! continued_word
__global__ void continued_wo\
rd(dou\
ble* x) {}
//! declared_then_defined
__global__ void declared_then_defined(double* a, int b);
__global__ void declared_then_defined(double* x, int n) {}
//! defined_then_declared
__global__ void defined_then_declared(double* x, int n) {}
__global__ void defined_then_declared(double*, int);
//! declared_with_const
__global__ void declared_with_const(double* x, const int n);
__global__ void declared_with_const(double* const x, int n) {}
//! many_lines_before
__device__ double helper(double x) { return x < 0 ? -x : x; }
template <typename T> __device__ T twice(T x) { return x + x; }
struct helper_struct { double x; __device__ double f() const { return x; } };
__global__ void many_lines_before(double* x) { x[0] = twice(helper(x[0])); }
//! called_in_a_body
__global__ void callee(float* x) {}
__global__ void called_in_a_body(double* x) { int called_in_a_body = 3; (void)called_in_a_body; }
//! type_parameter <double>
template <typename T> __global__ void type_parameter(T* x, const T* y, T a) {}
//! class_parameter <float>
template <class T>
__global__ void class_parameter(T* __restrict__ x, int n) {}
//! two_type_parameters <double, int>
template <typename T, typename I> __global__ void two_type_parameters(T* x, const I* index, I n) {}
//! value_parameter <double, 3>
template <typename T, int N> __global__ void value_parameter(T* x, const T y[N]) {}
//! value_parameters <7, true>
template <unsigned N, bool Flag> __global__ void value_parameters(double* x) {}
//! type_default <>
template <typename T = double> __global__ void type_default(T* x) {}
//! value_default <float>
template <typename T, int N = 3> __global__ void value_default(T* x) {}
//! default_of_earlier <float>
template <typename T, typename A = T, typename P = const A*> __global__ void default_of_earlier(T* x, A y, P z) {}
//! default_with_brackets <double>
template <typename T, int N = (3 > 2 ? 1 : 0), typename V = Array2D<T>> __global__ void default_with_brackets(T* x, V v) {}
//! partial_arguments <float, double>
template <typename T, typename A = int, int N = 2, bool B = false> __global__ void partial_arguments(T* x, A* y) {}
//! unnamed_template_parameters <double, 3>
template <typename, int> __global__ void unnamed_template_parameters(double* x) {}
//! pointer_as_argument <const double*>
template <typename T> __global__ void pointer_as_argument(T x, int n) {}
//! words_as_argument <unsigned long long>
template <typename T> __global__ void words_as_argument(T* x, const T n) {}
//! const_argument <const float>
template <typename T> __global__ void const_argument(T* x, T n) {}
//! complex_argument <thrust::complex<double>>
template <typename T> __global__ void complex_argument(T* x, Array1D<T> y) {}
//! view_of_parameter <double>
template <typename T> __global__ void view_of_parameter(Array2D<T> a, CArray3D<const T> b, Array1D<T const> c) {}
//! complex_of_parameter <float>
template <typename T> __global__ void complex_of_parameter(complex<T>* a, thrust::complex<T> b) {}
//! alias_of_parameter <float>
template <typename T> using buffer = T*;
template <typename T> __global__ void alias_of_parameter(buffer<T> x, buffer<const T> y) {}
//! template_bounds <double, 64>
template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK) template_bounds(T* x) {}
//! inside::template_in_namespace <double>
namespace inside { template <typename T> __global__ void template_in_namespace(T* x) {} }
//! template_declared_first <double>
template <typename T, int N = 2> __global__ void template_declared_first(T* x);
template <typename U, int M> __global__ void template_declared_first(U* y) {}
//! template_instantiated <double>
template <typename T> __global__ void template_instantiated(T* x) {}
template __global__ void template_instantiated<float>(float*);
//! template_specialised <double>
template <typename T> __global__ void template_specialised(T* x, int n) {}
template <> __global__ void template_specialised<float>(float* x, int n) {}
//! template_static <double>
template <typename T>
static __global__ void template_static(const T* x) {}
//! template_enum_argument <2>
enum Choice { one_choice, two_choice };
template <int C> __global__ void template_enum_argument(double* x, Choice c) {}
//! inside::shadowing_names
typedef double n;
namespace inside { __global__ void shadowing_names(double* x, int n) {} }
//! names_like_types
__global__ void names_like_types(double* float2_, int int64, unsigned size, float x1) {}
//! unicode
// Größe α → β
__global__ void unicode(double* größe, int α) {}
//! many_parameters
__global__ void many_parameters(const double* __restrict__ x, const double* __restrict__ y, const double* __restrict__ z,
    const double* __restrict__ vx, const double* __restrict__ vy, const double* __restrict__ vz, double* __restrict__ ex,
    double* __restrict__ ey, double* __restrict__ ez, const long long* __restrict__ cell, const unsigned char* alive,
    long long n, int nx, int ny, int nz, double dx, double dy, double dz, float charge, bool periodic) {}
//! constant_before
__constant__ double table_of_constants[64];
__device__ int counter_of_device;
__global__ void constant_before(double* x) {}
//! struct_before
struct Params { double a; int n; };
__device__ double use(Params p);
__global__ void struct_before(double* x) {}
//! old_style_const_expression
static const int ROWS = 3, COLUMNS = 4;
__global__ void old_style_const_expression(double x[ROWS], double y[COLUMNS]) {}
//! reference refused 1:27 reference
__global__ void reference(double& x) {}
//! const_reference refused 1:46 reference
__global__ void const_reference(const int n, const double& x) {}
//! rvalue_reference refused 1:34 reference
__global__ void rvalue_reference(double&& x) {}
//! view_reference refused 1:32 write 'Array2D<double> a'
__global__ void view_reference(const Array2D<double>& a) {}
//! pointer_reference refused 1:35 reference
__global__ void pointer_reference(double*& x) {}
//! pointer_to_pointer refused 1:36 pointer to pointers
__global__ void pointer_to_pointer(double** x) {}
//! pointer_to_const_pointer refused 1:42 pointer to pointers
__global__ void pointer_to_const_pointer(const double* const* x) {}
//! array_of_pointers refused 1:35 pointer to pointers
__global__ void array_of_pointers(double* x[]) {}
//! rows refused 1:22 pointer to rows
__global__ void rows(double x[][3]) {}
//! array_pointer refused 1:38 parentheses
__global__ void array_pointer(double (*x)[3]) {}
//! array_reference refused 1:40 parentheses
__global__ void array_reference(double (&x)[3]) {}
//! function_pointer refused 1:48 pointer to a function
__global__ void function_pointer(int n, double (*f)(double)) {}
//! function_typedef refused 1:16 pointer to a function
typedef double (*function)(double);
__global__ void function_typedef(int n, function f) {}
//! function_type refused 1:38 belongs to no parameter
__global__ void function_type(double f(int)) {}
//! variadic refused 1:33 variable number
__global__ void variadic(int n, ...) {}
//! view_pointer refused 1:30 pointer to a view
__global__ void view_pointer(Array1D<double>* a) {}
//! wide_double refused 1:29 no wider type
__global__ void wide_double(long double x) {}
//! wide_integer refused 1:30 two 64-bit integers
__global__ void wide_integer(__int128 x) {}
//! unknown_struct refused 2:32 CudaStruct("Params", [("a", "double"), ("v", "int[3]")])
struct Params { double a; int v[3]; };
__global__ void unknown_struct(Params p) {}
//! unknown_pointer refused 2:33 is not known
class Opaque;
__global__ void unknown_pointer(Opaque* p) {}
//! macro_with_parameters refused 2:39 macro with parameters (line 1)
#define POINTER(T) T*
__global__ void macro_with_parameters(POINTER(double) x) {}
//! macro_for_name refused 1:1 macros with parameters are not expanded
#define MAKE(name) name
__global__ void MAKE(macro_for_name)(double* x) {}
//! pack refused 1:11 parameter pack
template <typename... T> __global__ void pack(T... x) {}
//! template_of_templates <Array1D> refused 1:11 template of templates
template <template <typename> class V> __global__ void template_of_templates(V<double> x) {}
//! dependent_type <Holder> refused 2:63 'T::type'
struct Holder { typedef double type; };
template <typename T> __global__ void dependent_type(typename T::type* x) {}
//! class_type refused 2:28 not known
struct Holder { typedef double type; };
__global__ void class_type(Holder::type* x) {}
//! deduced refused 2:25 leaves the type open
double something;
__global__ void deduced(decltype(something)* x) {}
//! brain_float_value refused 1:35 convert it in the kernel
__global__ void brain_float_value(__nv_bfloat16 x) {}
//! standard_complex refused 1:34 'std::complex<double>' is not known
__global__ void standard_complex(std::complex<double>* x) {}
//! complex_of_integer refused 1:36 complex<float>
__global__ void complex_of_integer(complex<int>* x) {}
//! view_of_pointer refused 1:33 elements of type 'double*'
__global__ void view_of_pointer(Array1D<double*> x) {}
//! member_pointer refused 2:36 pointer to a member
struct Point { double x; };
__global__ void member_pointer(int Point::*p) {}
//! overloads refused 2:17 the kernel 'overloads'
__global__ void overloads(double* x) {}
__global__ void overloads(float* x) {}
//! two_namespaces refused 2:31 'a::two_namespaces' or 'b::two_namespaces'
namespace a { __global__ void two_namespaces(double* x) {} }
namespace b { __global__ void two_namespaces(double* x) {} }
//! returns_something refused 1:16 returns int
__global__ int returns_something(double* x);
//! undecided_type refused 6:32 '#ifdef
#ifdef A_DEFINE_OF_THE_COMPILER
typedef float real;
#else
typedef double real;
#endif
__global__ void undecided_type(real* x) {}
//! undecided_parameters refused 2:1 '#ifdef
__global__ void undecided_parameters(double* x
#ifdef A_DEFINE_OF_THE_COMPILER
    , double* y
#endif
    , int n) {}
//! undecided_macro refused 6:33 several definitions (lines 2 and 4)
#ifdef A_DEFINE_OF_THE_COMPILER
#define REAL float
#else
#define REAL double
#endif
__global__ void undecided_macro(REAL* x) {}
//! no_kernel refused 1:6 is no kernel here
void no_kernel(double* x) {}
//! in_left_out_block refused 2:17 leaves out
#if 0
__global__ void in_left_out_block(double* x) {}
#endif
//! missing refused 1:1 its kernels are present
__global__ void present(double* x) {}
//! template_without_arguments refused 1:39 pass template_args
template <typename T> __global__ void template_without_arguments(T* x) {}
//! cont_kw
__glo\
bal__ vo\
id cont_kw(double* x) {}
//! cont_comment
// a comment \
__global__ void cont_comment(int a);
__global__ void cont_comment(double* x, int n) {}
//! cont_directive
#define A double \
 *
__global__ void cont_directive(A x, A y) {}
//! raw_odd
const char* s = R"_.-+x(__global__ void raw_odd(int a) {} )" )_.-+x"; __global__ void raw_odd(double* x) {}
//! raw_quote
const char* s = R"(")" ; const char* t = R"( // /* )"; __global__ void raw_quote(double* x) {}
//! raw_hash
const char* s = R"d(
#if 0
)d"; __global__ void raw_hash(double* x) {}
//! raw_cont
const char* s = R"(a\
)";
__global__ void raw_cont(double* x) {}
//! raw_u8
const auto* s = u8R"(__global__ void raw_u8(int))"; auto t = LR"x(")x"; __global__ void raw_u8(double* x) {}
//! raw_not
#define R 1
#define FOO(x) x
int R_; const char* s = FOO("a"); __global__ void raw_not(double* x) {}
//! digraph
__global__ void digraph(double x<::>, int n<:3:>) <% %>
//! digraph_dir
%:define T double
%:if 0
__global__ void digraph_dir(int);
%:endif
__global__ void digraph_dir(T* x) {}
//! digraph_angle
__global__ void digraph_angle(Array1D<::complex<float>> x) {}
//! alt_tokens
#if not 0 and 1
__global__ void alt_tokens(double* x) {}
#else
__global__ void alt_tokens(int x) {}
#endif
//! alt_bitor
#if (1 bitor 2) == 3 and (compl 0) == -1 and (5 xor 1) == 4 and 1 not_eq 2 or 0
__global__ void alt_bitor(double* x) {}
#else
__global__ void alt_bitor(int x) {}
#endif
//! udl
constexpr unsigned long long operator""_kb(unsigned long long n) { return n * 1024; }
constexpr int operator ""_x(const char*, unsigned long) { return 3; }
__global__ void udl(double* x, int n = 4_kb, int m = "abc"_x) {}
//! elif_defined
#define A
#if defined B || !defined(A)
__global__ void elif_defined(int);
#elif defined(A) && !defined B
__global__ void elif_defined(double* x) {}
#else
__global__ void elif_defined(float);
#endif
//! nested_if
#define V 7
#if V > 5
# if V == 7 /* c */ // d
__global__ void nested_if(double* x) {}
# else
__global__ void nested_if(float x) {}
# endif
#else
#error no
#endif
//! if_ternary
#if (2 ? 3 : 4) == 3 && -1 < 0 && 0x10 == 16 && 010 == 8 && 'a' == 97
__global__ void if_ternary(double* x) {}
#else
__global__ void if_ternary(int x) {}
#endif
//! if_shift
#if (1 << 3 >> 1) == 4
__global__ void if_shift(double* x) {}
#else
__global__ void if_shift(int x) {}
#endif
//! if_garbage
#if 0
 it's "unbalanced { ( 
#endif
__global__ void if_garbage(double* x) {}
//! macro_qual
#define RESTRICT __restrict__
#define IN const
#define PTR *
__global__ void macro_qual(IN double PTR RESTRICT x, IN int n) {}
//! macro_type_again
#define REAL double
#define VEC Array1D<REAL>
__global__ void macro_type_again(REAL* x, VEC v, const REAL y) {}
//! macro_global
#define KERNEL extern "C" __global__
KERNEL void macro_global(double* x) {}
//! macro_kernel_void
#define KERNEL __global__ void __launch_bounds__(128)
KERNEL macro_kernel_void(double* x) {}
//! macro_fn_attr
#define BOUNDS(n) __launch_bounds__(n)
__global__ void BOUNDS(128) macro_fn_attr(double* x) {}
//! macro_comma
#define ARGS double* x, int n
__global__ void macro_comma(ARGS) {}
//! macro_parens
#define LP (
#define RP )
__global__ void macro_parens LP double* x RP {}
//! macro_name_again
#define NAME macro_name_again
__global__ void NAME(double* x) {}
//! macro_recursive_again
#define double double
#define T T2
#define T2 T
__global__ void macro_recursive_again(double* x) {}
//! macro_empty
#define EMPTY
EMPTY __global__ EMPTY void EMPTY macro_empty EMPTY (EMPTY double EMPTY * EMPTY x EMPTY) EMPTY {}
//! macro_undef
#define T int
#undef T
#define T double
__global__ void macro_undef(T* x) {}
//! macro_redef_between
#define T int
__global__ void other(T* x) {}
#undef T
#define T double
__global__ void macro_redef_between(T* x) {}
//! macro_paste_str
#define STR(x) #x
#define CAT(a, b) a##b
const char* s = STR(hello); int CAT(q, r);
__global__ void macro_paste_str(double* x) {}
//! attr_pos
__global__ void attr_pos [[gnu::noinline]] (double* x) {}
//! attr_using
[[using gnu: noinline, used]] __global__ void attr_using(double* x) {}
//! attr_ptr
__global__ void attr_ptr(double * [[gnu::unused]] x, const int [[gnu::unused]] n) {}
//! trailing_noexcept
__global__ auto trailing_noexcept(double* x) noexcept(true) -> void {}
//! defaults_again
struct P { int a; }; constexpr int f(int, int) { return 1; } template <int A, int B> struct Q { static constexpr int v = A; };
__global__ void defaults_again(double* x, int a = f(1, 2), int b = (3 < 4, 5), int c = Q<1, 2>::v, int d = sizeof(Q<1,2>), int e = int{3}, bool g = 1 < 2, bool h = 3 > 2) {}
//! default_lambda
__global__ void default_lambda(double* x, int a = [](int p, int q) { return p < q; }(1, 2)) {}
//! default_tmpl_cmp
template <bool B> struct Q { static constexpr int v = 1; };
__global__ void default_tmpl_cmp(double* x, int a = Q<(1 > 2)>::v, int b = Q<(3<4)>::v, int c = Q<!true>::v) {}
//! requires1 <double>
template <class T> requires (sizeof(T) > 4) __global__ void requires1(T* x, int n) {}
//! requires2 <double>
template <class T> __global__ void requires2(T* x, int n) requires (sizeof(T) > 4) {}
//! requires3 <double>
template <class T> concept Big = sizeof(T) > 4;
template <class T> requires Big<T> && (sizeof(T) < 100) __global__ void requires3(T* x, int n) {}
//! requires4 <double>
template <class T> concept Big = sizeof(T) > 4;
template <Big T> __global__ void requires4(T* x, int n) {}
//! requires5 <double>
template <class T> requires requires(T a, T b) { a + b; a < b; } __global__ void requires5(T* x, int n) {}
//! func_try
__global__ void func_try(double* x) try { } catch (...) { }
//! ctor_try
struct S { int a; S() try : a(1) { } catch (...) { } }; __global__ void ctor_try(double* x) {}
//! nested_tmpl
template <class A, class B> struct Pair { A a; B b; }; Pair<Pair<int, Pair<int,int>>, int> g; template <class T> using Id = T;
__global__ void nested_tmpl(Array1D<complex<double>> x, Id<Id<Id<double>>>* y) {}
//! alias_tmpl
template <class T, int N = 3> using Vec = T[N]; template <class T> using P = const T*;
__global__ void alias_tmpl(Vec<double> x, Vec<int, 5> y, P<float> z) {}
//! op_less_tmpl
template <class T> bool operator<(T a, const struct Z& b); template <class T> bool operator> (T a, const struct Z& b); bool operator<= (const struct Z&, int);
__global__ void op_less_tmpl(double* x) {}
//! cmp_in_args
template <bool B, class T = double> struct Q { typedef T type; }; template <bool B> using D = double;
__global__ void cmp_in_args(D<(1 > 2)>* x, D<1 < 2>* y, D<(sizeof(int) >> 1) == 2> z) {}
//! shift_in_args
template <int N> using D = double;
__global__ void shift_in_args(D<(8 >> 1)>* x, D<1 << 3> y) {}
//! unicode_ident
__global__ void unicode_ident(double* größe, int ñ, float 变量) {}
//! nbsp_comment
/*   */ __global__ void nbsp_comment(double* x) {} //   x
//! comment_star
/**/__global__/***/void/*/ */comment_star(/* , int */double/**/*/**/x//)
) {}
//! comment_in_dir
#/* */define /* a
b */ T /* */ double // x
__global__ void comment_in_dir(T* x) {}
//! string_comment
const char* a = "/*"; __global__ void string_comment(double* x) {} const char* b = "*/"; const char* c = "//";
//! char_lits
char a = '"', b = '\'', c = '/', d = '\\'; __global__ void char_lits(double* x) {} char e = '"';
//! digit_sep
int a = 1'000'000, b = 0b1'0, c = 0xAB'CD; __global__ void digit_sep(double* x, int n = 1'0) {}
//! line_directive
#line 7 "foo.cu"
# 8 "bar.cu" 2
#pragma once
#ident "x"
__global__ void line_directive(double* x) {}
//! pragma_op
_Pragma("GCC diagnostic push") __global__ void pragma_op(double* x) {}
//! extern_c_nested
extern "C" { namespace n { extern "C++" { __global__ void extern_c_nested(double* x) {} } } }
using n::extern_c_nested;
//! ns_nested
namespace a { namespace b { typedef double T; } } namespace a::b { __global__ void ns_nested(T* x) {} }
using a::b::ns_nested;
//! ns_inline
namespace a { inline namespace v1 { typedef double T; __global__ void ns_inline(T* x) {} } }
using a::ns_inline;
//! ns_anon
namespace { typedef double T; __global__ void ns_anon(T* x) {} }
//! typedef_multi
typedef double T, *P, A[3], **PP; __global__ void typedef_multi(T a, P b, A c, const P d, const A e) {}
//! typedef_const_ptr
typedef const double* CP; typedef CP const CPC; __global__ void typedef_const_ptr(CP a, CPC b, const CP c) {}
//! typedef_order_again
double typedef T; long unsigned typedef U; __global__ void typedef_order_again(T* a, U b) {}
//! template_cmp_default <>
template <int N = (3 > 2), class T = double> __global__ void template_cmp_default(T* x, int n) {}
//! template_nested_default <>
template <class A, class B> struct P {}; template <class T = double, class U = P<P<int, int>, int>> __global__ void template_nested_default(T* x) {}
//! tparam_shadow <double>
typedef int T; template <typename T> __global__ void tparam_shadow(T* x) {}
//! explicit_inst <double>
template <class T> __global__ void explicit_inst(T* x) {}
template __global__ void explicit_inst<float>(float*);
template <> __global__ void explicit_inst<int>(int*) {}
//! extern_template <double>
template <class T> __global__ void extern_template(T* x) {}
extern template __global__ void extern_template<float>(float*);
//! lambda_global
auto f = [](int a) { return a < 3 ? 1 : 2; }; __global__ void lambda_global(double* x) {}
//! less_expr
constexpr bool b = 1 < 2; constexpr int n = 3 > 2 ? 4 : 5; int m = n < 3; __global__ void less_expr(double x[n]) {}
//! assertions
static_assert(sizeof(int) < 8, "a ) string ("); static_assert(3 > 2); __global__ void assertions(double* x) {}
//! has_include
#if __has_include(<foo.h>)
__global__ void other(int);
#endif
__global__ void has_include(double* x) {}
//! ifdef_comment
#define X
#ifdef/**/X
__global__ void ifdef_comment(double* x) {}
#else// y
#error
#endif/*z*/
//! error_apostrophe
#if 0
#error don't do this
#endif
__global__ void error_apostrophe(double* x) {}
//! warning_quote
#define V 1
#if !V
#warning "half
#endif
__global__ void warning_quote(double* x) {}
//! include_angle_quote
#include <cstdint>
#include "stdint.h"
__global__ void include_angle_quote(std::int32_t* x) {}
//! two_macros
#define D(name, T) __global__ void name(T* x) {}
D(other, float) D(another, int)
__global__ void two_macros(double* x) {}
//! lt_name_const
constexpr int N = 4; template <bool B> using D = double;
__global__ void lt_name_const(D<(N < 5)>* x) {}
//! gt_eq
template <bool B> using D = double;
__global__ void gt_eq(D<(3 >= 2)>* x, D<3 <= 2> y, D<(1>0)>z) {}
//! char_in_tmpl
template <char C> using D = double; __global__ void char_in_tmpl(D<'>'>* x, D<','> y, D<'\''> z) {}
//! brace_in_tmpl
template <int C> using D = double; struct P { int a; constexpr operator int() const { return a; } }; __global__ void brace_in_tmpl(D<int{3}>* x, D<P{1}> y) {}
//! lambda_default
__global__ void lambda_default(double* x, int n = [] { return 3; }(), bool b = []() -> bool { return 1 < 2; }()) {}
//! default_str
constexpr int len(const char* s) { return s[0]; }
__global__ void default_str(double* x, int n = len("a,b)("), char c = ',', int m = len(R"x(,)))x")) {}
//! default_tern
__global__ void default_tern(int a = 1 < 2 ? 3 : 4, int b = (1 > 2, 5), double* p = nullptr, int c = 1 << 3, int d = 256 >> 2) {}
//! default_tmpl
template <class A, class B> constexpr int f() { return 1; } __global__ void default_tmpl(int a = f<int, double>(), int b = f<int, Array1D<int>>() + 1, int c = 2) {}
//! default_sizeof
__global__ void default_sizeof(int a = sizeof(complex<float>), int b = sizeof(int[3]), int c = alignof(double), int d = int(3.5), int e = (int)2.5f) {}
//! default_brace
__global__ void default_brace(int a = {}, double b = {2.0}, int c = int()) {}
//! default_and_lt2
constexpr int N = 3; __global__ void default_and_lt2(bool a = N < 4, bool c = N > 4) {}
//! typedef_arr
typedef double V3[3]; typedef V3 M[2]; __global__ void typedef_arr(V3 a, const V3 b) {}
//! const_ptr_typedef
typedef double* P; using CP = const P; template <class T> using C = const T; __global__ void const_ptr_typedef(const P a, CP b, C<P> c, C<double>* d, const C<int> e) {}
//! enum_big
enum L { BIG = 1ull << 40 }; enum U { UU = 0xffffffff }; enum M { MM = -1, NN = 0x7fffffff }; __global__ void enum_big(L l, U u, M m) {}
//! enum_in_ns
namespace a { enum E : long { x }; } using a::E; __global__ void enum_in_ns(E e, a::E f, enum a::E g) {}
//! enum_fwd
enum E : char; __global__ void enum_fwd(E e); enum E : char { A }; __global__ void enum_fwd(E e) {}
//! using_ns_nested
namespace a { namespace b { using T = float; } using namespace b; } using namespace a; __global__ void using_ns_nested(T* x, a::b::T y) {}
//! hide_std
namespace n { typedef float int32_t; __global__ void hide_std(int32_t* x, ::int32_t y, std::int32_t z) {} } using n::hide_std;
//! param_named_like_type
typedef float T; __global__ void param_named_like_type(T* T_, double half_) {}
//! kw_like_names
__global__ void kw_like_names(double* global__, int restrict_, float constx, double volatile_) {}
//! template_int_types <5>
template <long long N, unsigned M = 3u, char C = 'a', bool B = true> __global__ void template_int_types(double x[N + M], int y[B ? 2 : 1]) {}
//! template_dep_default <float>
template <class T, class U = const T*, int N = sizeof(T)> __global__ void template_dep_default(U x, T y, double z[N]) {}
//! template_neg <-1>
template <int N> __global__ void template_neg(double x[N + 3]) {}
//! template_const_arg <const double>
template <class T> __global__ void template_const_arg(T x, T* y, const T* z) {}
//! template_ptr_arg <double*>
template <class T> __global__ void template_ptr_arg(T x, const T y) {}
//! template_ptr_arg2 <const double*>
template <class T> __global__ void template_ptr_arg2(T x, const T y) {}
//! template_view_arg <Array2D<const double>>
template <class V> __global__ void template_view_arg(V x, const V y) {}
//! template_spec_first <double>
template <class T> __global__ void template_spec_first(T* x);
template <> __global__ void template_spec_first<float>(float* x) {}
template <class T> __global__ void template_spec_first(T* x) {}
//! template_unnamed <int>
template <typename, int = 3, class T = double> __global__ void template_unnamed(T* x) {}
//! static_member
struct S { static constexpr int N = 3; typedef int T; enum { M = 4 }; }; __global__ void static_member(double x[S::N], int y[S::M]) {}
//! extern_c_def
extern "C" { typedef double T; enum { N = 2 }; }
extern "C" __global__ void extern_c_def(T x[N]) {}
//! extern_c_single_td
extern "C" typedef double T;
__global__ void extern_c_single_td(T* x) {}
//! constexpr_expr
constexpr int A = 2, B = 3; static const int C = A * B; const unsigned D{4}; inline constexpr auto E = 5; __global__ void constexpr_expr(double x[A + B], int y[C], float z[D], char w[E]) {}
//! class_tmpl_with_kernel_word
template <class T> struct S { void class_tmpl_with_kernel_word(int a); static void f() { kernel_(1); } static void kernel_(int); }; __global__ void class_tmpl_with_kernel_word(double* x) {}
//! var_named
namespace q { int var_named = 3; } __global__ void var_named(double* x) {}
//! attr_before_tmpl <double>
template <class T> [[gnu::noinline]] __global__ __attribute__((unused)) void attr_before_tmpl(T* x) {}
//! explicit_parens_macro
#define P(x) (x)
__global__ void explicit_parens_macro(double* x, int n = P(3), int m = P((1, 2))) {}
//! macro_shadow_fn
#define kernel_name macro_shadow_fn
#define F(x) x
__global__ void kernel_name(double* x, int y);
//! macro_str_arg
#define S(x) #x
const char* a = S(it is "quoted ( "); __global__ void macro_str_arg(double* x) {}
//! macro_multi_line_call
#define DECL(a, b) a b
DECL(int,
  global_var);
__global__ void macro_multi_line_call(double* x) {}
//! macro_in_bounds
#define B(n) (n)
__global__ void __launch_bounds__(B(64), 2) macro_in_bounds(double* x) {}
//! cond_in_params
#define A 1
__global__ void cond_in_params(double* x
#if A
, int n
#else
, float n
#endif
) {}
//! cond_unbalanced
#define A 1
#if A
namespace n {
#endif
__global__ void cond_unbalanced(double* x) {}
#if A
}
using n::cond_unbalanced;
#endif
//! cond_has_attr
#if defined(__has_cpp_attribute) && 0
#if __has_cpp_attribute(nodiscard)
#endif
#endif
__global__ void cond_has_attr(double* x) {}
//! cond_big
#if 0xFFFFFFFFFFFFFFFF == 18446744073709551615u && 9223372036854775807 + 0 > 0
__global__ void cond_big(double* x) {}
#else
__global__ void cond_big(int x) {}
#endif
//! cond_comma_paren
#if (2 || 1 / 0) && !(0 && 1 / 0)
__global__ void cond_comma_paren(double* x) {}
#endif
//! undef_unknown
#undef NOPE
#ifdef NOPE
__global__ void undef_unknown(int x) {}
#else
__global__ void undef_unknown(double* x) {}
#endif
//! else_if_chain
#define V 3
#if V == 1
#elif V == 2
#elif V == 3
__global__ void else_if_chain(double* x) {}
#elif V == 3
__global__ void else_if_chain(int x) {}
#else
#endif
//! skipped_nested_else
#if 0
#if 1
#else
#endif
#elif 1
__global__ void skipped_nested_else(double* x) {}
#endif
//! str_cont
const char* a = "x\
/* y"; __global__ void str_cont(double* x) {} // */
//! wide_strs
auto a = L"\"("; auto b = u"\\"; auto c = U"//"; auto d = u8"/*"; auto e = LR"(")"; __global__ void wide_strs(double* x) {}
//! adjacent_r
const char* a = "a" R"(b")" "c"; int R = 1; __global__ void adjacent_r(double* x) {}
//! udl_sep
constexpr int operator""_q(char c) { return c; } int a = '('_q; constexpr int operator""_s(const char*, unsigned long) { return 1; } int b = "("_s; __global__ void udl_sep(double* x) {}
//! num_weird
double a = .5e-3, b = 1.e+5, c = 0x1.8p-3, d = 1'0.5'0e1'0; float e = 1.f; auto f = 1ULL; __global__ void num_weird(double* x) {}
//! op_overload
struct V { double x; }; __device__ V operator+(V a, V b); __device__ bool operator<(V, V); __device__ V& operator<<=(V&, int); template <class T> __device__ bool operator>(T a, V b); __global__ void op_overload(double* x) {}
//! op_lt_template
template <class T> struct W { bool operator<(const W<T>& o) const { return true; } bool operator>(W) const; operator T() const; T operator()(int) const; W<T>* operator->(); }; __global__ void op_lt_template(double* x) {}
//! deduction_guide
template <class T> struct W { W(T); }; template <class T> W(T) -> W<T>; __global__ void deduction_guide(double* x) {}
//! var_template
template <class T> constexpr T pi = T(3.14); template <> constexpr int pi<int> = 3; __global__ void var_template(double x[pi<int>]) {}
//! concept_and <double>
template <class T> concept A = true; template <class T> concept B = requires(T t) { { t + t }; requires sizeof(T) > 2; }; template <class T> requires A<T> && B<T> || (sizeof(T) == 1) __global__ void concept_and(T* x) {}
//! concept_not <double>
template <class T> concept A = true; template <class T> requires (!A<T> || A<T>) and A<T> void f(); template <A T> requires std::is_same<T, double>::value __global__ void concept_not(T* x) {}
//! nodiscard_struct
struct [[nodiscard]] S { int a; }; class alignas(16) C; enum class [[nodiscard]] E { a }; __global__ void nodiscard_struct(E e, double* x) {}
//! union_anon
union { int a; float b; } u; static union { int c; }; struct { int d; } s; __global__ void union_anon(double* x) {}
