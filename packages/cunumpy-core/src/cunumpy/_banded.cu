// Banded systems of equations: Gaussian elimination with partial pivoting, one thread for each system.
//
// Systems lie beside each other, so that neighbouring threads read neighbouring numbers. A row keeps the entries from
// `lower` columns left of the diagonal to `upper + lower` right of it: pivoting fills in `lower` of them.

template <typename T>
struct Complex {
    T re, im;
};

template <typename T>
__device__ Complex<T> operator-(Complex<T> a, Complex<T> b) {
    return {a.re - b.re, a.im - b.im};
}

template <typename T>
__device__ Complex<T> operator*(Complex<T> a, Complex<T> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// Smith's division (Comm. ACM 5, 435, 1962), which squares nothing that could overflow.
template <typename T>
__device__ Complex<T> operator/(Complex<T> a, Complex<T> b) {
    if (fabs(b.re) >= fabs(b.im)) {
        const T ratio = b.im / b.re, scale = b.re + b.im * ratio;
        return {(a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale};
    }
    const T ratio = b.re / b.im, scale = b.re * ratio + b.im;
    return {(a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale};
}

__device__ inline float size_of(float a) { return fabsf(a); }
__device__ inline double size_of(double a) { return fabs(a); }
template <typename T>
__device__ T size_of(Complex<T> a) {
    return fabs(a.re) + fabs(a.im);  // as LAPACK chooses pivots
}

template <typename T>
__device__ void swap_at(T* values, long long i, long long j) {
    const T kept = values[i];
    values[i] = values[j];
    values[j] = kept;
}

// rows: (n, 2 lower + upper + 1, systems), sides: (n, columns, systems); singular: (systems), 1 where a pivot is zero.
template <typename T>
__device__ void solve(T* rows, T* sides, int* singular, int lower, int upper, int n, int columns, long long systems) {
    const long long system = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (system >= systems) return;
    const int width = 2 * lower + upper + 1;
    // The entry of row i in column j, and of side c in row i.
    auto at = [=](int i, int j) { return ((long long)i * width + (j - i + lower)) * systems + system; };
    auto side = [=](int i, int c) { return ((long long)i * columns + c) * systems + system; };
    int is_singular = 0;
    for (int k = 0; k < n; ++k) {
        const int last_row = k + lower < n ? k + lower : n - 1;
        const int last_column = k + upper + lower < n ? k + upper + lower : n - 1;
        int pivot = k;
        for (int i = k + 1; i <= last_row; ++i) {
            if (size_of(rows[at(i, k)]) > size_of(rows[at(pivot, k)])) pivot = i;
        }
        if (size_of(rows[at(pivot, k)]) == 0) is_singular = 1;
        if (pivot != k) {
            for (int j = k; j <= last_column; ++j) swap_at(rows, at(k, j), at(pivot, j));
            for (int c = 0; c < columns; ++c) swap_at(sides, side(k, c), side(pivot, c));
        }
        const T diagonal = rows[at(k, k)];
        for (int i = k + 1; i <= last_row; ++i) {
            const T factor = rows[at(i, k)] / diagonal;
            for (int j = k + 1; j <= last_column; ++j) rows[at(i, j)] = rows[at(i, j)] - factor * rows[at(k, j)];
            for (int c = 0; c < columns; ++c) sides[side(i, c)] = sides[side(i, c)] - factor * sides[side(k, c)];
        }
    }
    for (int k = n - 1; k >= 0; --k) {
        const int last_column = k + upper + lower < n ? k + upper + lower : n - 1;
        for (int c = 0; c < columns; ++c) {
            T value = sides[side(k, c)];
            for (int j = k + 1; j <= last_column; ++j) value = value - rows[at(k, j)] * sides[side(j, c)];
            sides[side(k, c)] = value / rows[at(k, k)];
        }
    }
    singular[system] = is_singular;
}

extern "C" __global__ void solve_banded_float32(
    float* rows, float* sides, int* singular, int lower, int upper, int n, int columns, long long systems) {
    solve(rows, sides, singular, lower, upper, n, columns, systems);
}

extern "C" __global__ void solve_banded_float64(
    double* rows, double* sides, int* singular, int lower, int upper, int n, int columns, long long systems) {
    solve(rows, sides, singular, lower, upper, n, columns, systems);
}

extern "C" __global__ void solve_banded_complex64(
    float* rows, float* sides, int* singular, int lower, int upper, int n, int columns, long long systems) {
    solve(reinterpret_cast<Complex<float>*>(rows), reinterpret_cast<Complex<float>*>(sides), singular, lower, upper, n,
          columns, systems);
}

extern "C" __global__ void solve_banded_complex128(
    double* rows, double* sides, int* singular, int lower, int upper, int n, int columns, long long systems) {
    solve(reinterpret_cast<Complex<double>*>(rows), reinterpret_cast<Complex<double>*>(sides), singular, lower, upper,
          n, columns, systems);
}
