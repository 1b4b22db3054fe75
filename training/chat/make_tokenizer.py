"""Trains the tokenizer on the texts and on rendered conversations, in the mixture that the model will read."""
import batches
import tasks
import tokenizer

VOCABULARY = 4096
CONVERSATIONS = 12000


def make_tokenizer(corpora, path):
    encoder = batches.Encoder(None)
    drawn = tasks.Tasks(corpora, seed=0)
    names = ['made_up_tool', 'tool_dialogue', 'tool_dialogue', 'conversation', 'instructed', 'json', 'plain_context', 'told']
    texts = corpora.texts()
    for i in range(CONVERSATIONS):
        made = drawn.draw(names[i % len(names)])
        texts += tokenizer.SPECIAL_SPLIT.split(encoder.render(made))
    made = tokenizer.train_tokenizer([t for t in texts if t not in tokenizer.SPECIAL], VOCABULARY)
    made.save(path)
    return made
