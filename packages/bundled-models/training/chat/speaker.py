"""Runs a GGUF in llama.cpp through llama_probe.cpp: unconstrained and constrained to candidates."""
import collections
import subprocess

LIMIT = 160


class Probe:
    def __init__(self, probe, backends):
        self.command = [probe, backends]

    def run(self, model, mode, lines):
        text = '\n'.join(lines) + '\n'
        return subprocess.run(self.command + [model, mode], input=text.encode(), stdout=subprocess.PIPE, check=True).stdout


class Speaker:
    """Continues prompts greedily."""

    def __init__(self, probe, model, encoder):
        self.probe, self.model, self.encoder, self.tokens = probe, model, encoder, encoder.tokenizer
        self.ended = collections.Counter()

    def say(self, prompts, limit=LIMIT):
        """Texts of the completions, with the call marker, without the end of turn."""
        lines = [' '.join(map(str, [limit] + ids)) for ids in prompts]
        answers = []
        for line in self.probe.run(self.model, 'generate', lines).decode().split('\n')[:len(prompts)]:
            ids = [int(i) for i in line.split()]
            self.ended[bool(ids) and ids[-1] == self.tokens.end] += 1
            answers.append(self.tokens.decode([i for i in ids if i != self.tokens.end], special=True))
        return answers

    def choose(self, prompts, candidates):
        """For each prompt, the candidate (text with markers) that greedy decoding constrained to the candidates
        generates.
        """
        encode = self.tokens.encode
        lines = ['|'.join(' '.join(map(str, ids)) for ids in [prompt] + [encode(c) for c in texts])
                 for prompt, texts in zip(prompts, candidates)]
        said = self.probe.run(self.model, 'choose', lines).decode().split()
        return [texts[int(i)] for i, texts in zip(said, candidates)]


def share(hits, total):
    return f'{hits / total:.3f} of {total}' if total else 'none'
