// A receiver that judges what it is sent with npm's standardwebhooks.
//
//     NODE_PATH=… node verifier.cjs HOST:PORT KEY
//
// Writes a line of JSON with the address it listens at, and one for each request: whether it is genuine, what the verifier
// objected to, and the request as it came, its body as base64. Ends with its standard input.
"use strict";

const http = require("node:http");
const { Webhook, WebhookVerificationError } = require("standardwebhooks");

const tell = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const [address, key] = process.argv.slice(2);
const webhook = new Webhook(key);

const server = http.createServer((request, answer) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const body = Buffer.concat(parts);
    let objection = null;
    try {
      webhook.verify(body.toString("utf8"), request.headers);
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      objection = error.message;
    }
    tell({ genuine: objection === null, objection, head: request.headers, body: body.toString("base64") });
    answer.writeHead(objection === null ? 204 : 400, { "content-length": "0" });
    answer.end();
  });
});
const [host, port] = address.split(":");
server.listen(Number(port), host, () => tell({ address: `${host}:${server.address().port}` }));
process.stdin.on("end", () => process.exit(0)).resume();
