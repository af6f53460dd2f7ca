// Signs with npm's standardwebhooks.
//
//     NODE_PATH=… node signer.cjs KEY < CALLS > SIGNATURES
//
// CALLS is a JSON array of {"id", "timestamp", "body"}; SIGNATURES one of the values of webhook-signature.
"use strict";

const { Webhook } = require("standardwebhooks");

const webhook = new Webhook(process.argv[2]);
const calls = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(calls.map((call) => webhook.sign(call.id, new Date(call.timestamp * 1000), call.body))));
