// Images: four bytes a pixel, and the set of Mandelbrot.

extern "C" __global__ void grey(const uchar4* image, unsigned char* result, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uchar4 pixel = image[i];
    result[i] = (unsigned char)__float2int_rn(0.299f * pixel.x + 0.587f * pixel.y + 0.114f * pixel.z);
}

// After how many steps z*z + c leaves the circle of radius 2.
extern "C" __global__ void mandelbrot(int* steps, int width, int height, int most) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) return;
    const double cx = -2.0 + 3.0 * column / width, cy = -1.5 + 3.0 * row / height;
    double x = 0.0, y = 0.0;
    int step = 0;
    while (step < most && x * x + y * y <= 4.0) {
        const double next = __dadd_rn(__dsub_rn(__dmul_rn(x, x), __dmul_rn(y, y)), cx);
        y = __dadd_rn(__dmul_rn(__dmul_rn(2.0, x), y), cy);
        x = next;
        ++step;
    }
    steps[row * width + column] = step;
}
