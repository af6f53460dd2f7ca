// Deliveries by BullMQ: so many jobs that each POST a signed body, 64 at once.
//
//     NODE_PATH=… node bullmq.cjs REDIS_SOCKET SINK_URL COUNT CONCURRENCY BODY_FILE
//
// Adds the jobs, writes a line, and begins to work once a line comes in.
"use strict";

const crypto = require("node:crypto");
const fs = require("node:fs");
const http = require("node:http");
const readline = require("node:readline");
const { Queue, Worker } = require("bullmq");
const Redis = require("ioredis");

const [socket, sink, count, concurrency, file] = process.argv.slice(2);
const body = fs.readFileSync(file, "utf8");
const key = crypto.randomBytes(32);
const target = new URL(sink);
const agent = new http.Agent({ keepAlive: true, maxSockets: Number(concurrency) });
const connection = () => new Redis({ path: socket, maxRetriesPerRequest: null });

function deliver(job) {
  const raw = Buffer.from(job.data.body);
  const timestamp = Math.floor(Date.now() / 1000).toString();
  const signature = crypto.createHmac("sha256", key).update(timestamp).update(".").update(raw).digest("hex");
  const headers = {
    "content-type": "application/json",
    "content-length": raw.length,
    "x-svc-event": "run.scheduled",
    "x-svc-event-id": job.id,
    "x-svc-timestamp": timestamp,
    "x-svc-signature": "sha256=" + signature,
  };
  const where = { host: target.hostname, port: target.port, path: target.pathname, method: "POST", agent, headers };
  return new Promise((resolve, reject) => {
    const request = http.request(where, (answer) => {
      answer.resume();
      answer.on("end", () => (answer.statusCode < 300 ? resolve() : reject(new Error(answer.statusCode))));
    });
    request.on("error", reject);
    request.end(raw);
  });
}

async function main() {
  const queue = new Queue("deliveries", { connection: connection() });
  const job = { name: "d", data: { body }, opts: { attempts: 5, backoff: 10000, removeOnComplete: true } };
  for (let left = Number(count); left > 0; left -= 1000) {
    await queue.addBulk(Array(Math.min(left, 1000)).fill(job));
  }
  console.log("ready");
  readline.createInterface({ input: process.stdin }).once("line", () => {
    new Worker("deliveries", deliver, { connection: connection(), concurrency: Number(concurrency) });
  }).once("close", () => process.exit(0));
}
main();
