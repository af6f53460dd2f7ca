// What tests in a real browser share: a browser that is watched, pages that are visited, checks that are run one by one. PACKAGES
// is what packaging/browser.sh --where prints. With PICTURES set, screenshots are written there for people to look at; ONLY
// names the checks to run, and with ALL none that fails ends the run.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const WAIT_MS = 30000;
const strangers = [];
const violations = [];
let chromium;
let axe;

function load(packages) {
    const require = createRequire(join(packages, "node_modules", "x"));
    chromium = require("playwright-core").chromium;
    axe = readFileSync(join(packages, "node_modules/axe-core/axe.min.js"), "utf8");
}

async function browser(directory, hosts, options) {
    const context = await chromium.launchPersistentContext(directory, {
        executablePath: "/usr/bin/chromium",
        headless: true,
        viewport: { width: 1280, height: 800 },
        acceptDownloads: true,
        args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync"],
        ...options,
    });
    context.setDefaultTimeout(WAIT_MS);
    context.on("request", (request) => {
        const url = new URL(request.url());
        if (/^(http|ws)/.test(url.protocol) && !hosts.includes(url.host)) strangers.push(request.url());
    });
    await context.addInitScript(() => {
        window.violations = [];
        document.addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
    });
    context.on("page", (page) => watch(page));
    context.pages().forEach(watch);
    return context;
}

function watch(page) {
    page.on("pageerror", (error) => violations.push(`error: ${error.stack}`));
    page.on("console", (message) => {
        if (/Content Security Policy|Refused to|TrustedHTML|TrustedScript/i.test(message.text())) violations.push(message.text());
    });
}

/** Opens an address in a tab of its own. */
export async function visit(context, url, then) {
    const page = await context.newPage();
    try {
        await page.goto(url);
        await then(page);
        assert.deepEqual(await takeViolations(page), [], "nothing breaks the page's policy, and no script fails");
    } finally {
        await page.close();
    }
}

/** A picture for people to look at. */
export async function picture(page, title, options = {}) {
    if (process.env.PICTURES) await page.screenshot({ path: join(process.env.PICTURES, `${title}.png`), ...options });
}

/** What the page's own scripts have done against its policy, or failed at, since the last look. */
export async function takeViolations(page) {
    const found = await page.evaluate(() => (window.violations || []).splice(0)).catch(() => []);
    return [...violations.splice(0), ...found];
}

/** Nothing on the page shuts out people who read with their ears or hands. */
export async function accessible(page, title) {
    assert.deepEqual(await takeViolations(page), [], "nothing breaks the page's policy, and no script fails");
    await page.evaluate(axe);
    const { violations: found } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    assert.deepEqual(found.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ")}`), [], title);
    // The auditor sets styles of its own.
    await takeViolations(page);
}

/** Runs lists of checks, each in a browser of its own with these options; nothing is asked of other hosts. */
export async function runChecks(packages, hosts, lists) {
    load(packages);
    const only = process.env.ONLY;
    for (const [list, options] of lists) {
        const directory = mkdtempSync(join(tmpdir(), "page-"));
        const context = await browser(directory, hosts, options);
        try {
            for (const [name, check] of Object.entries(list)) {
                if (only && !name.includes(only)) continue;
                const begun = Date.now();
                try {
                    await check(context);
                } catch (error) {
                    console.error(`${name}: ${error.stack}`);
                    process.exitCode = 1;
                    if (!process.env.ALL) break;
                }
                console.log(`${name}: ${Date.now() - begun} ms`);
            }
        } finally {
            await context.close();
            rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
        }
        if (process.exitCode && !process.env.ALL) break;
    }
    assert.deepEqual(strangers, [], "no request leaves the service");
}
