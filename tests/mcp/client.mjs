// A client of the Model Context Protocol: npm's @modelcontextprotocol/sdk, as it is.
//
//     client.mjs DIRECTORY URL [KEY]
//
// DIRECTORY has node_modules/. Reads lines of JSON, {"list": true} or {"call": NAME, "arguments": {...}}, and answers each with
// one: what the client made of the answer. The first line says what was agreed on when the connection was made. Ends with
// its standard input.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [directory, url, key] = process.argv.slice(2);
const require = createRequire(`${directory}/client.cjs`);
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");

const tell = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const headers = key === undefined ? {} : { Authorization: `Bearer ${key}` };
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
const client = new Client({ name: "quintet-tests", version: "1.0.0" });
try {
  await client.connect(transport);
  tell({ version: transport.protocolVersion, server: client.getServerVersion() });
  for await (const line of createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line);
    try {
      const result = asked.list
        ? await client.listTools()
        : await client.callTool({ name: asked.call, arguments: asked.arguments }, undefined, { timeout: 120_000 });
      tell({ result });
    } catch (error) {
      tell({ error: { code: error.code, message: error.message } });
    }
  }
  await client.close();
} catch (error) {
  tell({ failed: [`${error.name}: ${error.message}`] });
}
process.exit(0);
