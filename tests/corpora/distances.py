"""How far texts are apart, by rapidfuzz: a second opinion on the distances and scores of the translation memory.

Reads JSON from the file named first: {"pairs": [[a, b], …], "queries": [text, …], "sources": [text, …]}. Prints JSON:
{"distances": […], "found": [[[score, place of the source], …], …]}, for each query every source of a score of at least 75.
Texts are brought into NFC by Python's own tables.
"""

import json
import sys
import unicodedata

from rapidfuzz.distance import Levenshtein


def nfc(text):
    return unicodedata.normalize("NFC", text)


def score(one, other):
    longer = max(len(one), len(other))
    most = longer // 4
    distance = Levenshtein.distance(one, other, score_cutoff=most)
    if distance > most:
        return 0
    return min(99, 100 * (longer - distance) // longer) if longer else 99


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        asked = json.load(file)
    sources = [nfc(text) for text in asked["sources"]]
    found = []
    for text in asked["queries"]:
        query = nfc(text)
        scored = ((score(query, source), place) for place, source in enumerate(sources))
        found.append([[points, place] for points, place in scored if points >= 75])
    distances = [Levenshtein.distance(nfc(one), nfc(other)) for one, other in asked["pairs"]]
    json.dump({"distances": distances, "found": found}, sys.stdout)


main()
