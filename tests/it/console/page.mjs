// The console's pages in a real browser: `node page.mjs PACKAGES '{"operations": URL, …}'`, see browser.rs. Each check says its
// name; the first that fails ends the run. With PICTURES set, screenshots are written there for people to look at.
import assert from "node:assert/strict";
import { accessible, picture, runChecks, takeViolations, visit } from "../support/browser.mjs";

const [packages, given] = process.argv.slice(2);
const { operations, console: members, other, operators, members: ofMembers, hostile } = JSON.parse(given);

const heading = (page) => page.locator("h1").innerText();
const isNarrow = async (page) => assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), true, `${page.url()} moves sideways`);

/** Every page of the operators, at a width. */
async function look(context, title, width) {
    for (const path of ["/", "/doctor", "/tenants", `/tenants/${hostile}`, "/sessions", "/sign-in"]) {
        await visit(context, operations + path, async (page) => {
            await page.setViewportSize({ width, height: 800 });
            assert.ok((await heading(page)).length > 0, path);
            await isNarrow(page);
            await picture(page, `${title}${path.replace(hostile, "hostile").replaceAll("/", "-")}`, { fullPage: true });
            await accessible(page, `${title}: ${path} is open to everybody`);
        });
    }
}

const light = {
    "a link opens the pages, and leaves nothing in the address": (context) => visit(context, operators[0], async (page) => {
        await page.waitForURL(`${operations}/`);
        assert.equal(await heading(page), "Status");
        await page.goBack().catch(() => {});
        assert.ok(!page.url().includes("#"), page.url());
    }),

    "a link that was used lets nobody in": (context) => visit(context, operators[0], async (page) => {
        await page.locator("[role=alert]").waitFor();
        assert.equal(page.url(), `${operations}/sign-in`);
        await picture(page, "light-refused");
        await accessible(page, "the page that lets nobody in is open to everybody");
    }),

    "every page, as wide as a screen": (context) => look(context, "light", 1280),

    "names are text": (context) => visit(context, `${operations}/tenants/${hostile}`, async (page) => {
        assert.equal(await page.locator("main img").count(), 0);
        assert.match(await heading(page), /<img src=x onerror=alert\(1\)>U\+202Eevil<\/bdi>/);
    }),

    "figures stay fresh, and what somebody has ended leads to sign in": (context) => visit(context, `${operations}/`, async (page) => {
        const before = await page.locator("[id='status.now']").innerText();
        await page.waitForFunction((text) => document.getElementById("status.now").textContent !== text, before);
        assert.deepEqual(await takeViolations(page), []);
        await visit(context, `${operations}/sessions`, async (second) => {
            await picture(second, "light-sessions-own");
            await second.locator("tr", { hasText: "this one" }).getByRole("button").click();
            await second.waitForURL(/\/sign-in/);
        });
        await page.waitForURL(/\/sign-in/);
        assert.equal(await heading(page), "Sign in");
    }),

    "a page of another port of this host has nothing done": (context) => visit(context, operators[1], async (page) => {
        await page.waitForURL(`${operations}/`);
        await page.goto(`${other}/healthz`);
        await page.evaluate((address) => {
            const form = document.createElement("form");
            Object.assign(form, { method: "post", action: address });
            document.documentElement.append(form);
            form.submit();
        }, `${operations}/sign-out`);
        await page.waitForURL(`${operations}/sign-out`);
        assert.equal(await heading(page), "Nothing was changed");
        await page.goto(`${operations}/tenants`);
        assert.equal(await heading(page), "Tenants");
    }),

    "the keyboard alone reaches and works everything": (context) => visit(context, `${operations}/`, async (page) => {
        const tab = async (until) => {
            for (let count = 0; count < 60; count += 1) {
                await page.keyboard.press("Tab");
                if (await page.locator(`${until}:focus`).count()) return;
            }
            assert.fail(`${until} is not reached`);
        };
        await tab("a.skip");
        await page.keyboard.press("Enter");
        assert.equal(await page.evaluate(() => document.activeElement.id), "main");
        await page.goto(`${operations}/`);
        await tab("nav a[href='/tenants']");
        await page.keyboard.press("Enter");
        await page.waitForURL(`${operations}/tenants`);
        await tab(`a[href='/tenants/${hostile}']`);
        await page.keyboard.press("Enter");
        await page.waitForURL(`${operations}/tenants/${hostile}`);
        await tab("button[value=de]");
        await page.keyboard.press("Enter");
        await page.waitForFunction(() => document.documentElement.lang === "de");
        assert.equal(new URL(page.url()).pathname, `/tenants/${hostile}`, "the page stays");
        await picture(page, "german");
        await tab("button[value=en]");
        await page.keyboard.press("Enter");
        await page.waitForFunction(() => document.documentElement.lang === "en");
        await tab(".who button");
        await page.keyboard.press("Enter");
        await page.waitForURL(`${operations}/sign-in`);
    }),

    "members have a door of their own": (context) => visit(context, ofMembers[0], async (page) => {
        await page.waitForURL(`${members}/`);
        assert.equal(await heading(page), "Home");
        await picture(page, "light-home");
        await accessible(page, "a member's first page is open to everybody");
        await page.goto(`${members}/sessions`);
        await picture(page, "light-sessions-member");
        await accessible(page, "a member's sessions are open to everybody");
        await page.goto(`${members}/nothing`);
        assert.equal(await heading(page), "There is no such page");
        await accessible(page, "a page that is not there is open to everybody");
        await page.goto(`${operations}/`);
        await page.waitForURL(/\/sign-in/);
    }),
};

const dark = {
    "every page in the dark, as narrow as a telephone": async (context) => {
        await visit(context, operators[2], (page) => page.waitForURL(`${operations}/`));
        await look(context, "dark", 320);
    },
};

const forced = {
    "every page in colours that the system forces, at twice the size": async (context) => {
        await visit(context, operators[3], (page) => page.waitForURL(`${operations}/`));
        await look(context, "forced", 640);
    },
};

const plain = {
    "without scripts a link is pasted, and everything is there": (context) => visit(context, `${operations}/sign-in`, async (page) => {
        await page.getByLabel("Link").fill(operators[4]);
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.waitForURL(`${operations}/`);
        assert.equal(await heading(page), "Status");
        await page.getByRole("link", { name: "Doctor" }).click();
        assert.equal(await heading(page), "Doctor");
        await page.getByRole("link", { name: "Sessions" }).click();
        await page.locator("tr", { hasText: "this one" }).getByRole("button").click();
        await page.waitForURL(/\/sign-in/);
    }),
    "without scripts members come in as well": (context) => visit(context, `${members}/sign-in`, async (page) => {
        await page.getByLabel("Link").fill(ofMembers[1].split("#")[1]);
        await page.keyboard.press("Enter");
        await page.waitForURL(`${members}/`);
        assert.equal(await heading(page), "Home");
        await page.getByRole("button", { name: "Sign out" }).click();
        assert.equal(await heading(page), "Sign in");
    }),
};

await runChecks(packages, [operations, members, other].map((url) => new URL(url).host), [
    [light, { colorScheme: "light", locale: "en" }],
    [dark, { colorScheme: "dark", locale: "en" }],
    [forced, { forcedColors: "active", locale: "en", deviceScaleFactor: 2 }],
    [plain, { javaScriptEnabled: false, locale: "en" }],
]);
