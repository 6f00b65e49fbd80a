/* Many trajectories of euler (D.2): 32 at a time, one per lane of the vector unit, symmetric
   storage, half-times found inside the loop. Written by hand as the thing to compare with.
   D is given on the command line of the compiler; LANES as well. */
#define ENTRIES (D * (D + 1) / 2)

static inline int place(int i, int j)
{
    int first = i < j ? i : j, second = i < j ? j : i;
    return first * D - first * (first - 1) / 2 + second - first;
}

void run(double *restrict W, const double *restrict rate, double *restrict below,
         double *restrict waited, long steps)
{
    for (long n = 0; n < steps; n++) {
#pragma GCC ivdep
        for (int l = 0; l < LANES; l++) {
            double w[D][D], g[D][D], y[D][D];
#pragma GCC unroll 8
            for (int i = 0; i < D; i++)
#pragma GCC unroll 8
                for (int j = i; j < D; j++) {
                    w[i][j] = w[j][i] = W[place(i, j) * LANES + l];
                    g[i][j] = g[j][i] = (rate[i * LANES + l] + rate[j * LANES + l]) * w[i][j];
                }
#pragma GCC unroll 8
            for (int i = 0; i < D; i++)
#pragma GCC unroll 8
                for (int j = 0; j < D; j++) {
                    double sum = 0.0;
#pragma GCC unroll 8
                    for (int k = 0; k < D; k++) sum += g[i][k] * w[k][j];
                    y[i][j] = sum;
                }
#pragma GCC unroll 8
            for (int i = 0; i < D; i++)
#pragma GCC unroll 8
                for (int j = i; j < D; j++) {
                    double next = w[i][j] + (g[i][j] - 0.5 * (y[i][j] + y[j][i]));
                    W[place(i, j) * LANES + l] = next;
                    if (i == j) {
                        double still = next >= 0.5 ? 0.0 : below[i * LANES + l];
                        below[i * LANES + l] = still;
                        waited[i * LANES + l] += still;
                    }
                }
        }
    }
}
