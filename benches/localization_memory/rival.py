"""What rapidfuzz needs for the same queries over the same texts: rival.py FILE, with {"sources": […], "queries": […]}.

Prints JSON: the CPU milliseconds of each query, and the scores of the five best that each found.
"""

import json
import sys
import time
import unicodedata

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

with open(sys.argv[1], encoding="utf-8") as file:
    asked = json.load(file)
raw = asked["sources"]
sources = [unicodedata.normalize("NFC", text) for text in raw]
millis, scores = [], []
for asked_for in asked["queries"]:
    query = unicodedata.normalize("NFC", asked_for)
    begun = time.process_time()
    found = process.extract(query, sources, scorer=Levenshtein.normalized_similarity, score_cutoff=0.75, limit=5)
    millis.append((time.process_time() - begun) * 1e3)
    points = []
    for text, _, place in found:
        longer = max(len(query), len(text))
        distance = Levenshtein.distance(query, text)
        points.append(100 if raw[place] == asked_for else min(99, 100 * (longer - distance) // longer))
    scores.append(sorted(points, reverse=True))
json.dump({"millis": millis, "scores": scores}, sys.stdout)
