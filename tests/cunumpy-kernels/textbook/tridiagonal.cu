// Many tridiagonal systems: a x[i-1] + b x[i] + c x[i+1] = d.

// Thomas's elimination, a thread a system; element i of system s is at i * systems + s. `c` and `d` are changed.
extern "C" __global__ void thomas(const double* a, const double* b, double* c, double* d, double* x, int size,
                                  int systems) {
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= systems) return;
    c[s] /= b[s];
    d[s] /= b[s];
    for (int i = 1; i < size; ++i) {
        const int at = i * systems + s;
        const double pivot = b[at] - a[at] * c[at - systems];
        c[at] /= pivot;
        d[at] = (d[at] - a[at] * d[at - systems]) / pivot;
    }
    double next = 0.0;
    for (int i = size - 1; i >= 0; --i) {
        const int at = i * systems + s;
        next = d[at] - (i + 1 < size ? c[at] * next : 0.0);
        x[at] = next;
    }
}

// Hockney's parallel cyclic reduction, a block a system of blockDim.x unknowns: each equation loses its neighbours at
// distances 1, 2, 4, ...
extern "C" __global__ void cyclic_reduction(const double* a, const double* b, const double* c, const double* d,
                                            double* x) {
    extern __shared__ double memory[];
    const int n = blockDim.x, i = threadIdx.x, at = blockIdx.x * n + i;
    double *as = memory, *bs = as + n, *cs = bs + n, *ds = cs + n;
    as[i] = i > 0 ? a[at] : 0.0;
    bs[i] = b[at];
    cs[i] = i + 1 < n ? c[at] : 0.0;
    ds[i] = d[at];
    for (int distance = 1; distance < n; distance *= 2) {
        __syncthreads();
        double na = 0.0, nb = bs[i], nc = 0.0, nd = ds[i];
        if (i >= distance) {
            const int j = i - distance;
            const double factor = as[i] / bs[j];
            na = -factor * as[j];
            nb -= factor * cs[j];
            nd -= factor * ds[j];
        }
        if (i + distance < n) {
            const int j = i + distance;
            const double factor = cs[i] / bs[j];
            nc = -factor * cs[j];
            nb -= factor * as[j];
            nd -= factor * ds[j];
        }
        __syncthreads();
        as[i] = na;
        bs[i] = nb;
        cs[i] = nc;
        ds[i] = nd;
    }
    x[at] = ds[i] / bs[i];
}
