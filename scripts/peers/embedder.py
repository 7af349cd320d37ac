"""Watch the embedder, which runs several times for one prompt; see observe.py."""


def observe_embedder(observer, cls, audio_embedder):
    """Says which of the embedder's calls the boundaries are from.

    The first is on the prompt's tokens and none of ours, the second on the encoder's result, the
    third on the padding token alone. `audio_embedder()` is the one for audio.
    """
    original = getattr(cls, observer.call)

    def call(self, input_ids=None, inputs_embeds=None):
        if self is audio_embedder():
            if inputs_embeds is not None:
                observer.embedding = "soft"
            elif tuple(input_ids.shape) == (1, 1):
                observer.embedding = "hard"
        try:
            return original(self, input_ids=input_ids, inputs_embeds=inputs_embeds)
        finally:
            observer.embedding = None

    setattr(cls, observer.call, call)
