// Follows what a run writes, and narrows the lines to those with a text. Asks for what has come since, once a second and only
// while somebody looks; takes over text alone, never markup; puts lines into the page once a frame, many at a time, and keeps
// the last ten thousand of them.
"use strict";

const EVERY_MS = 1000;
const LINES_MAX = 10000;
const FRAME_LINES = 2000;
const log = document.getElementById("log");
const filter = document.getElementById("log-filter");
const waiting = [];
let from = log?.dataset.from;
let timer = 0;
let asked = false;

function matches(line) {
    const text = filter.value.toLowerCase();
    return !text || line.textContent.toLowerCase().includes(text);
}

function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.textContent = text;
    return made;
}

function made(line) {
    const row = document.createElement("div");
    if (line.error) row.className = "error";
    const time = element("time", "", line.time);
    time.dateTime = line.ts;
    row.append(time, " ");
    if (line.error) row.append(element("span", "stream", "err"), " ");
    const text = document.createElement("bdi");
    text.dir = "auto";
    // In turn what can be seen, and the number of a character that cannot.
    line.pieces.forEach((piece, place) => {
        text.append(place % 2 ? element("span", "char", piece) : piece);
    });
    row.append(text);
    row.hidden = !matches(row);
    return row;
}

function flush() {
    const isAtEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
    log.append(...waiting.splice(0, FRAME_LINES).map((line) => (line.note ? element("div", "soft", line.note) : made(line))));
    for (let count = log.childElementCount; count > LINES_MAX; count -= 1) log.firstElementChild.remove();
    if (isAtEnd) log.scrollTop = log.scrollHeight;
    if (waiting.length) requestAnimationFrame(flush);
}

function take(told) {
    if (told.cut) waiting.push({ note: log.dataset.leftOut });
    for (const line of told.lines) waiting.push(line);
    // What would be pushed out at once need not be made.
    if (waiting.length > LINES_MAX) waiting.splice(0, waiting.length - LINES_MAX);
    if (told.lines.length) document.getElementById("log-none")?.remove();
    if (waiting.length) requestAnimationFrame(flush);
    from = told.next;
    if (told.state !== log.dataset.state) document.getElementById("log-changed").hidden = false;
    return !told.ended;
}

async function ask() {
    const answer = await fetch(`${log.dataset.tail}?from=${encodeURIComponent(from)}`, { redirect: "manual" });
    // Nobody is signed in any more: the page leads there.
    if (answer.type === "opaqueredirect") window.location.reload();
    return answer.ok ? take(await answer.json()) : answer.status >= 500;
}

async function round() {
    if (asked || document.visibilityState !== "visible") return;
    asked = true;
    // The network may be gone for a while; the next round tries again.
    const goesOn = await ask().catch(() => true);
    asked = false;
    if (goesOn) timer = window.setTimeout(round, EVERY_MS);
    else document.getElementById("log-live").hidden = true;
}

if (log) {
    document.getElementById("log-tools").hidden = false;
    filter.addEventListener("input", () => {
        for (const row of log.children) row.hidden = !matches(row);
    });
    log.scrollTop = log.scrollHeight;
}

if (log?.dataset.tail) {
    const live = document.getElementById("log-live");
    live.hidden = false;
    document.addEventListener("visibilitychange", () => {
        window.clearTimeout(timer);
        if (!live.hidden) round();
    });
    round();
}
