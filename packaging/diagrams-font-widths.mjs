// Makes src/diagrams/text/widths.rs: the widths of the fonts that Graphviz knows by heart, measured on labels it laid
// out. Needs what packaging/diagrams-oracle.sh installs:
//
//   node packaging/diagrams-font-widths.mjs ~/.cache/quintet/diagrams > src/diagrams/text/widths.rs

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const top = process.argv[2];
if (!top) {
  console.error("say where packaging/diagrams-oracle.sh installed to");
  process.exit(2);
}
const installed = readdirSync(top).find((name) => name.startsWith("viz-"));
const library = join(top, installed, "node_modules/@viz-js/viz/dist/viz.js");
const { instance } = await import(pathToFileURL(library).href);
const viz = await instance();

// Nunito is drawn on a grid of 1000 units, all others on one of 2048.
const FONTS = [
  ["Times", 2048],
  ["Arial", 2048],
  ["Courier", 2048],
  ["DejaVuSans", 2048, "DEJAVU_SANS"],
  ["Consolas", 2048],
  ["Trebuchet", 2048],
  ["Verdana", 2048],
  ["OpenSans", 2048, "OPEN_SANS"],
  ["Georgia", 2048],
  ["Calibri", 2048],
  ["Nunito", 1000],
];
const STYLES = ["%", "<b>%</b>", "<i>%</i>", "<b><i>%</i></b>"];
const SIZE = 2048;

/** The widths of U+0020 to U+007E, in points at a size of 2048. Each stands between two letters, as blanks would go. */
function measure(font, style) {
  const label = (text) => style.replace("%", text);
  let source = `digraph{node[fontsize=${SIZE} fontname=${font} shape=none margin=0 width=0 height=0]\n`;
  for (let code = 32; code < 127; code++) source += `n${code}[label=<${label(`M&#${code};M`)}>]\n`;
  source += `m[label=<${label("MM")}>]}`;
  const answer = viz.render(source, { format: "json", engine: "dot" });
  if (answer.status !== "success") throw new Error(JSON.stringify(answer.errors));
  const widths = new Map(JSON.parse(answer.output).objects.map((node) => [node.name, node.width * 72]));
  return Array.from({ length: 95 }, (_, i) => widths.get(`n${i + 32}`) - widths.get("m"));
}

const lines = [
  "//! Widths of the 95 printable ASCII characters in the fonts Graphviz 16.1 knows by heart, in units of the em.",
  "//!",
  "//! Made by `packaging/diagrams-font-widths.mjs`, which measures labels that Graphviz laid out; not written by hand.",
  "",
  "/// Widths of one font in its four styles (regular, bold, italic, bold italic), from U+0020 to U+007E.",
  "pub(super) struct Widths {",
  "    /// Units of the em, the size of the font.",
  "    pub units_per_em: u16,",
  "    /// By style, then by character.",
  "    pub styles: [[u16; 95]; 4],",
  "}",
];
for (const [font, units, name] of FONTS) {
  lines.push("", `/// ${font}.`, `pub(super) const ${name ?? font.toUpperCase()}: Widths = Widths {`);
  lines.push(`    units_per_em: ${units},`, "    styles: [");
  for (const style of STYLES) {
    lines.push("        [");
    let line = "           ";
    for (const width of measure(font, style)) {
      const text = ` ${Math.round((width / SIZE) * units)},`;
      if (line.length + text.length > 120) {
        lines.push(line);
        line = "           ";
      }
      line += text;
    }
    lines.push(line, "        ],");
  }
  lines.push("    ],", "};");
}
console.log(lines.join("\n"));
