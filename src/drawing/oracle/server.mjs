// Graphviz as WebAssembly behind a line protocol: one JSON request a line in, one JSON answer a line out, in order.
//
//   node server.mjs PATH_OF_VIZ_JS
//
// {"op":"parse","source":BASE64}                  → {"accepted":true|false,"errors":[{"level","message"}]}
// {"op":"render","source":BASE64,"format":F,"engine":E} → the same, and "output" and "milliseconds"
//
// Sources are bytes, not text: broken UTF-8 must reach the parser as it is.
import { webcrypto } from "node:crypto";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

// Debian 12's Node.js does not have it there by itself.
globalThis.crypto ??= webcrypto;

// The module does not hand out its memory, which bytes that are no text must be written to: it is caught at its birth.
let memory = null;
for (const name of ["instantiate", "instantiateStreaming"]) {
  const original = WebAssembly[name];
  WebAssembly[name] = async (...given) => {
    const result = await original.apply(WebAssembly, given);
    const { exports } = result.instance ?? result;
    memory = Object.values(exports).find((value) => value instanceof WebAssembly.Memory) ?? memory;
    return result;
  };
}
const { instance } = await import(pathToFileURL(process.argv[2]).href);

let viz = null;
let used = 0;
// The wrapper takes strings; while this is set, what it copies into the module's memory is these bytes.
let pending = null;

async function fresh() {
  viz = await instance();
  used = 0;
  pending = null;
  const { lengthBytesUTF8, stringToUTF8 } = viz.module;
  viz.module.lengthBytesUTF8 = (text) => (pending ? pending.length : lengthBytesUTF8(text));
  viz.module.stringToUTF8 = (text, pointer, size) => {
    if (!pending) return stringToUTF8(text, pointer, size);
    put(pending, pointer);
    pending = null;
  };
}
await fresh();

function put(bytes, pointer) {
  const view = new Uint8Array(memory.buffer);
  view.set(bytes, pointer);
  view[pointer + bytes.length] = 0;
}

function messages(module) {
  const result = [];
  let level = null;
  for (const message of module.agerrMessages) {
    if (message === "Error" || message === "Warning") level = message.toLowerCase();
    else if (message !== ": ") result.push({ level, message: message.trimEnd() });
  }
  for (const message of module.stderrMessages) {
    const match = /^(Error|Warning): (.*)/.exec(message);
    result.push(match ? { level: match[1].toLowerCase(), message: match[2] } : { level: null, message });
  }
  return result;
}

function parse(bytes) {
  const module = viz.module;
  module.agerrMessages = [];
  module.stderrMessages = [];
  const pointer = module.ccall("malloc", "number", ["number"], [bytes.length + 1]);
  put(bytes, pointer);
  const graph = module.ccall("viz_read_one_graph", "number", ["number"], [pointer]);
  module.ccall("free", "number", ["number"], [pointer]);
  if (graph) module.ccall("viz_free_graph", "number", ["number"], [graph]);
  return { accepted: graph !== 0, errors: messages(module) };
}

function render(bytes, format, engine) {
  pending = bytes;
  const started = performance.now();
  const result = viz.render("x", { format, engine });
  const milliseconds = performance.now() - started;
  pending = null;
  return {
    accepted: result.status === "success",
    output: result.output,
    milliseconds,
    errors: result.errors.map((error) => ({ level: error.level ?? null, message: error.message })),
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const bytes = Buffer.from(request.source, "base64");
  let answer;
  try {
    // Memory that the module leaks ends with the module.
    if (++used > 500) await fresh();
    answer = request.op === "parse" ? parse(bytes) : render(bytes, request.format, request.engine);
  } catch (error) {
    answer = { accepted: false, crashed: String(error), errors: [] };
    await fresh();
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
