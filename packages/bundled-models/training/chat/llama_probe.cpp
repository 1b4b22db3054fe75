// Runs llama.cpp on a GGUF for check_export.py. Reads lines of stdin, answers on stdout.
//   llama_probe BACKENDS MODEL tokens   a line is text in hex; answers its token ids (markers become tokens)
//   llama_probe BACKENDS MODEL logits   a line is token ids; answers count x vocabulary floats, binary
//   llama_probe BACKENDS MODEL speed    a line is token ids; answers tokens/s of reading them and of 256 greedy steps, one thread
// BACKENDS is the folder with llama.cpp's libggml-cpu-*.so, or "-" where they are linked in.
#include "ggml-backend.h"
#include "llama.h"
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

static const int CONTEXT = 4096;
static const int STEPS = 256;

static double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static std::vector<llama_token> read_ids(const std::string & line) {
    std::istringstream in(line);
    std::vector<llama_token> ids;
    for (int id; in >> id;) ids.push_back(id);
    return ids;
}

static void print_tokens(const llama_vocab * vocab, const std::string & line) {
    std::string text;
    for (size_t i = 0; i + 1 < line.size(); i += 2) text += (char) std::stoi(line.substr(i, 2), nullptr, 16);
    std::vector<llama_token> ids(text.size() + 8);
    int count = llama_tokenize(vocab, text.data(), text.size(), ids.data(), ids.size(), false, true);
    for (int i = 0; i < count; i++) printf("%d ", ids[i]);
    printf("\n");
}

static llama_batch batch_of(const std::vector<llama_token> & ids, bool every) {
    llama_batch batch = llama_batch_init(ids.size(), 0, 1);
    batch.n_tokens = ids.size();
    for (size_t i = 0; i < ids.size(); i++) {
        batch.token[i] = ids[i];
        batch.pos[i] = i;
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = 0;
        batch.logits[i] = every || i + 1 == ids.size();
    }
    return batch;
}

static void write_logits(llama_context * context, int vocabulary, const std::string & line) {
    llama_batch batch = batch_of(read_ids(line), true);
    llama_memory_clear(llama_get_memory(context), true);
    if (llama_decode(context, batch) != 0) exit(1);
    for (int i = 0; i < batch.n_tokens; i++) fwrite(llama_get_logits_ith(context, i), sizeof(float), vocabulary, stdout);
    llama_batch_free(batch);
}

static llama_token first_choice(llama_context * context, int vocabulary) {
    const float * logits = llama_get_logits_ith(context, -1);
    llama_token best = 0;
    for (int i = 1; i < vocabulary; i++) if (logits[i] > logits[best]) best = i;
    return best;
}

static void print_speed(llama_context * context, int vocabulary, const std::string & line) {
    std::vector<llama_token> ids = read_ids(line);
    llama_batch batch = batch_of(ids, false);
    llama_memory_clear(llama_get_memory(context), true);
    double start = seconds();
    if (llama_decode(context, batch) != 0) exit(1);
    llama_synchronize(context);
    double read = seconds();
    for (int step = 0; step < STEPS; step++) {
        llama_token best = first_choice(context, vocabulary);
        if (llama_decode(context, llama_batch_get_one(&best, 1)) != 0) exit(1);
    }
    printf("%.0f %.0f\n", ids.size() / (read - start), STEPS / (seconds() - read));
    llama_batch_free(batch);
}

int main(int argc, char ** argv) {
    if (argc != 4) return 2;
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    if (strcmp(argv[1], "-") == 0) ggml_backend_load_all();
    else ggml_backend_load_all_from_path(argv[1]);
    llama_model * model = llama_model_load_from_file(argv[2], llama_model_default_params());
    if (!model) return 1;
    const llama_vocab * vocab = llama_model_get_vocab(model);
    llama_context_params params = llama_context_default_params();
    params.n_ctx = params.n_batch = params.n_ubatch = CONTEXT;
    params.n_threads = params.n_threads_batch = 1;
    params.type_k = params.type_v = GGML_TYPE_F32;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    llama_context * context = llama_init_from_model(model, params);
    std::string mode = argv[3];
    for (std::string line; std::getline(std::cin, line);) {
        if (mode == "tokens") print_tokens(vocab, line);
        else if (mode == "logits") write_logits(context, llama_vocab_n_tokens(vocab), line);
        else print_speed(context, llama_vocab_n_tokens(vocab), line);
    }
    llama_free(context);
    llama_model_free(model);
}
