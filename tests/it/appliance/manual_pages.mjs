// The manual's pages in a real browser: `node manual_pages.mjs PACKAGES '{"list": URL}'`. PACKAGES is what
// packaging/browser.sh --where prints. Every page is opened, in light as wide as a screen, and in the dark as narrow as a
// telephone. With PICTURES set, screenshots are written there for people to look at.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [packages, given] = process.argv.slice(2);
const { list } = JSON.parse(given);
const require = createRequire(join(packages, "node_modules", "x"));
const { chromium } = require("playwright-core");
const axe = readFileSync(join(packages, "node_modules/axe-core/axe.min.js"), "utf8");

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const looks = [["light", 1280], ["dark", 320]];

for (const [colorScheme, width] of looks) {
    const page = await browser.newPage({ colorScheme, viewport: { width, height: 800 } });
    page.setDefaultTimeout(8000);
    const complaints = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("request", (request) => {
        if (new URL(request.url()).origin !== new URL(list).origin) complaints.push(request.url());
    });
    await page.goto(list);
    const links = await page.locator("main dt a").evaluateAll((all) => all.map((link) => link.href));
    for (const address of [list, ...links]) {
        const about = `${address}, ${colorScheme}, ${width}`;
        assert.equal((await page.goto(address)).status(), 200, about);
        assert.deepEqual(complaints, [], about);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, `${about}: moves sideways`);
        const name = new URL(address).pathname.replaceAll("/", "-");
        if (process.env.PICTURES) {
            await page.screenshot({ path: join(process.env.PICTURES, `page${name}-${colorScheme}-${width}.png`), fullPage: width === 320 });
        }
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ")}`), [], about);
        complaints.length = 0;
    }
    console.log(`${colorScheme}, ${width} wide: ${links.length} pages`);
    await page.close();
}
await browser.close();
