/* One trajectory of euler (D.2) as one would write it in C, with the half-times found inside.
   D is given on the command line of the compiler. */
void run(double *restrict W, const double *restrict a, double eta, long *restrict half, long steps)
{
    for (int i = 0; i < D; i++) half[i] = W[i * D + i] >= 0.5 ? 0 : -1;
    for (long n = 1; n <= steps; n++) {
        double G[D][D], Y[D][D];
        for (int i = 0; i < D; i++)
            for (int j = 0; j < D; j++) G[i][j] = (a[i] + a[j]) * W[i * D + j];
        for (int i = 0; i < D; i++)
            for (int j = 0; j < D; j++) {
                double sum = 0.0;
                for (int k = 0; k < D; k++) sum += G[i][k] * W[k * D + j];
                Y[i][j] = sum;
            }
        for (int i = 0; i < D; i++)
            for (int j = i; j < D; j++) {
                double next = W[i * D + j] + eta * (G[i][j] - 0.5 * (Y[i][j] + Y[j][i]));
                W[i * D + j] = W[j * D + i] = next;
            }
        for (int i = 0; i < D; i++)
            if (half[i] < 0 && W[i * D + i] >= 0.5) half[i] = n;
    }
}
