/* As many products and sums as a core can do: sixteen vectors of eight numbers, each waiting only
   for itself. Eight numbers at a time, two operations each. */
typedef double vector __attribute__((vector_size(64)));

double run(long count)
{
    vector sum[16];
    const vector factor = {.999, .998, .997, .996, .995, .994, .993, .992};
    for (int k = 0; k < 16; k++) sum[k] = factor * (k + 1);
    for (long n = 0; n < count; n++)
#pragma GCC unroll 16
        for (int k = 0; k < 16; k++) sum[k] = sum[k] * factor + factor;
    double total = 0.0;
    for (int k = 0; k < 16; k++)
        for (int l = 0; l < 8; l++) total += sum[k][l];
    return total;
}
