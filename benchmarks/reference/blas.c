/* One trajectory of euler (D.2) with one product of matrices per step, by OpenBLAS: with
   G = A W + W A the step is W + eta (G - (G W + (G W)^T)/2). */
typedef void dgemm(const char *, const char *, const int *, const int *, const int *,
                   const double *, const double *, const int *, const double *, const int *,
                   const double *, double *, const int *);

void run(dgemm *multiply, double *restrict W, const double *restrict a, double eta,
         long *restrict half, int d, long steps, double *restrict G, double *restrict Y)
{
    const double one = 1.0, zero = 0.0;
    for (int i = 0; i < d; i++) half[i] = W[i * d + i] >= 0.5 ? 0 : -1;
    for (long n = 1; n <= steps; n++) {
        for (int i = 0; i < d; i++)
            for (int j = 0; j < d; j++) G[i * d + j] = (a[i] + a[j]) * W[i * d + j];
        multiply("N", "N", &d, &d, &d, &one, W, &d, G, &d, &zero, Y, &d);
        for (int i = 0; i < d; i++)
            for (int j = i; j < d; j++) {
                double next = W[i * d + j]
                              + eta * (G[i * d + j] - 0.5 * (Y[i * d + j] + Y[j * d + i]));
                W[i * d + j] = W[j * d + i] = next;
            }
        for (int i = 0; i < d; i++)
            if (half[i] < 0 && W[i * d + i] >= 0.5) half[i] = n;
    }
}
