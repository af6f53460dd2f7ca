// The page of an approval in a real browser: `node approve_page.mjs PACKAGES '{"rejected": URL, "approved": URL, "open": URL}'`.
// PACKAGES is what packaging/browser.sh --where prints. Scripts are off, as the page needs none; keys alone are pressed.
// With PICTURES set, screenshots are written there for people to look at.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [packages, given] = process.argv.slice(2);
const { rejected, approved, open } = JSON.parse(given);
const require = createRequire(join(packages, "node_modules", "x"));
const { chromium } = require("playwright-core");
const axe = readFileSync(join(packages, "node_modules/axe-core/axe.min.js"), "utf8");
const pictures = process.env.PICTURES;

const directory = mkdtempSync(join(tmpdir(), "approve-"));
const violations = [];
const strangers = [];

async function browser(name, options) {
    const context = await chromium.launchPersistentContext(join(directory, name), {
        executablePath: "/usr/bin/chromium",
        headless: true,
        viewport: { width: 390, height: 844 },
        args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync"],
        ...options,
    });
    context.setDefaultTimeout(8000);
    context.on("request", (request) => {
        const url = new URL(request.url());
        if (/^(http|ws)/.test(url.protocol) && url.hostname !== "127.0.0.1") strangers.push(request.url());
    });
    context.on("page", watch);
    context.pages().forEach(watch);
    return context;
}

function watch(page) {
    page.on("console", (message) => {
        if (/Content Security Policy|Refused to/i.test(message.text())) violations.push(message.text());
    });
}

async function picture(page, name) {
    if (!pictures) return;
    for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 844 });
        await page.screenshot({ path: join(pictures, `${name}-${width}.png`), fullPage: true });
    }
    await page.setViewportSize({ width: 390, height: 844 });
}

/** What is focused after so many times of Tab. */
async function tabbed(page, until) {
    for (let count = 0; count < 30; count += 1) {
        await page.keyboard.press("Tab");
        if ((await page.locator(":focus").count()) > 0 && (await page.locator(`${until}:focus`).count()) > 0) return;
    }
    assert.fail(`${until} is not reached by Tab`);
}

const context = await browser("plain", { javaScriptEnabled: false });
const page = await context.newPage();

// Rejecting needs a reason, and what is typed with the keyboard is what is recorded.
let response = await page.goto(rejected);
assert.equal(response.status(), 200);
assert.match(response.headers()["referrer-policy"], /no-referrer/);
assert.equal(await page.locator("h1").innerText(), "Deploy v42.1.0 to production");
assert.ok((await page.content()).includes("U+202E"), "what turns text around is shown");
const widths = await page.locator("main").evaluateAll((all) => all.map((one) => [one.scrollWidth, one.clientWidth])).catch(() => []);
for (const [scroll, client] of widths) assert.ok(scroll <= client, "nothing reaches over the edge");
await picture(page, "open");
await tabbed(page, "button.no");
await page.keyboard.press("Enter");
assert.ok(page.url() === rejected && (await page.locator("h1").innerText()).startsWith("Deploy"), "a reason is asked for first");
await page.locator("#reason").focus();
await page.keyboard.type("Not on a Friday");
await tabbed(page, "button.no");
await picture(page, "focused");
await page.keyboard.press("Enter");
await page.locator("h1.rejected").waitFor();
await picture(page, "recorded");
console.log("rejected by keyboard alone");

// Looking again shows how it ended.
response = await page.goto(rejected);
assert.equal(response.status(), 410);
await picture(page, "over");

// Approving needs none.
await page.goto(approved);
await tabbed(page, "button.yes");
await page.keyboard.press("Enter");
await page.locator("h1.approved").waitFor();
await picture(page, "approved");
console.log("approved by keyboard alone");

// A page of somebody else's sends the form, and is in a frame around it.
const evil = createServer((_, answer) => {
    answer.setHeader("content-type", "text/html");
    answer.end(`<form method=post action="${open}"><input name=verdict value=approved><button>x</button></form><iframe src="${open}"></iframe>`);
});
await new Promise((resolve) => evil.listen(0, "127.0.0.1", resolve));
await page.goto(`http://127.0.0.1:${evil.address().port}/`);
const framed = page.frames()[1];
assert.ok(!framed || !(await framed.content()).includes("<form"), "it is in no frame");
violations.length = 0;
await page.locator("button").first().click();
await page.waitForURL(open);
assert.ok((await page.content()).includes("another page"), "a foreign form does not count");
await picture(page, "foreign");
evil.close();
console.log("a foreign form does not count");

response = await page.goto(`${open}x`);
assert.equal(response.status(), 404);
await picture(page, "unknown");
await context.close();

// Nothing bars people who read with their ears or hands, light or dark.
for (const colorScheme of ["light", "dark"]) {
    const context = await browser(colorScheme, { colorScheme, bypassCSP: true });
    const page = await context.newPage();
    await page.goto(open);
    await page.locator("summary").first().click();
    await page.evaluate(axe);
    const found = await page.evaluate(() => window.axe.run());
    assert.deepEqual(found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ")}`), [], colorScheme);
    const over = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
    assert.equal(over, false, "nothing reaches over the edge");
    await picture(page, `open-${colorScheme}`);
    await context.close();
}
console.log("nothing bars anybody");

assert.deepEqual(violations, [], "nothing breaks the page's policy");
assert.deepEqual(strangers, [], "nothing comes from elsewhere");
rmSync(directory, { recursive: true, force: true });
console.log("all is well");
