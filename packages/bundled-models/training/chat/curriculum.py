"""The mixture over the run: (until this share of the run, which task is drawn how often).

The first stage is the first model's mixture with more dialogues: it lets the new layers find their place. The third is
mostly tools of random words, to teach it to choose a tool by its words; it did not learn that (quire-chat-2's card).
From then on tools are listed as the service shows them, the fittest alone or last. Open answers, which a model of this size cannot
write, are left out from there on, and it learns to say so.
"""

STAGES = [
    (0.19, {'drill': 0.3, 'marked_text': 0.5, 'marked': 2.0, 'unmarked': 0.9, 'long_marked': 0.12, 'plain_context': 1.8,
            'conversation': 2.4, 'instructed': 2.0, 'told': 0.4, 'beyond': 0.5, 'json': 1.4, 'made_up_tool': 3.0,
            'tool_silence': 1.2, 'tool_dialogue': 2.5}),
    (0.5, {'drill': 0.2, 'marked_text': 0.3, 'marked': 1.8, 'wrong_mark': 0.35, 'unmarked': 0.7, 'story': 0.5, 'long_marked': 0.12,
           'plain_context': 1.6, 'conversation': 2.6, 'instructed': 2.2, 'told': 0.1, 'beyond': 0.5, 'json': 1.2,
           'made_up_tool': 1.0, 'tool_called': 4.0, 'tool_asked_back': 1.6, 'tool_intent': 1.8, 'tool_unfit': 0.9,
           'tool_silence': 1.2, 'tool_and_documents': 0.4, 'tool_dialogue': 2.4}),
    (0.66, {'drill': 0.1, 'marked_text': 0.2, 'marked': 0.8, 'wrong_mark': 0.2, 'unmarked': 0.3, 'story': 0.2, 'long_marked': 0.04,
            'plain_context': 0.8, 'conversation': 1.2, 'instructed': 1.2, 'beyond': 0.3, 'json': 0.6, 'made_up_tool': 0.6, 'tool_choice': 9.0,
            'tool_called': 5.0, 'tool_asked_back': 0.8, 'tool_intent': 2.5, 'tool_unfit': 0.8, 'tool_silence': 0.8,
            'tool_and_documents': 0.2, 'tool_dialogue': 0.7}),
    (0.85, {'drill': 0.2, 'marked_text': 0.3, 'marked': 1.5, 'wrong_mark': 0.3, 'unmarked': 0.5, 'story': 0.4, 'long_marked': 0.08,
            'plain_context': 1.6, 'conversation': 2.0, 'instructed': 1.8, 'beyond': 0.5, 'json': 1.2, 'made_up_tool': 1.0, 'tool_choice': 1.0,
            'tool_called': 5.0, 'tool_asked_back': 1.4, 'tool_intent': 1.0, 'tool_unfit': 0.9, 'tool_silence': 1.0,
            'tool_and_documents': 0.3, 'tool_dialogue': 2.2}),
    (1.0, {'drill': 0.2, 'marked_text': 0.3, 'marked': 2.0, 'wrong_mark': 0.3, 'unmarked': 0.5, 'story': 0.4, 'long_marked': 0.12,
           'plain_context': 1.8, 'conversation': 2.4, 'instructed': 2.2, 'beyond': 1.0, 'json': 1.4, 'made_up_tool': 1.0, 'tool_choice': 0.5,
           'tool_called': 4.5, 'tool_asked_back': 1.4, 'tool_intent': 0.8, 'tool_unfit': 0.9, 'tool_silence': 1.2,
           'tool_and_documents': 0.3, 'tool_dialogue': 2.2}),
]


def stage_at(done):
    """Task weights at this share of the run."""
    return next((weights for until, weights in STAGES if done < until), STAGES[-1][1])
