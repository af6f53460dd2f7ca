// The live preview. Without this script the page is a form that the server answers with the whole page.
"use strict";
(() => {
    const PREVIEW_DELAY_MS = 250;
    const LINK_CHARS_MAX = 30000;
    const LISTED_MAX = 500;
    const ZOOM_MIN = 0.05;
    const ZOOM_MAX = 20;
    const STEP_PX = 40;

    const of = (id) => document.getElementById(id);
    const viewport = of("viewport");
    const picture = of("picture");
    const problems = of("problems");
    const status = of("status");
    const keyField = of("key");

    document.body.classList.add("live");
    for (const plain of document.querySelectorAll(".plain")) plain.remove();
    of("tools").hidden = false;

    // ---- the editor, or the text field if it did not come

    const field = of("source");
    let editor = {
        getText: () => field.value,
        setText(text) { field.value = text; changed(); },
        markWrong(place) { field.setAttribute("aria-invalid", place === null ? "false" : "true"); },
        goTo(place) {
            const lines = field.value.split("\n");
            const before = lines.slice(0, place.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
            field.focus();
            field.setSelectionRange(before, before + (lines[place.line - 1] || "").length);
        },
    };
    if (window.DiagramEditor) {
        field.hidden = true;
        of("source-label").removeAttribute("for");
        editor = window.DiagramEditor.create({ parent: of("editor"), text: field.value, label: "DOT source", onChange: changed });
    } else {
        field.addEventListener("input", changed);
    }

    // ---- talking to the service

    function headers(more) {
        const key = keyField && keyField.value.trim();
        return key ? { ...more, Authorization: `Bearer ${key}` } : more;
    }

    class Problem extends Error {
        constructor(response, body) {
            super(body.error || `The service answered ${response.status}.`);
            this.status = response.status;
            this.line = body.line;
            this.column = body.column;
            this.retryAfterSeconds = Number(response.headers.get("Retry-After")) || 0;
        }
    }

    async function post(path, body, signal) {
        const response = await fetch(path, {
            method: "POST", body: JSON.stringify(body), headers: headers({ "Content-Type": "application/json" }), signal,
        });
        const answer = await response.json().catch(() => ({}));
        if (!response.ok) throw new Problem(response, answer);
        return { response, answer };
    }

    // Draws a source; the picture, its name and what it lacks.
    async function draw(source, format, signal) {
        const { response, answer } = await post(`graphs?format=${format}`, { dotfile: source }, signal);
        const name = new URL(answer.url).pathname.split("/").pop();
        const stored = await fetch(`graphs/${name}`, { headers: headers({}), signal });
        if (!stored.ok) throw new Problem(stored, await stored.json().catch(() => ({})));
        return {
            blob: await stored.blob(),
            warning: response.headers.get("X-Render-Warning"),
            isDegraded: response.headers.has("X-Render-Degraded"),
        };
    }

    // ---- the preview

    // The source of the picture that is shown, and its bytes.
    let shown = null;
    let address = null;
    let timer = 0;
    let latest = 0;
    let running = null;

    function changed() {
        // Whatever is under way answers an older text.
        latest += 1;
        clearTimeout(timer);
        timer = setTimeout(preview, PREVIEW_DELAY_MS);
    }

    async function preview() {
        clearTimeout(timer);
        latest += 1;
        const mine = latest;
        const source = editor.getText();
        if (running) running.abort();
        running = new AbortController();
        status.textContent = "Drawing\u2026";
        try {
            const drawn = await draw(source, "svg", running.signal);
            const text = await drawn.blob.text();
            if (mine !== latest) return;
            await show(drawn.blob);
            if (mine !== latest) return;
            shown = { source, blob: drawn.blob };
            outline(text);
            complain(null, drawn);
            status.textContent = "";
        } catch (problem) {
            if (mine !== latest || problem.name === "AbortError") return;
            failed(problem);
        }
    }

    function failed(problem) {
        viewport.classList.add("stale");
        status.textContent = "";
        if (problem.retryAfterSeconds) {
            status.textContent = "Busy; trying again\u2026";
            timer = setTimeout(preview, problem.retryAfterSeconds * 1000);
            return;
        }
        complain(problem instanceof Problem ? problem : { message: "The service cannot be reached." }, null);
        if (problem.status === 401 && keyField && document.activeElement === document.body) keyField.focus();
    }

    async function show(blob) {
        const next = URL.createObjectURL(blob);
        const probe = new Image();
        probe.src = next;
        await probe.decode();
        if (address) URL.revokeObjectURL(address);
        address = next;
        picture.src = next;
        picture.hidden = false;
        size = { width: probe.naturalWidth || 1, height: probe.naturalHeight || 1 };
        viewport.classList.remove("stale");
        if (isFitted) fit(); else place();
    }

    // Lists what is wrong, and marks its place. What is listed already is not said again.
    function complain(problem, drawn) {
        const lists = [];
        if (problem) {
            const list = document.createElement("ul");
            const item = document.createElement("li");
            if (problem.line) {
                const go = document.createElement("button");
                go.type = "button";
                go.textContent = problem.message;
                go.addEventListener("click", () => editor.goTo(problem));
                item.append(go);
            } else {
                item.textContent = problem.message;
            }
            list.append(item);
            lists.push(list);
        }
        const warnings = [];
        if (drawn && drawn.warning) warnings.push(`Warning: ${drawn.warning}`);
        if (drawn && drawn.isDegraded) warnings.push("The drawing was simplified to stay within its bounds.");
        if (warnings.length > 0) {
            const list = document.createElement("ul");
            list.className = "warnings";
            list.append(...warnings.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
            lists.push(list);
        }
        if (lists.map((list) => list.textContent).join() !== problems.textContent || lists.length === 0) {
            problems.replaceChildren(...lists);
        }
        editor.markWrong(problem && problem.line ? { line: problem.line, column: problem.column } : null);
    }

    // ---- the outline

    function outline(svg) {
        const document_ = new DOMParser().parseFromString(svg, "image/svg+xml");
        const linesOf = (kind) => Array.from(document_.querySelectorAll(`g.${kind}`), (group) => {
            const title = (group.querySelector("title") || {}).textContent || "";
            const name = kind === "edge" ? title.replace("->", " \u2192 ").replace("--", " \u2013 ") : title;
            const label = Array.from(group.querySelectorAll("text"), (text) => text.textContent.trim()).join(" ");
            return label && label !== title ? `${name}: ${label}` : name;
        });
        const nodes = linesOf("node");
        const edges = linesOf("edge");
        const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
        picture.alt = `Diagram with ${count(nodes.length, "node")} and ${count(edges.length, "edge")}`;
        of("outline-count").textContent = `: ${count(nodes.length, "node")}, ${count(edges.length, "edge")}`;
        of("outline-lists").replaceChildren(...list("Nodes", nodes), ...list("Edges", edges));
    }

    function list(title, lines) {
        const heading = Object.assign(document.createElement("h3"), { textContent: title });
        const list_ = document.createElement("ul");
        const more = lines.length > LISTED_MAX ? [`and ${lines.length - LISTED_MAX} more`] : [];
        for (const line of [...lines.slice(0, LISTED_MAX), ...more]) {
            list_.append(Object.assign(document.createElement("li"), { textContent: line }));
        }
        return [heading, list_];
    }

    // ---- zoom and pan: the picture's size and place in the viewport, in pixels of the page

    let size = { width: 1, height: 1 };
    let zoom = 1;
    let left = 0;
    let top = 0;
    let isFitted = true;

    function place() {
        picture.style.width = `${size.width * zoom}px`;
        picture.style.height = `${size.height * zoom}px`;
        picture.style.transform = `translate(${left}px, ${top}px)`;
        of("zoom").textContent = `${Math.round(zoom * 100)}%`;
    }

    function fit() {
        const [width, height] = [viewport.clientWidth, viewport.clientHeight];
        // Small pictures are not blown up.
        zoom = Math.max(ZOOM_MIN, Math.min(1, width / size.width, height / size.height));
        center();
        isFitted = true;
    }

    function center() {
        left = (viewport.clientWidth - size.width * zoom) / 2;
        top = (viewport.clientHeight - size.height * zoom) / 2;
        place();
    }

    // Zooms so that what lies at (x, y) of the viewport stays there.
    function zoomBy(factor, x = viewport.clientWidth / 2, y = viewport.clientHeight / 2) {
        const next = Math.min(ZOOM_MAX, Math.max(ZOOM_MIN, zoom * factor));
        left = x - (x - left) * (next / zoom);
        top = y - (y - top) * (next / zoom);
        zoom = next;
        isFitted = false;
        place();
    }

    function panBy(x, y) {
        left += x;
        top += y;
        isFitted = false;
        place();
    }

    function actualSize() {
        zoom = 1;
        isFitted = false;
        center();
    }

    const keys = {
        "+": () => zoomBy(1.25), "=": () => zoomBy(1.25), "-": () => zoomBy(0.8), "0": fit, "1": actualSize,
        ArrowLeft: () => panBy(STEP_PX, 0), ArrowRight: () => panBy(-STEP_PX, 0),
        ArrowUp: () => panBy(0, STEP_PX), ArrowDown: () => panBy(0, -STEP_PX),
    };
    viewport.addEventListener("keydown", (event) => {
        const act = !event.ctrlKey && !event.metaKey && !event.altKey && keys[event.key];
        if (!act) return;
        event.preventDefault();
        act();
    });
    viewport.addEventListener("wheel", (event) => {
        event.preventDefault();
        const box = viewport.getBoundingClientRect();
        zoomBy(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0015)), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    viewport.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        viewport.setPointerCapture(event.pointerId);
        viewport.classList.add("dragged");
    });
    viewport.addEventListener("pointermove", (event) => {
        if (viewport.hasPointerCapture(event.pointerId)) panBy(event.movementX, event.movementY);
    });
    for (const end of ["pointerup", "pointercancel"]) {
        viewport.addEventListener(end, () => viewport.classList.remove("dragged"));
    }
    viewport.addEventListener("dblclick", fit);
    viewport.addEventListener("dragstart", (event) => event.preventDefault());
    new ResizeObserver(() => { if (isFitted && !picture.hidden) fit(); }).observe(viewport);
    of("zoom-in").addEventListener("click", () => zoomBy(1.25));
    of("zoom-out").addEventListener("click", () => zoomBy(0.8));
    of("fit").addEventListener("click", fit);
    of("actual").addEventListener("click", actualSize);

    // ---- downloads

    function save(blob, name) {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(blob);
        link.download = name;
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    }

    // The source at twice the resolution: `dpi` as the last word of its first graph.
    function doubled(source) {
        const tokens = /"(?:\\[^]|[^"\\])*"|\/\*[^]*?\*\/|\/\/.*|^#.*|[{}<]/gm;
        let depth = 0;
        for (let token = tokens.exec(source); token; token = tokens.exec(source)) {
            if (token[0] === "<") {
                let open = 1;
                let at = tokens.lastIndex;
                for (; at < source.length && open > 0; at += 1) open += source[at] === "<" ? 1 : source[at] === ">" ? -1 : 0;
                tokens.lastIndex = at;
            }
            if (token[0] === "{") depth += 1;
            if (token[0] === "}") depth -= 1;
            if (token[0] === "}" && depth === 0) return `${source.slice(0, token.index)}\n;dpi=192\n${source.slice(token.index)}`;
        }
        return source;
    }

    async function download(format, name, change) {
        try {
            const source = editor.getText();
            status.textContent = "Drawing\u2026";
            save((await draw(change ? change(source) : source, format)).blob, name);
            status.textContent = "";
        } catch (problem) {
            failed(problem);
        }
    }

    of("svg").addEventListener("click", () => download("svg", "diagram.svg"));
    of("png").addEventListener("click", () => download("png", "diagram.png"));
    of("png2").addEventListener("click", () => download("png", "diagram@2x.png", doubled));
    of("dot").addEventListener("click", () => save(new Blob([editor.getText()], { type: "text/vnd.graphviz" }), "diagram.dot"));

    // ---- sharing

    function encoded(text) {
        const bytes = new TextEncoder().encode(text);
        const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
        return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    }

    of("share").addEventListener("click", async () => {
        const links = of("links");
        links.hidden = !links.hidden;
        of("share").setAttribute("aria-expanded", String(!links.hidden));
        if (links.hidden) return;
        const copied = of("copied");
        const link = new URL(`./?inline=${encoded(editor.getText())}`, location.href).href;
        if (link.length > LINK_CHARS_MAX) {
            of("link").value = of("link-view").value = "";
            copied.textContent = "The source is too long for a link; download the DOT instead.";
            return;
        }
        of("link").value = link;
        of("link-view").value = `${link}&view=1`;
        history.replaceState(null, "", link);
        of("link").select();
        // Where the clipboard is not to be had, the link can be copied by hand.
        const isCopied = await Promise.resolve(navigator.clipboard && navigator.clipboard.writeText(link)).then(() => Boolean(navigator.clipboard), () => false);
        copied.textContent = isCopied ? "The first link is on the clipboard." : "";
    });

    // ---- examples, the form, the prompt

    of("examples").addEventListener("click", (event) => {
        const link = event.target.closest("a");
        if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        const letters = new URL(link.href).searchParams.get("inline").replaceAll("-", "+").replaceAll("_", "/");
        isFitted = true;
        editor.setText(new TextDecoder().decode(Uint8Array.from(atob(letters), (c) => c.charCodeAt(0))));
        preview();
    });

    async function write() {
        const button = document.querySelector("button[value=generate]");
        button.disabled = true;
        status.textContent = "Writing\u2026";
        try {
            const { answer } = await post("generate", { prompt: of("prompt").value });
            status.textContent = "";
            isFitted = true;
            editor.setText(answer.dotfile);
            preview();
        } catch (problem) {
            status.textContent = "";
            complain(problem instanceof Problem ? problem : { message: "The service cannot be reached." }, null);
        } finally {
            button.disabled = false;
        }
    }

    of("form").addEventListener("submit", (event) => {
        event.preventDefault();
        const isPrompt = document.activeElement === of("prompt") || (event.submitter && event.submitter.value === "generate");
        if (of("prompt") && isPrompt) write(); else preview();
    });

    preview();
})();
