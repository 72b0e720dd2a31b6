"""Failures that are alike, in groups: the most frequent one of each speaks for the others. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unstuck.diagnosis.signatures.signature import FailureSignature

__all__ = ["GROUPED", "groups_of"]

GROUPED = 300
"""Each of so many is compared with the first of every group; those after them stand alone."""


def groups_of(
    identities: Sequence[str], signatures: Mapping[str, FailureSignature], *, most: int = GROUPED
) -> dict[str, str]:
    """For each of ``identities`` the one that speaks for its group; itself where it is like none before it.

    Two are alike as :meth:`FailureSignature.is_similar_to` says (0.7). What has no signature stands alone.
    """
    speakers: list[FailureSignature] = []
    names: list[str] = []
    found: dict[str, str] = {}
    for place, identity in enumerate(identities):
        found[identity] = identity
        signature = signatures.get(identity)
        if signature is None or place >= most:
            continue
        speaker = next((name for name, one in zip(names, speakers, strict=True) if one.is_similar_to(signature)), "")
        if speaker:
            found[identity] = speaker
        else:
            speakers.append(signature)
            names.append(identity)
    return found
