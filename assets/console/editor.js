// The editor: counts and checks what is being typed, keeps what is not saved yet, and gives every act a key. Without it the
// page does the same by its buttons. It writes text alone, never markup.
"use strict";

const CHECK_MS = 300;
const form = document.getElementById("edit");
const fields = form ? [...form.querySelectorAll("textarea")] : [];
const store = "unsaved:" + window.location.pathname;
const key = form ? form.elements.key.value : "";

// What was typed and not saved, by the strings' ids; it goes with the tab.
function unsaved() {
    try {
        return JSON.parse(window.sessionStorage.getItem(store)) || {};
    } catch {
        return {};
    }
}

function keep(all) {
    try {
        if (Object.keys(all).length) window.sessionStorage.setItem(store, JSON.stringify(all));
        else window.sessionStorage.removeItem(store);
    } catch {
        // A browser that keeps nothing still saves by the button.
    }
}

function remember() {
    const all = unsaved();
    if (fields.some((field) => field.value !== field.defaultValue)) {
        all[key] = { revision: form.elements.revision.value, texts: fields.map((field) => field.value) };
    } else {
        delete all[key];
    }
    keep(all);
}

// What was typed before somebody had to sign in again, or went to another string.
function restore() {
    const kept = unsaved()[key];
    if (!kept || kept.texts.length !== fields.length) return;
    fields.forEach((field, at) => {
        field.value = kept.texts[at];
    });
    // The server then tells whether somebody else has saved since.
    form.elements.revision.value = kept.revision;
    document.getElementById("unsaved").hidden = false;
    check().catch(() => {});
}

function count(field) {
    const length = [...field.value].length;
    const max = Number(field.dataset.max || 0);
    const place = form.querySelector(`output[for="${field.name}"]`);
    place.textContent = max ? `${length} / ${max}` : `${length}`;
    place.classList.toggle("bad", max > 0 && length > max);
}

function told(check, list) {
    const line = document.createElement("li");
    const mark = document.createElement("span");
    mark.className = check.blocking ? "state bad" : "state fair";
    mark.textContent = check.blocking ? `${check.check} ${list.dataset.blocks}`.trim() : check.check;
    line.append(mark, ` ${check.name}${check.detail ? ": " + check.detail : ""}`);
    return line;
}

let timer = 0;
let asked = 0;
async function check() {
    const number = ++asked;
    const sent = new URLSearchParams([["key", key], ["revision", form.elements.revision.value]]);
    for (const field of fields) sent.append(field.name, field.value);
    const answer = await fetch(form.dataset.check, { method: "POST", body: sent, redirect: "manual" });
    // Another text is being checked by now, or nobody is signed in: saving tells.
    if (number !== asked || !answer.ok) return;
    const { checks } = await answer.json();
    const list = document.getElementById("checks");
    const lines = checks.map((one) => told(one, list));
    if (!lines.length) {
        const line = document.createElement("li");
        line.textContent = list.dataset.fine;
        lines.push(line);
    }
    list.replaceChildren(...lines);
}

function typed(field) {
    count(field);
    remember();
    window.clearTimeout(timer);
    timer = window.setTimeout(() => check().catch(() => {}), CHECK_MS);
}

function take(link) {
    // Of a plural the suggestion is one for the last form, which is `other`.
    const field = fields.includes(document.activeElement) ? document.activeElement : fields[fields.length - 1];
    field.value = link.dataset.text;
    field.focus();
    typed(field);
}

function press(event) {
    const isTyping = fields.includes(document.activeElement) || document.activeElement?.matches("input, select");
    const click = (id) => {
        const target = document.getElementById(id);
        if (!target) return;
        event.preventDefault();
        target.click();
    };
    if (event.ctrlKey && event.key === "Enter") click(event.shiftKey ? "save-review" : "save");
    else if (event.altKey && event.key === "ArrowUp") click("previous");
    else if (event.altKey && event.key === "ArrowDown") click(document.getElementById("next") ? "next" : "more");
    else if (event.ctrlKey && !event.altKey && /^[1-5]$/.test(event.key)) click(`offer-${event.key}`);
    else if (event.key === "?" && !isTyping) {
        event.preventDefault();
        const list = document.getElementById("keys");
        list.open = !list.open;
        list.querySelector("summary").focus();
    }
}

if (form) {
    restore();
    for (const field of fields) {
        count(field);
        field.addEventListener("input", () => typed(field));
    }
    for (const link of document.querySelectorAll(".offers a")) {
        link.addEventListener("click", (event) => {
            event.preventDefault();
            take(link);
        });
    }
    // Once it is sent the server has it; whatever it refuses comes back in the page.
    form.addEventListener("submit", () => window.sessionStorage.setItem(store + ":sent", key));
    fields[0].focus({ preventScroll: true });
}

// The page after a save that went well is another one, or shows what is stored: then nothing is left to keep.
const sent = window.sessionStorage.getItem(store + ":sent");
if (sent) {
    window.sessionStorage.removeItem(store + ":sent");
    const isRefused = document.querySelector(".string .wrong") !== null;
    if (!isRefused && !document.getElementById("sign-in")) {
        const all = unsaved();
        delete all[sent];
        keep(all);
        if (sent === key) {
            fields.forEach((field) => {
                field.value = field.defaultValue;
                count(field);
            });
            document.getElementById("unsaved").hidden = true;
        }
    }
}

document.addEventListener("keydown", press);
