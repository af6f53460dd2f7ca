// The page's editor: CodeMirror 6 with a mode for DOT, as one script that defines `DiagramEditor`.
//
// packaging/editor-bundle.sh makes assets/diagrams/editor.js of this. The editor lives in a shadow root, where its
// styles are constructed style sheets, which a strict Content-Security-Policy allows.

import { EditorState, StateEffect, StateField } from "@codemirror/state";
import {
    Decoration, EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap,
    lineNumbers,
} from "@codemirror/view";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";

// DOT, one token at a time. What continues on the next line is in the state: a comment, a string, or how deep the
// angle brackets of an HTML-like string are open.
const dot = StreamLanguage.define({
    name: "dot",
    startState: () => ({ inside: "", depth: 0 }),
    token(stream, state) {
        if (state.inside === "comment") {
            if (!stream.match(/^.*?\*\//)) stream.skipToEnd(); else state.inside = "";
            return "comment";
        }
        if (state.inside === "string") return string(stream, state);
        if (state.inside === "html") return html(stream, state);
        if (stream.sol() && stream.match(/^#.*/)) return "comment";
        if (stream.eatSpace()) return null;
        if (stream.match("//")) { stream.skipToEnd(); return "comment"; }
        if (stream.match("/*")) { state.inside = "comment"; return "comment"; }
        if (stream.match("\"")) { state.inside = "string"; return string(stream, state); }
        if (stream.match("<")) { state.inside = "html"; state.depth = 1; return html(stream, state); }
        if (stream.match("->") || stream.match("--")) return "operator";
        if (stream.match(/^-?(\.\d+|\d+(\.\d*)?)/)) return "number";
        if (stream.match(/^[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*/)) {
            if (/^(strict|graph|digraph|subgraph|node|edge)$/i.test(stream.current())) return "keyword";
            return stream.match(/^\s*=/, false) ? "attributeName" : "variableName";
        }
        if (stream.match(/^[{}[\]]/)) return "bracket";
        stream.next();
        return "punctuation";
    },
    languageData: {
        commentTokens: { line: "//", block: { open: "/*", close: "*/" } },
        closeBrackets: { brackets: ["{", "[", "\""] },
        indentOnInput: /^\s*\}$/,
    },
    indent(state, textAfter, context) {
        return state.inside ? null : depth(context) * context.unit - (/^\s*[}\]]/.test(textAfter) ? context.unit : 0);
    },
});

function string(stream, state) {
    while (!stream.eol()) {
        const c = stream.next();
        if (c === "\\") stream.next();
        if (c === "\"") { state.inside = ""; break; }
    }
    return "string";
}

function html(stream, state) {
    while (!stream.eol()) {
        const c = stream.next();
        if (c === "<") state.depth += 1;
        if (c === ">") state.depth -= 1;
        if (state.depth === 0) { state.inside = ""; break; }
    }
    return "string-2";
}

// How many braces and brackets are open before a line, strings and comments aside.
function depth(context) {
    const before = context.state.sliceDoc(0, context.pos).replace(/"(\\[^]|[^"\\])*"|\/\*[^]*?\*\/|\/\/.*|^#.*/gm, "");
    let open = 0;
    for (const c of before) {
        if (c === "{" || c === "[") open += 1;
        if ((c === "}" || c === "]") && open > 0) open -= 1;
    }
    return open;
}

const colors = HighlightStyle.define([
    { tag: tags.keyword, class: "dot-keyword" },
    { tag: tags.comment, class: "dot-comment" },
    { tag: [tags.string, tags.special(tags.string)], class: "dot-string" },
    { tag: tags.number, class: "dot-number" },
    { tag: tags.attributeName, class: "dot-attribute" },
    { tag: tags.operator, class: "dot-operator" },
]);

const look = EditorView.theme({
    "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--paper)", fontSize: "13px" },
    "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
    ".cm-scroller": { fontFamily: "ui-monospace, monospace", lineHeight: "1.5" },
    ".cm-content": { caretColor: "var(--ink)" },
    ".cm-cursor": { borderLeftColor: "var(--ink)" },
    ".cm-gutters": { backgroundColor: "var(--back)", color: "var(--soft)", borderRight: "1px solid var(--line)" },
    ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--accent) 8%, transparent)" },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
        backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)",
    },
    "&.cm-focused .cm-matchingBracket": { backgroundColor: "color-mix(in srgb, var(--accent) 25%, transparent)" },
    ".cm-wrong-line": { backgroundColor: "var(--wrong-back)", boxShadow: "inset 3px 0 var(--wrong)" },
    ".cm-wrong-place": { textDecoration: "underline wavy var(--wrong)" },
    ".dot-keyword": { color: "light-dark(#8a1f9c, #e3a1f0)", fontWeight: "600" },
    ".dot-comment": { color: "var(--soft)", fontStyle: "italic" },
    ".dot-string": { color: "light-dark(#1b6a2c, #8fd7a0)" },
    ".dot-number": { color: "light-dark(#9a4300, #f2b47a)" },
    ".dot-attribute": { color: "light-dark(#14508f, #8fc1ff)" },
    ".dot-operator": { color: "var(--accent)", fontWeight: "600" },
});

// What is wrong, as decorations of a line and of the character it is at.
const setWrong = StateEffect.define();
const wrong = StateField.define({
    create: () => Decoration.none,
    update(marks, transaction) {
        let now = marks.map(transaction.changes);
        for (const effect of transaction.effects) {
            if (effect.is(setWrong)) now = effect.value === null ? Decoration.none : marksOf(transaction.state, effect.value);
        }
        return now;
    },
    provide: (field) => EditorView.decorations.from(field),
});

function marksOf(state, place) {
    const line = state.doc.line(Math.min(Math.max(place.line, 1), state.doc.lines));
    const marks = [Decoration.line({ class: "cm-wrong-line", attributes: { "aria-invalid": "true" } }).range(line.from)];
    if (place.column && line.length > 0) {
        // Columns count characters, positions count UTF-16 units.
        const before = Array.from(line.text).slice(0, place.column - 1).join("").length;
        const from = line.from + Math.min(before, line.length - 1);
        marks.push(Decoration.mark({ class: "cm-wrong-place" }).range(from, Math.min(from + 1, line.to)));
    }
    return Decoration.set(marks);
}

// Typing over coloured text: left to itself, the browser gives what is typed a style attribute, which the page's policy
// forbids, and complains.
function replaceSelected(event, view) {
    if (event.inputType !== "insertText" || !event.data || event.isComposing || view.state.selection.main.empty) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    return true;
}

/// An editor in place of everything in `parent`. `onChange` is called after each change of the text.
export function create({ parent, text, label, onChange }) {
    const host = document.createElement("div");
    host.id = "code";
    const root = host.attachShadow({ mode: "open" });
    parent.append(host);
    const view = new EditorView({
        parent: root,
        root,
        state: EditorState.create({
            doc: text,
            extensions: [
                lineNumbers(), highlightActiveLineGutter(), highlightSpecialChars(), history(), drawSelection(),
                EditorState.allowMultipleSelections.of(true), indentOnInput(), indentUnit.of("    "), bracketMatching(),
                highlightActiveLine(), keymap.of([...defaultKeymap, ...historyKeymap]), dot, syntaxHighlighting(colors), look,
                wrong,
                EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
                EditorView.domEventHandlers({ beforeinput: replaceSelected }),
                EditorView.updateListener.of((update) => { if (update.docChanged) onChange(); }),
            ],
        }),
    });
    return {
        getText: () => view.state.doc.toString(),
        setText(next) {
            view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next }, selection: { anchor: 0 } });
        },
        markWrong(place) {
            view.dispatch({ effects: setWrong.of(place) });
        },
        goTo(place) {
            const line = view.state.doc.line(Math.min(Math.max(place.line, 1), view.state.doc.lines));
            const before = Array.from(line.text).slice(0, (place.column || 1) - 1).join("").length;
            view.dispatch({ selection: { anchor: line.from + Math.min(before, line.length) }, scrollIntoView: true });
            view.focus();
        },
    };
}
