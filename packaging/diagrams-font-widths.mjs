// Makes src/drawing/text/widths.txt: the widths of the fonts that Graphviz knows by heart, measured on labels it laid
// out. Needs what packaging/diagrams-oracle.sh installs:
//
//   node packaging/diagrams-font-widths.mjs ~/.cache/quintet/diagrams > src/drawing/text/widths.txt

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

// Nunito is drawn on a grid of 1000 units, all others on one of 2048. After the name to measure with, all names.
const FONTS = [
  ["Times", 2048, "times timesnewroman timesroman tinos liberationserif nimbusroman freeserif texgyretermes"],
  ["Arial", 2048, "arial arialmt helvetica liberationsans nimbussans freesans arimo texgyreheros"],
  ["Courier", 2048, "courier couriernew cousine liberationmono nimbusmono freemono texgyrecursor"],
  ["DejaVuSans", 2048, "dejavusans"],
  ["Consolas", 2048, "consolas"],
  ["Trebuchet", 2048, "trebuchet trebuchetms"],
  ["Verdana", 2048, "verdana"],
  ["OpenSans", 2048, "opensans"],
  ["Georgia", 2048, "georgia"],
  ["Calibri", 2048, "calibri"],
  ["Nunito", 1000, "nunito"],
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
  "# Widths of the 95 printable ASCII characters in the fonts Graphviz 16.1 knows by heart, in units of the em.",
  "# Made by packaging/diagrams-font-widths.mjs, which measures labels that Graphviz laid out; not written by hand.",
  "#",
  "# For each font the units of its em and the letters of the names it goes by, then a line for each of its styles",
  "# (regular, bold, italic, bold italic): the widths from U+0020 to U+007E. The first font stands in for all unknown ones.",
];
for (const [font, units, names] of FONTS) {
  lines.push(`${units} ${names}`);
  for (const style of STYLES) {
    lines.push(measure(font, style).map((width) => Math.round((width / SIZE) * units)).join(" "));
  }
}
console.log(lines.join("\n"));
