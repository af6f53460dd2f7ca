// The page of the diagrams in a real browser: `node diagrams_page.mjs PACKAGES '{"open": URL, "keyed": URL, "key": KEY}'`.
// PACKAGES is what packaging/browser.sh --where prints. Each check says its name; the first that fails ends the run.
// With PICTURES set, screenshots are written there for people to look at.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { accessible, picture, runChecks, visit } from "../support/browser.mjs";

const [packages, given] = process.argv.slice(2);
const { open, keyed, key } = JSON.parse(given);

async function type(page, text) {
    await page.locator("#code .cm-content").click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(text);
}

const alt = (page, text) => page.waitForFunction((wanted) => {
    const image = document.getElementById("picture");
    return image.alt === wanted && !image.hidden && image.naturalWidth > 0;
}, text);
const isStale = (page) => page.locator("#viewport.stale").waitFor({ state: "visible" });
const base64 = (text) => Buffer.from(text).toString("base64");

const checks = {
    "typing draws again, and the outline follows": (context) => visit(context, open, async (page) => {
        await alt(page, "Diagram with 5 nodes and 5 edges");
        await picture(page, "light");
        await type(page, "digraph { one -> two -> three; two [label=\"second\"] }");
        await alt(page, "Diagram with 3 nodes and 2 edges");
        assert.equal(await page.locator("#outline-count").textContent(), ": 3 nodes, 2 edges");
        assert.deepEqual(await page.locator("#outline-lists li").allTextContents(),
            ["one", "two: second", "three", "one \u2192 two", "two \u2192 three"]);
        await accessible(page, "the page is open to everybody");
    }),

    "a mistake is marked and listed, and the last picture stays, dimmed": (context) => visit(context, open, async (page) => {
        await type(page, "digraph { a -> b }");
        await alt(page, "Diagram with 2 nodes and 1 edge");
        const before = await page.locator("#picture").getAttribute("src");
        await type(page, "digraph {\n    a -> ;\n}");
        await isStale(page);
        assert.match(await page.locator("[role=alert]").textContent(), /^syntax error in line 2 near ';'$/);
        assert.equal(await page.locator(".cm-wrong-line").textContent(), "    a -> ;");
        assert.equal(await page.locator(".cm-wrong-place").textContent(), ";");
        assert.equal(await page.locator("#picture").getAttribute("src"), before);
        await page.waitForFunction(() => getComputedStyle(document.getElementById("picture")).opacity < 0.5);
        await picture(page, "light-error");
        await accessible(page, "the page with a mistake is open to everybody");
        await page.locator("[role=alert] button").click();
        await page.keyboard.type("c");
        await page.locator("#viewport:not(.stale)").waitFor();
        await alt(page, "Diagram with 2 nodes and 1 edge");
        assert.equal(await page.locator(".cm-wrong-line").count(), 0);
        assert.equal(await page.locator("[role=alert]").textContent(), "");
        assert.equal(await page.locator("#viewport.stale").count(), 0);
        assert.notEqual(await page.locator("#picture").getAttribute("src"), before);
    }),

    "an answer to an older text is dropped": (context) => visit(context, open, async (page) => {
        await alt(page, "Diagram with 5 nodes and 5 edges");
        let held = 0;
        await page.route("**/graphs?format=svg", async (route) => {
            // The first answer comes last, although its request was given up.
            if (route.request().postData().includes("slow")) { held += 1; await new Promise((done) => setTimeout(done, 700)); }
            await route.continue().catch(() => {});
        });
        await type(page, "digraph { slow -> a -> b -> c }");
        await page.waitForTimeout(350);
        await type(page, "digraph { quick -> a }");
        await alt(page, "Diagram with 2 nodes and 1 edge");
        await page.waitForTimeout(800);
        assert.equal(held, 1);
        assert.equal(await page.locator("#picture").getAttribute("alt"), "Diagram with 2 nodes and 1 edge");
    }),

    "a link carries a source there and back, in either alphabet": (context) => visit(context, open, async (page) => {
        const source = "digraph { \"\u00fc?>~\" -> b // \u{1f600}\n}";
        await type(page, source);
        await alt(page, "Diagram with 2 nodes and 1 edge");
        await page.getByRole("button", { name: "Share" }).click();
        const link = await page.locator("#link").inputValue();
        assert.match(link, /\/\?inline=[\w-]+$/);
        assert.equal(page.url(), link, "the address bar has it, too");
        for (const address of [link, `${open}/?inline=${encodeURIComponent(base64(source))}`]) {
            await page.goto(address);
            await alt(page, "Diagram with 2 nodes and 1 edge");
            assert.equal((await page.locator("#code .cm-line").allTextContents()).join("\n"), source);
        }
        await page.goto(`${link}&view=1`);
        await alt(page, "Diagram with 2 nodes and 1 edge");
        assert.equal(await page.locator("#code .cm-content").isVisible(), false);
        assert.equal(await page.getByRole("button", { name: "Share" }).isVisible(), false);
        assert.equal(await page.locator("#viewport").evaluate((box) => box.clientHeight > window.innerHeight - 5), true);
        await picture(page, "view");
    }),

    "everything can be downloaded": (context) => visit(context, open, async (page) => {
        const source = "digraph { a [label=<<b>}</b>>]; // }\n a -> \"}\" }";
        await type(page, source);
        await alt(page, "Diagram with 2 nodes and 1 edge");
        const files = {};
        for (const name of ["SVG", "PNG", "PNG 2x", "DOT"]) {
            const [download] = await Promise.all([
                page.waitForEvent("download"), page.getByRole("button", { name, exact: true }).click(),
            ]);
            files[name] = { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
        }
        assert.deepEqual(Object.values(files).map((file) => file.name), ["diagram.svg", "diagram.png", "diagram@2x.png", "diagram.dot"]);
        assert.match(files.SVG.bytes.toString(), /<svg[^]*<\/svg>/);
        assert.equal(files.DOT.bytes.toString(), source);
        const width = (file) => {
            assert.equal(file.bytes.subarray(1, 4).toString(), "PNG");
            return file.bytes.readUInt32BE(16);
        };
        assert.ok(Math.abs(width(files["PNG 2x"]) - 2 * width(files.PNG)) <= 2, "twice the resolution");
    }),

    "keys and wheel zoom, arrows and the mouse move": (context) => visit(context, open, async (page) => {
        await alt(page, "Diagram with 5 nodes and 5 edges");
        const zoom = async () => parseInt(await page.locator("#zoom").textContent(), 10);
        const place = () => page.locator("#picture").evaluate((image) => [image.getBoundingClientRect().x, image.getBoundingClientRect().y].map(Math.round));
        const viewport = page.locator("#viewport");
        await viewport.focus();
        await page.keyboard.press("1");
        assert.equal(await zoom(), 100);
        await page.keyboard.press("+");
        assert.equal(await zoom(), 125);
        await page.keyboard.press("-");
        assert.equal(await zoom(), 100);
        const [x, y] = await place();
        await page.keyboard.press("ArrowLeft");
        await page.keyboard.press("ArrowDown");
        assert.deepEqual(await place(), [x + 40, y - 40]);
        const box = await viewport.boundingBox();
        await page.mouse.move(box.x + 200, box.y + 200);
        await page.mouse.down();
        await page.mouse.move(box.x + 230, box.y + 190, { steps: 3 });
        await page.mouse.up();
        assert.deepEqual(await place(), [x + 70, y - 50]);
        await page.mouse.wheel(0, -300);
        await page.waitForFunction(() => parseInt(document.getElementById("zoom").textContent, 10) > 120);
        await page.keyboard.press("0");
        const [left, top] = await place();
        assert.ok(left >= Math.floor(box.x) && top >= Math.floor(box.y), "it fits again");
        await page.getByRole("button", { name: "Zoom in" }).click();
        await page.getByRole("button", { name: "1:1" }).click();
        assert.equal(await zoom(), 100);
    }),

    "examples replace the source": (context) => visit(context, open, async (page) => {
        await alt(page, "Diagram with 5 nodes and 5 edges");
        for (const example of await page.locator("#examples a").all()) {
            const before = await page.locator("#picture").getAttribute("src");
            if (await example.textContent() === "Order of work") continue;
            await example.click();
            await page.waitForFunction((old) => document.getElementById("picture").src !== old, before);
            assert.equal(await page.locator("[role=alert] ul:not(.warnings)").count(), 0);
            await picture(page, `example-${await example.textContent()}`);
        }
        assert.equal(page.url(), `${open}/`, "without another page");
    }),

    "where keys are required, the page asks for one": (context) => visit(context, keyed, async (page) => {
        await page.locator("[role=alert]").filter({ hasText: "a key is required" }).waitFor();
        await page.getByLabel("API key").fill(key);
        await page.getByRole("button", { name: "Draw" }).click();
        await alt(page, "Diagram with 5 nodes and 5 edges");
        assert.equal(await page.locator("[role=alert]").textContent(), "");
        await accessible(page, "the page with a key and a prompt is open to everybody");
        await picture(page, "keyed");
    }),

    "a prompt becomes a diagram": (context) => visit(context, keyed, async (page) => {
        await page.getByLabel("API key").fill(key);
        await page.getByLabel("Describe a diagram").fill("three in a row");
        await page.keyboard.press("Enter");
        await alt(page, "Diagram with 3 nodes and 2 edges");
        assert.match(await page.locator("#code .cm-content").textContent(), /x -> y -> z/);
    }),

    "no prompt box without an engine": (context) => visit(context, open, async (page) => {
        assert.equal(await page.locator("#prompt").count(), 0);
        assert.equal(await page.locator("#key").count(), 0);
    }),
};

const dark = {
    "in the dark the diagram lies on white": (context) => visit(context, open, async (page) => {
        await alt(page, "Diagram with 5 nodes and 5 edges");
        const color = (selector) => page.locator(selector).evaluate((element) => getComputedStyle(element).backgroundColor);
        assert.equal(await color("#viewport"), "rgb(255, 255, 255)");
        assert.notEqual(await color("header"), "rgb(255, 255, 255)");
        await picture(page, "dark");
        await accessible(page, "the dark page is open to everybody");
        await type(page, "digraph {\n    a -> \"b\" [color=red] // why\n    a => c\n}");
        await isStale(page);
        await picture(page, "dark-error");
        await accessible(page, "the dark page with a mistake is open to everybody");
    }),
};

const plain = {
    "without scripts the page is a form": (context) => visit(context, open, async (page) => {
        assert.equal(await page.locator("#tools").isVisible(), false);
        await page.getByLabel("DOT source").fill("digraph {\n    a -> b [label=go]\n}");
        await page.getByRole("button", { name: "Draw" }).click();
        const image = page.getByAltText("Diagram with 2 nodes and 1 edge");
        await image.waitFor();
        assert.ok((await image.boundingBox()).width > 20, "the picture is shown");
        assert.equal(await page.getByLabel("DOT source").inputValue(), "digraph {\n    a -> b [label=go]\n}");
        await page.locator("summary").click();
        assert.deepEqual(await page.locator("#outline-lists li").allTextContents(), ["a", "b", "a \u2192 b: go"]);
        assert.match(await page.getByRole("link", { name: "Download SVG" }).getAttribute("href"), /^data:image\/svg/);
        await picture(page, "plain");
        await page.getByLabel("DOT source").fill("digraph {\n    a ->\n}</textarea><b>");
        await page.getByRole("button", { name: "Draw" }).click();
        await page.locator("[role=alert]").filter({ hasText: "syntax error in line 3" }).waitFor();
        assert.equal(await page.getByLabel("DOT source").inputValue(), "digraph {\n    a ->\n}</textarea><b>");
        await page.getByRole("link", { name: "States" }).click();
        await page.locator("img#picture[src^='data:']").waitFor();
    }),
    "without scripts, a key and a prompt go with the form": (context) => visit(context, keyed, async (page) => {
        await page.getByRole("button", { name: "Draw" }).click();
        await page.locator("[role=alert]").filter({ hasText: "a key is required" }).waitFor();
        await page.getByLabel("API key").fill(key);
        await page.getByLabel("Describe a diagram").fill("three in a row");
        await page.getByRole("button", { name: "Write DOT" }).click();
        await page.getByAltText("Diagram with 3 nodes and 2 edges").waitFor();
    }),
};

await runChecks(packages, [new URL(open).host, new URL(keyed).host], [
    [checks, { colorScheme: "light" }],
    [dark, { colorScheme: "dark" }],
    [plain, { javaScriptEnabled: false }],
]);
