// What stands between the matrix products of one training step, fused and in 32-bit floats; activations are stored as
// bfloat16. cpu_step.py calls these; model.py says the same in plain PyTorch, and check_gradients.py compares the two.
//   gcc -O3 -march=native -ffast-math -shared -fPIC kernels.c -o kernels.so -lm
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef uint16_t half;  // bfloat16: the upper half of a float

enum { MAX_ROW = 4096 };
static const float EPSILON = 1e-5f;

static inline float wide(half x) {
    uint32_t bits = (uint32_t) x << 16;
    float out;
    memcpy(&out, &bits, 4);
    return out;
}

// Rounds to nearest, ties to even.
static inline half narrow(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return (half) ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// sum = x + added (added may be null), out = sum / rms(sum) * gain; keeps 1 / rms of each of the n rows.
void add_and_norm(const float * x, const half * added, const float * gain, float * sum, half * out, float * inverse, long n, long width) {
    for (long i = 0; i < n; i++) {
        const float * a = x + i * width;
        const half * b = added + i * width;
        float * s = sum + i * width, square = 0;
        for (long j = 0; j < width; j++) {
            float v = added ? a[j] + wide(b[j]) : a[j];
            s[j] = v;
            square += v * v;
        }
        float r = inverse[i] = 1 / sqrtf(square / width + EPSILON);
        for (long j = 0; j < width; j++) out[i * width + j] = narrow(s[j] * r * gain[j]);
    }
}

// Adds the norm's gradient to d_sum, the gradient of the residual stream, of which d_half becomes the narrow copy.
void norm_backward(const half * d_out, const float * sum, const float * gain, const float * inverse, float * d_sum, half * d_half,
                   float * d_gain, long n, long width) {
    for (long i = 0; i < n; i++) {
        const half * d = d_out + i * width;
        const float * s = sum + i * width;
        float * ds = d_sum + i * width, r = inverse[i], mean = 0;
        for (long j = 0; j < width; j++) {
            float v = wide(d[j]), unit = s[j] * r;
            d_gain[j] += v * unit;
            mean += v * gain[j] * unit;
        }
        mean /= width;
        for (long j = 0; j < width; j++) {
            ds[j] += r * (wide(d[j]) * gain[j] - s[j] * r * mean);
            d_half[i * width + j] = narrow(ds[j]);
        }
    }
}

// qkv (rows * length, 3 * heads * size) to q, k, v (rows * heads, length, size). q and k are turned in the pairs (0, 1), (2, 3)...
// by the angles whose cosine and sine stand at the token's position in the tables; q is scaled.
void split_and_rotate(const half * qkv, const int * position, const float * cosine, const float * sine, half * q, half * k, half * v,
                      long rows, long length, long heads, long size, float scale) {
    long width = heads * size, pairs = size / 2;
    for (long n = 0; n < rows * length; n++) {
        const float * c = cosine + position[n] * pairs, * s = sine + position[n] * pairs;
        for (long h = 0; h < heads; h++) {
            const half * from = qkv + n * 3 * width + h * size;
            long to = ((n / length * heads + h) * length + n % length) * size;
            for (long p = 0; p < pairs; p++) {
                float a = wide(from[2 * p]), b = wide(from[2 * p + 1]);
                q[to + 2 * p] = narrow((a * c[p] - b * s[p]) * scale);
                q[to + 2 * p + 1] = narrow((b * c[p] + a * s[p]) * scale);
                a = wide(from[width + 2 * p]), b = wide(from[width + 2 * p + 1]);
                k[to + 2 * p] = narrow(a * c[p] - b * s[p]);
                k[to + 2 * p + 1] = narrow(b * c[p] + a * s[p]);
            }
            memcpy(v + to, from + 2 * width, size * sizeof(half));
        }
    }
}

// The gradient's way back through split_and_rotate.
void rotate_and_join(half * d_qkv, const int * position, const float * cosine, const float * sine, const half * dq, const half * dk,
                     const half * dv, long rows, long length, long heads, long size, float scale) {
    long width = heads * size, pairs = size / 2;
    for (long n = 0; n < rows * length; n++) {
        const float * c = cosine + position[n] * pairs, * s = sine + position[n] * pairs;
        for (long h = 0; h < heads; h++) {
            half * to = d_qkv + n * 3 * width + h * size;
            long from = ((n / length * heads + h) * length + n % length) * size;
            for (long p = 0; p < pairs; p++) {
                float a = wide(dq[from + 2 * p]) * scale, b = wide(dq[from + 2 * p + 1]) * scale;
                to[2 * p] = narrow(a * c[p] + b * s[p]);
                to[2 * p + 1] = narrow(b * c[p] - a * s[p]);
                a = wide(dk[from + 2 * p]), b = wide(dk[from + 2 * p + 1]);
                to[width + 2 * p] = narrow(a * c[p] + b * s[p]);
                to[width + 2 * p + 1] = narrow(b * c[p] - a * s[p]);
            }
            memcpy(to + 2 * width, dv + from, size * sizeof(half));
        }
    }
}

// Scores (rows * heads, length, length) to weights, in place. A token attends from the first token of its segment to itself.
void softmax(half * scores, const int * first, long rows, long heads, long length) {
    for (long r = 0; r < rows * heads * length; r++) {
        long i = r % length, from = first[r / length / heads * length + i], to = i + 1;
        half * p = scores + r * length;
        float e[MAX_ROW], top = -1e30f, total = 0;
        for (long j = from; j < to; j++) {
            e[j] = wide(p[j]);
            top = fmaxf(top, e[j]);
        }
        for (long j = from; j < to; j++) {
            e[j] = expf(e[j] - top);
            total += e[j];
        }
        for (long j = from; j < to; j++) p[j] = narrow(e[j] / total);
        memset(p, 0, from * sizeof(half));
        memset(p + to, 0, (length - to) * sizeof(half));
    }
}

// The gradient of the weights to that of the scores, in place.
void softmax_backward(const half * weights, half * gradient, const int * first, long rows, long heads, long length) {
    for (long r = 0; r < rows * heads * length; r++) {
        long i = r % length, from = first[r / length / heads * length + i], to = i + 1;
        const half * p = weights + r * length;
        half * d = gradient + r * length;
        float mean = 0;
        for (long j = from; j < to; j++) mean += wide(p[j]) * wide(d[j]);
        for (long j = from; j < to; j++) d[j] = narrow(wide(p[j]) * (wide(d[j]) - mean));
        memset(d, 0, from * sizeof(half));
        memset(d + to, 0, (length - to) * sizeof(half));
    }
}

// out = silu(gate) * up, where a row of gate_up is (gate, up).
void swiglu(const half * gate_up, half * out, long n, long width) {
    for (long i = 0; i < n; i++) {
        const half * gate = gate_up + i * 2 * width, * up = gate + width;
        for (long j = 0; j < width; j++) {
            float g = wide(gate[j]);
            out[i * width + j] = narrow(g / (1 + expf(-g)) * wide(up[j]));
        }
    }
}

void swiglu_backward(const half * gate_up, const half * d_out, half * d_gate_up, long n, long width) {
    for (long i = 0; i < n; i++) {
        const half * gate = gate_up + i * 2 * width, * up = gate + width, * d = d_out + i * width;
        half * d_gate = d_gate_up + i * 2 * width, * d_up = d_gate + width;
        for (long j = 0; j < width; j++) {
            float g = wide(gate[j]), s = 1 / (1 + expf(-g)), v = wide(d[j]);
            d_up[j] = narrow(v * g * s);
            d_gate[j] = narrow(v * wide(up[j]) * s * (1 + g * (1 - s)));
        }
    }
}

// Logits (n, vocabulary) to the gradient of the summed loss, in place; each row's loss, and whether its target came first.
void cross_entropy(half * logits, const int * target, const float * weight, float * loss, int * right, long n, long vocabulary) {
    for (long i = 0; i < n; i++) {
        half * p = logits + i * vocabulary;
        float top = -1e30f, total = 0, wanted = wide(p[target[i]]);
        for (long j = 0; j < vocabulary; j++) top = fmaxf(top, wide(p[j]));
        for (long j = 0; j < vocabulary; j++) total += expf(wide(p[j]) - top);
        loss[i] = logf(total) + top - wanted;
        right[i] = wanted >= top;
        for (long j = 0; j < vocabulary; j++) p[j] = narrow(expf(wide(p[j]) - top) / total * weight[i]);
        p[target[i]] = narrow((expf(wanted - top) / total - 1) * weight[i]);
    }
}

// AdamW. fix1 and fix2 are 1 - beta^step; scale is what clipping leaves of the gradient. `small` is the narrow copy of the weights.
void adamw(float * weight, const float * gradient, float * first, float * second, half * small, long n, float rate, float beta1,
           float beta2, float decay, float fix1, float fix2, float scale) {
    for (long i = 0; i < n; i++) {
        float g = gradient[i] * scale;
        first[i] = beta1 * first[i] + (1 - beta1) * g;
        second[i] = beta2 * second[i] + (1 - beta2) * g * g;
        weight[i] -= rate * (first[i] / fix1 / (sqrtf(second[i] / fix2) + 1e-8f) + decay * weight[i]);
        small[i] = narrow(weight[i]);
    }
}
