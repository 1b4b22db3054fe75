"""Writes what an engine must give for some awkward texts: rows, token counts, and the vectors bit for bit.

    python3 test_vectors.py quire-embed-1.bin > vectors.jsonl
"""
import base64
import json
import sys

from weights import Embedder

TEXTS = ['How do I reset my password?', 'the the the quick brown fox', 'def splitLines(split_multiline): return JSONDecoder()',
         'Zürich, naïve café — ﬁne №5', 'Привет, мир', 'Ποιος είναι ο Όμηρος;', '東京は日本の首都です。', '한국어 문장', 'สวัสดีชาวโลก',
         'مرحبا بالعالم', '😀 👩‍💻 ok', '???', ' ', 'İstanbul ℕ Ａ①', 'kubernetes ' * 40, 'x' * 70, 'a\u0000b\u200bc\ud800d', 'p53 v1.2.3 0x1F']


def main():
    embedder = Embedder(sys.argv[1])
    for text in TEXTS:
        rows = [int(r) for r in embedder.tokenizer.rows_of(text)]
        vector = base64.b64encode(embedder.embed(text).astype('<f4').tobytes()).decode()
        print(json.dumps({'text': text, 'tokens': embedder.tokenizer.count(text), 'rows': rows, 'vector': vector}))


if __name__ == '__main__':
    main()
