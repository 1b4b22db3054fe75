"""Writes the model as GGUF: llama architecture, SPM tokenizer, the chat template."""
import sys

import batches
from model import NORM_EPSILON, ROPE_BASE
from tokenizer import BEGIN, CONTROL, END, FIRST_MERGED, UNKNOWN, USER_DEFINED

NAME = 'Quire Chat 2'
DESCRIPTION = 'Small English chat model that comes with Quire: talks a little, copies answers from documents, calls tools.'
# Token types of llama.cpp.
NORMAL, UNKNOWN_TYPE, CONTROL_TYPE, USER_DEFINED_TYPE, BYTE_TYPE = 1, 2, 3, 4, 6


def export(model, tokenizer, path, kind, gguf_py):
    """Writes `path`; `kind` is F32 (to check against PyTorch) or Q8_0 (to ship). `gguf_py` is llama.cpp's folder."""
    if gguf_py not in sys.path:
        sys.path.insert(0, gguf_py)
    import gguf
    config = model.config
    writer = gguf.GGUFWriter(path, 'llama')
    writer.add_name(NAME)
    writer.add_description(DESCRIPTION)
    writer.add_context_length(config.context)
    writer.add_embedding_length(config.width)
    writer.add_block_count(config.layers)
    writer.add_feed_forward_length(config.hidden)
    writer.add_head_count(config.heads)
    writer.add_head_count_kv(config.heads)
    writer.add_rope_dimension_count(config.head_width)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_layer_norm_rms_eps(NORM_EPSILON)
    writer.add_vocab_size(config.vocabulary)
    add_tokenizer(writer, tokenizer)
    quantized = gguf.GGMLQuantizationType[kind]
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0 if kind == 'Q8_0' else gguf.LlamaFileType.ALL_F32)
    for name, weight in tensors(model):
        data = weight.detach().float().contiguous().numpy()
        if kind != 'F32' and data.ndim == 2:
            writer.add_tensor(name, gguf.quants.quantize(data, quantized), raw_dtype=quantized)
        else:
            writer.add_tensor(name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_tokenizer(writer, tokenizer):
    pieces = tokenizer.pieces
    types = [NORMAL] * len(pieces)
    types[tokenizer.ids[UNKNOWN]] = UNKNOWN_TYPE
    for names, kind in ((CONTROL, CONTROL_TYPE), (USER_DEFINED, USER_DEFINED_TYPE)):
        for name in names:
            types[tokenizer.ids[name]] = kind
    for i in range(tokenizer.first_byte, FIRST_MERGED):
        types[i] = BYTE_TYPE
    writer.add_tokenizer_model('llama')
    writer.add_tokenizer_pre('default')
    writer.add_token_list([p.encode() for p in pieces])
    # The pair whose joint piece has the highest score is merged first: earlier pieces come first.
    writer.add_token_scores([0.0 if i < FIRST_MERGED else -float(i) for i in range(len(pieces))])
    writer.add_token_types(types)
    writer.add_bos_token_id(tokenizer.ids[BEGIN])
    writer.add_eos_token_id(tokenizer.ids[END])
    writer.add_eot_token_id(tokenizer.ids[END])
    writer.add_pad_token_id(tokenizer.ids[END])
    writer.add_unk_token_id(tokenizer.ids[UNKNOWN])
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(batches.load_template())


def tensors(model):
    """(llama.cpp's name, weight). The output matrix is left out: llama.cpp then uses the token embeddings."""
    width, hidden = model.config.width, model.config.hidden
    yield 'token_embd.weight', model.embedding.weight
    yield 'output_norm.weight', model.norm.weight
    for i, block in enumerate(model.blocks):
        for name, weight in zip(('attn_q', 'attn_k', 'attn_v'), block.qkv.weight.split(width)):
            yield f'blk.{i}.{name}.weight', weight
        for name, weight in zip(('ffn_gate', 'ffn_up'), block.gate_up.weight.split(hidden)):
            yield f'blk.{i}.{name}.weight', weight
        yield f'blk.{i}.attn_output.weight', block.out.weight
        yield f'blk.{i}.ffn_down.weight', block.down.weight
        yield f'blk.{i}.attn_norm.weight', block.attention_norm.weight
        yield f'blk.{i}.ffn_norm.weight', block.hidden_norm.weight
