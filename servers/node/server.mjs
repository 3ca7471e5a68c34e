// The profile `node`: Node's own http module on its one event loop, with the endpoints of servers/work.py.
//
// What the endpoints do and answer is that module's, to the letter; tests/servers/test_endpoints.py holds both to it.
// No handler for SIGTERM and SIGINT: without one they end the process at once.

import { openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { PerformanceObserver } from "node:perf_hooks";
import { parseArgs } from "node:util";

const METHODS = ["GET", "HEAD", "POST"];
const POOL_SIZE = 20;
const MIXED_STEPS = 100_000;
const KEEP_ALIVE_MS = 75_000;
const TEXT = "text/plain; charset=utf-8";
const JSON_TYPE = "application/json";

class RequestError extends Error {
  constructor(status, message, headers = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** Places of which `size` may be held; who finds none free waits in line. Resolves to the time that took, in ms. */
class Pool {
  #free;
  #waiting = [];

  constructor(size) {
    this.#free = size;
  }

  async acquire() {
    const begun = performance.now();
    if (this.#free > 0) this.#free -= 1;
    else await new Promise((resolve) => this.#waiting.push(resolve));
    return performance.now() - begun;
  }

  release() {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
  }
}

const pool = new Pool(POOL_SIZE);
const counters = { in_flight: 0, peak: 0, served: 0, workers: 1, limit: null };

/** Garbage collections, into the file that the starter made and reads. servers/stats.py tells its form. */
const tellCollections = (path) => {
  const file = openSync(path, "r+");
  const [collectedNs, collections, ring, places] = [7, 8, 16, 56];
  const write = (field, ...values) => {
    const data = BigInt64Array.from(values);
    writeSync(file, data, 0, data.byteLength, 8 * field);
  };
  // Both are the monotonic clock, that of the entries counted from another moment.
  const originNs = process.hrtime.bigint() - BigInt(Math.round(performance.now() * 1e6));
  let totalNs = 0n;
  let count = 0;
  write(collectedNs, totalNs);
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) {
      const lastedNs = BigInt(Math.round(duration * 1e6));
      totalNs += lastedNs;
      if (duration < 1) continue;
      const begunNs = originNs + BigInt(Math.round(startTime * 1e6));
      write(ring + 2 * (count % places), begunNs, begunNs + lastedNs);
      count += 1;
      write(collections, BigInt(count));
    }
    write(collectedNs, totalNs);
  }).observe({ entryTypes: ["gc"] });
};
if (process.env.LOADRIG_STATS) tellCollections(process.env.LOADRIG_STATS);

/** A JSON object as a body, spaced as Python's json does. A line break never stands inside a JSON string. */
const document = (content) =>
  `${JSON.stringify(content, null, 1).replace(/,\n */g, ", ").replace(/\n */g, "")}\n`;

const text = (body, headers) => ({ status: 200, type: TEXT, body, headers });
const json = (content, headers) => ({ status: 200, type: JSON_TYPE, body: document(content), headers });

/** The Server-Timing header; durations in ms. */
const timing = (parts) => ({
  "Server-Timing": Object.entries(parts).map(([name, ms]) => `${name};dur=${ms.toFixed(3)}`).join(", "),
});

/** Waits on the event loop; resolves to the time that took, in ms. */
const wait = (ms) => {
  const begun = performance.now();
  return new Promise((resolve) => {
    const done = () => resolve(performance.now() - begun);
    // A timer takes 1 ms at least.
    if (ms === 0) setImmediate(done);
    else setTimeout(done, ms);
  });
};

/** Keeps the processor busy until the clock has moved by so much; returns by how much it did, in ms. */
const spin = (ms) => {
  const begun = performance.now();
  let now = begun;
  while (now - begun < ms) now = performance.now();
  return now - begun;
};

/** The state after `steps` rounds of x = x * 1664525 + 1013904223 mod 2^32, x ^= x >>> 17, begun at 1. */
const integerSteps = (steps) => {
  let x = 1;
  for (let step = 0; step < steps; step += 1) {
    x = (Math.imul(x, 1664525) + 1013904223) | 0;
    x ^= x >>> 17;
  }
  return x >>> 0;
};

const sleep = async (ms) => {
  const work = await wait(ms);
  return text(`slept ${ms} ms\n`, timing({ work }));
};

const block = (ms) => {
  const work = spin(ms);
  return text(`blocked ${ms} ms\n`, timing({ work }));
};

const cpu = (steps) => {
  const begun = performance.now();
  const result = integerSteps(steps);
  return json({ steps, result }, timing({ work: performance.now() - begun }));
};

const mixed = async (ms) => {
  const begun = performance.now();
  await wait(ms);
  const result = integerSteps(MIXED_STEPS);
  return json({ ms, steps: MIXED_STEPS, result }, timing({ work: performance.now() - begun }));
};

// Its code runs on the process's first thread, whose number on Linux is the process's own.
const thread = () =>
  json({ process: process.pid, thread: "main", thread_id: process.pid, greenlet: null, task: null });

const SMALL = json({ id: 1, name: "loadrig", text: "A small document.", tags: ["small", "fixed"] });

const downstream = async (ms) => {
  const acquire = await pool.acquire();
  const work = await wait(ms);
  pool.release();
  return text(`waited ${ms} ms downstream\n`, timing({ acquire, work }));
};

/** Counts a request while an endpoint works on it. */
const counted = (work) => async (value) => {
  counters.in_flight += 1;
  counters.peak = Math.max(counters.peak, counters.in_flight);
  const reply = await work(value);
  counters.in_flight -= 1;
  counters.served += 1;
  return reply;
};

const ms = (initial, maximum) => ({ name: "ms", initial, maximum });

const ENDPOINTS = {
  "/sleep": { work: counted(sleep), parameter: ms(1000, 600_000) },
  "/block": { work: counted(block), parameter: ms(1000, 60_000) },
  "/cpu": { work: counted(cpu), parameter: { name: "steps", initial: 100_000, maximum: 100_000_000 } },
  "/mixed": { work: counted(mixed), parameter: ms(100, 600_000) },
  "/thread": { work: counted(thread) },
  "/json": { work: counted(() => SMALL) },
  "/downstream": { work: counted(downstream), parameter: ms(100, 600_000) },
  "/stats": { work: () => json(counters) },
};

/** The endpoint for a path, which may be percent-encoded, and a method. */
const find = (path, method) => {
  let endpoint;
  try {
    const decoded = decodeURIComponent(path);
    endpoint = Object.hasOwn(ENDPOINTS, decoded) ? ENDPOINTS[decoded] : undefined;
  } catch {
    // Not UTF-8, so none of ours.
  }
  if (!endpoint) throw new RequestError(404, `paths here: ${Object.keys(ENDPOINTS).join(" ")}`);
  const allowed = METHODS.join(", ");
  if (!METHODS.includes(method)) throw new RequestError(405, `methods accepted: ${allowed}`, { Allow: allowed });
  return endpoint;
};

/** The value that a query string gives the one parameter of `path`. */
const readQuery = (path, parameter, query) => {
  if (query === "") return parameter?.initial;
  if (!parameter) throw new RequestError(400, `${path} accepts no parameters`);
  const { name, initial, maximum } = parameter;
  const accepts = `${path} accepts ${name}, a whole number from 0 to ${maximum} (default ${initial})`;
  // The & keeps a question mark at the beginning, which URLSearchParams would drop.
  const pairs = [...new URLSearchParams(`&${query}`)];
  if (pairs.length !== 1 || pairs[0][0] !== name) {
    throw new RequestError(400, `${accepts}, once, and nothing else`);
  }
  const given = pairs[0][1];
  if (/^[0-9]{1,12}$/.test(given) && Number(given) <= maximum) return Number(given);
  throw new RequestError(400, `${accepts}, not ${quoted([...given].slice(0, 40).join(""))}`);
};

/** A text in quotes and ASCII alone, as Python's ascii() has it. */
const quoted = (given) => {
  const quote = given.includes("'") && !given.includes('"') ? '"' : "'";
  const short = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", [quote]: `\\${quote}` };
  const escaped = (character) => {
    const code = character.codePointAt(0);
    if (Object.hasOwn(short, character)) return short[character];
    if (code >= 0x20 && code < 0x7f) return character;
    const digits = code.toString(16);
    if (code <= 0xff) return `\\x${digits.padStart(2, "0")}`;
    return code <= 0xffff ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
  };
  return `${quote}${Array.from(given, escaped).join("")}${quote}`;
};

const replyTo = async ({ url, method }) => {
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? "" : url.slice(mark + 1);
  try {
    const { work, parameter } = find(path, method);
    return await work(readQuery(decodeURIComponent(path), parameter, query));
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    return { status: error.status, type: TEXT, body: `${error.message}\n`, headers: error.headers };
  }
};

const serve = async (request, response) => {
  const { status, type, body, headers } = await replyTo(request);
  response.writeHead(status, { "Content-Type": type, "Content-Length": Buffer.byteLength(body), ...headers });
  response.end(body);
};

const { values: given } = parseArgs({
  options: {
    host: { type: "string", default: "127.0.0.1" },
    port: { type: "string", default: "8080" },
    backlog: { type: "string", default: "511" },
  },
});

const server = createServer((request, response) => {
  // Read to its end first: an answer sent earlier may reset the connection of a client that writes.
  request.on("end", () => serve(request, response)).resume();
});
// As long as the other servers keep idle connections; Node's own 5 s would cut off a client that pauses.
server.keepAliveTimeout = KEEP_ALIVE_MS;
// Limits of Node's that would end connections opened ahead of a burst, and slow uploads.
server.headersTimeout = 0;
server.requestTimeout = 0;
server.on("error", (error) => {
  console.error(`node: cannot listen on ${given.host}:${given.port}: ${error.message}`);
  process.exit(2);
});
server.listen({ host: given.host, port: Number(given.port), backlog: Number(given.backlog) });
