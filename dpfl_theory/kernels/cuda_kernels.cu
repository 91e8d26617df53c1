// Noise by counter (Philox4x32-10 of an address, Box-Muller) and the bounding operator with its sum over clients.
// Compiled where it runs; the tests compile it for the CPU as well.

typedef unsigned int u32;
typedef unsigned long long u64;

__device__ void philox(u32 c[4], u32 k0, u32 k1) {
    for (int r = 0; r < 10; ++r) {
        u32 h0 = __umulhi(0xD2511F53u, c[0]), l0 = 0xD2511F53u * c[0];
        u32 h1 = __umulhi(0xCD9E8D57u, c[2]), l1 = 0xCD9E8D57u * c[2];
        u32 a = h1 ^ c[1] ^ k0, b = h0 ^ c[3] ^ k1;
        c[0] = a; c[1] = l1; c[2] = b; c[3] = l0;
        k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
    }
}

__device__ double unit(u32 high, u32 low) {
    u64 bits = (((u64)high << 32) | low) >> 11;
    return ((double)bits + 0.5) * (1.0 / 9007199254740992.0);
}

__device__ void pair(u32 seed0, u32 seed1, u32 replicate, u32 client, u32 step, u32 stream, u32 round_, u32 block,
                     double* u, double* v) {
    u32 name[4] = {replicate, client, step, stream};
    philox(name, seed0, seed1);
    u32 word[4] = {block, round_, name[2], name[3]};
    philox(word, name[0], name[1]);
    *u = unit(word[0], word[1]);
    *v = unit(word[2], word[3]);
}

extern "C" __global__ void fill_uniform(double* out, u32 seed0, u32 seed1, u32 first_replicate, u32 round_, u32 step,
                                        u32 stream, u32 replicates, u32 clients) {
    u64 job = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (job >= (u64)replicates * clients) return;
    u32 s = job / clients, i = job % clients;
    double u, v;
    pair(seed0, seed1, first_replicate + s, i, step, stream, round_, 0u, &u, &v);
    out[job] = u;
}

extern "C" __global__ void fill_normal(double* out, u32 seed0, u32 seed1, u32 first_replicate, u32 round_, u32 step,
                                       u32 stream, u32 clients, u32 replicates, u32 d) {
    u32 blocks = (d + 1) / 2;
    u64 job = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (job >= (u64)clients * replicates * blocks) return;
    u32 b = job % blocks;
    u64 row = job / blocks;
    u32 s = row % replicates, i = row / replicates;
    double u, v, sine, cosine;
    pair(seed0, seed1, first_replicate + s, i, step, stream, round_, b, &u, &v);
    double radius = sqrt(-2.0 * log(u));
    sincos(2.0 * 3.141592653589793 * v, &sine, &cosine);
    out[row * d + 2 * b] = radius * cosine;
    if (2 * b + 1 < d) out[row * d + 2 * b + 1] = radius * sine;
}

// One thread block per replicate: for each client, reduce the norm, then accumulate the bounded update.
extern "C" __global__ void bounded_combine(const double* updates, const double* weights, const double* threshold,
                                           int normalise, double* out, double* norms, int n, int replicates, int d) {
    __shared__ double partial[256];
    int s = blockIdx.x;
    for (int j = threadIdx.x; j < d; j += blockDim.x) out[(u64)s * d + j] = 0.0;
    for (int i = 0; i < n; ++i) {
        const double* u = updates + ((u64)i * replicates + s) * d;
        double total = 0.0;
        for (int j = threadIdx.x; j < d; j += blockDim.x) total += u[j] * u[j];
        partial[threadIdx.x] = total;
        __syncthreads();
        for (int half = blockDim.x / 2; half > 0; half /= 2) {
            if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
            __syncthreads();
        }
        double norm = sqrt(partial[0]);
        __syncthreads();
        double factor = weights[(u64)s * n + i];
        if (norm > threshold[s] || (normalise && norm > 0.0)) factor *= threshold[s] / norm;
        if (threadIdx.x == 0) norms[(u64)s * n + i] = norm;
        if (factor != 0.0)
            for (int j = threadIdx.x; j < d; j += blockDim.x) out[(u64)s * d + j] += factor * u[j];
    }
}
