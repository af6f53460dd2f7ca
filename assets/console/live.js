// Keeps the figures of a page fresh: asks for the page anew while somebody looks at it, says that it is not he who asks, so
// that it keeps nobody in, and takes over what stands in places that say so. It takes text alone, never markup; a page whose places are others, such as the one to sign in on, is opened.
"use strict";

const EVERY_MS = 5000;
const policy = window.trustedTypes?.createPolicy("console", { createHTML: (text) => text });

async function refresh() {
    const headers = { accept: "text/html", "x-quintet-refresh": "1" };
    const answer = await fetch(window.location.href, { headers, redirect: "manual" });
    if (answer.type === "opaqueredirect" || answer.status === 403) {
        window.location.reload();
        return;
    }
    if (!answer.ok) return;
    const text = await answer.text();
    // Parsed apart from the page: nothing in it runs or is loaded.
    const fresh = new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");
    for (const place of document.querySelectorAll("[data-live]")) {
        const other = fresh.getElementById(place.id);
        if (other && other.textContent !== place.textContent) place.textContent = other.textContent;
    }
    // What needs attention has changed: people are to read all of it.
    const key = (page) => page.getElementById("warnings")?.textContent.replace(/[0-9]+/g, "");
    if (key(fresh) !== key(document)) window.location.reload();
}

setInterval(() => {
    // The network may be gone for a while; the next round tries again.
    if (document.visibilityState === "visible") refresh().catch(() => {});
}, EVERY_MS);
