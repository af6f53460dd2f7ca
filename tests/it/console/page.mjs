// The console's pages in a real browser: `node page.mjs PACKAGES '{"operations": URL, …}'`, see browser.rs. Each check says its
// name; the first that fails ends the run. With PICTURES set, screenshots are written there for people to look at.
import assert from "node:assert/strict";
import { accessible, picture, runChecks, takeViolations, visit } from "../support/browser.mjs";

const [packages, given] = process.argv.slice(2);
const { operations, console: members, other, operators, members: ofMembers, hostile, editor } = JSON.parse(given);

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

/** The pages of a member, or those of them that have most on them, at a width. */
async function lookAsMember(context, title, width, all) {
    const project = editor.replace(/\/locales.*/, "");
    const paths = !all ? [editor, project, "/people"] : ["/", "/projects", project, editor, editor.replace(/de$/, "ar"), `${project}/glossary`, `${project}/style`, "/approvals", "/people", "/audit", "/audit/verify"];
    for (const path of paths) {
        await visit(context, members + path, async (page) => {
            await page.setViewportSize({ width, height: 800 });
            assert.ok((await heading(page)).length > 0, path);
            await isNarrow(page);
            await picture(page, `${title}-member${path.replace(project, "/project").replaceAll("/", "-")}`, { fullPage: true });
            await accessible(page, `${title}: ${path} is open to everybody`);
        });
    }
    await visit(context, `${members}/approvals`, async (page) => {
        await page.setViewportSize({ width, height: 800 });
        await page.locator("main table a").first().click();
        await isNarrow(page);
        await picture(page, `${title}-member-approval`, { fullPage: true });
        await accessible(page, `${title}: a decision is open to everybody`);
    });
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

    "every page of a member, as wide as a screen": (context) => lookAsMember(context, "light", 1280, true),

    "what is being typed is checked, and kept until it is saved": (context) => visit(context, `${members}${editor}?q=String`, async (page) => {
        await page.locator("#text").fill("Ohne Platzhalter");
        await page.locator("#checks", { hasText: "Q01" }).waitFor();
        await page.keyboard.press("Alt+ArrowDown");
        await page.waitForURL(/key=/);
        await page.waitForFunction(() => document.getElementById("text").value === "");
        await page.keyboard.press("Alt+ArrowUp");
        await page.waitForFunction(() => document.getElementById("text").value === "Ohne Platzhalter");
        assert.equal(await page.locator("#unsaved").isVisible(), true);
        await picture(page, "light-unsaved");
        await page.locator("#text").fill("");
    }),

    "twenty strings are translated by keyboard alone": (context) => visit(context, members + editor, async (page) => {
        const times = [];
        for (let number = 1; number <= 20; number += 1) {
            const before = await page.locator("input[name=key]").last().inputValue();
            const source = await page.locator(".original p").innerText();
            await page.keyboard.type(source.startsWith("String") ? source.replace("String", "Text") : source);
            const begun = Date.now();
            await page.keyboard.press("Control+Enter");
            await page.waitForFunction((key) => [...document.querySelectorAll("input[name=key]")].at(-1)?.value !== key, before);
            await page.waitForFunction(() => document.activeElement?.tagName === "TEXTAREA");
            times.push(Date.now() - begun);
        }
        await page.goto(members + editor);
        assert.ok(await page.locator(".strings .state.fair").count() >= 20);
        times.sort((a, b) => a - b);
        console.log(`from one string to the next: ${times[10]} ms (median), ${times.at(-1)} ms at most`);
        await page.keyboard.press("Tab");
        await page.locator("h1").click();
        await page.keyboard.press("?");
        assert.equal(await page.locator("#keys").getAttribute("open"), "");
        await picture(page, "light-translated", { fullPage: true });
    }),
};

const dark = {
    "every page in the dark, as narrow as a telephone": async (context) => {
        await visit(context, operators[2], (page) => page.waitForURL(`${operations}/`));
        await look(context, "dark", 320);
    },
    "every page of a member in the dark, as narrow as a telephone": async (context) => {
        await visit(context, ofMembers[2], (page) => page.waitForURL(`${members}/`));
        await lookAsMember(context, "dark", 320, true);
    },
};

const forced = {
    "every page in colours that the system forces, at twice the size": async (context) => {
        await visit(context, operators[3], (page) => page.waitForURL(`${operations}/`));
        await look(context, "forced", 640);
    },
    "what has most on it, in colours that the system forces": async (context) => {
        await visit(context, ofMembers[3], (page) => page.waitForURL(`${members}/`));
        await lookAsMember(context, "forced", 640, false);
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
    "without scripts a string is translated": (context) => visit(context, `${members}/sign-in`, async (page) => {
        await page.getByLabel("Link").fill(ofMembers[4].split("#")[1]);
        await page.keyboard.press("Enter");
        await page.waitForURL(`${members}/`);
        await page.goto(`${members}${editor}?q=String%2024`);
        await page.getByLabel("Translation").fill("Von Hand {name}");
        await page.getByRole("button", { name: "Save and go on" }).click();
        await page.goto(`${members}${editor}?q=Von%20Hand`);
        assert.equal(await page.locator(".strings li").count(), 1);
    }),
};

await runChecks(packages, [operations, members, other].map((url) => new URL(url).host), [
    [light, { colorScheme: "light", locale: "en" }],
    [dark, { colorScheme: "dark", locale: "en" }],
    [forced, { forcedColors: "active", locale: "en", deviceScaleFactor: 2 }],
    [plain, { javaScriptEnabled: false, locale: "en" }],
]);
