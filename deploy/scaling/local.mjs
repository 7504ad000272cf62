#!/usr/bin/env node
// Starts and stops workers on this machine, as many as the controller says are needed. Each worker has one GPU.
//
//   node deploy/scaling/local.mjs METRICS_URL CONTROLLER [ARGUMENT OF escapement worker ...]
//   node deploy/scaling/local.mjs http://127.0.0.1:8002/metrics 127.0.0.1:8004 --device simulated:PROFILE
//
// SCALING_KIND: counts GPUs of this kind only; run a script per kind, each with ports of its own. SCALING_COMMAND: what to run instead of
// "npx escapement"; SCALING_FIRST_PORT (8013): the first worker's port, each next one's is 10 higher; SCALING_POLL_MS (2000): how often
// it looks. SIGTERM and Ctrl-C stop all workers.
import { spawn } from 'node:child_process';

const [metricsUrl, controller, ...extra] = process.argv.slice(2);
const command = (process.env.SCALING_COMMAND ?? 'npx escapement').split(' ');
const firstPort = Number(process.env.SCALING_FIRST_PORT ?? 8013);
const kind = process.env.SCALING_KIND;
const pollMs = Number(process.env.SCALING_POLL_MS ?? 2000);
const PORT_STEP = 10;

/** By place, from 0: the worker's process. The highest one goes first. */
const workers = new Map();
const leaving = new Set();

/** Null: the controller does not say. Then all stays as it is. */
async function gpusNeeded() {
  try {
    const text = await (await fetch(metricsUrl, { signal: AbortSignal.timeout(5000) })).text();
    const values = [...text.matchAll(/^escapement_gpus_needed\{kind="([^"]*)"\} (\d+)$/gm)];
    const counted = values.filter(([, name]) => kind === undefined || name === kind);
    return counted.length === 0 ? null : counted.reduce((sum, [, , value]) => sum + Number(value), 0);
  } catch {
    return null;
  }
}

function start(place) {
  const port = String(firstPort + place * PORT_STEP);
  const args = ['worker', '--port', port, '--metrics-port', 'off', '--controller', controller, ...extra];
  const worker = spawn(command[0], [...command.slice(1), ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  console.log(`started worker ${place}, port ${port}`);
  workers.set(place, worker);
  worker.once('exit', (code) => {
    console.log(`worker ${place} has ended, status ${code}`);
    if (workers.get(place) === worker) workers.delete(place);
    leaving.delete(place);
  });
}

/** On SIGTERM a worker takes itself off the controller's list, finishes what runs, and ends: no request fails. */
function stop(place) {
  console.log(`stops worker ${place}`);
  leaving.add(place);
  workers.get(place).kill('SIGTERM');
}

async function look() {
  const needed = await gpusNeeded();
  if (needed === null) return;
  for (let place = 0; place < needed; place++) if (!workers.has(place)) start(place);
  for (const place of workers.keys()) if (place >= needed && !leaving.has(place)) stop(place);
}

if (metricsUrl === undefined || controller === undefined) {
  console.error('usage: node local.mjs METRICS_URL CONTROLLER [ARGUMENT OF escapement worker ...]');
  process.exit(2);
}
// Without a worker the controller has nothing to decide on.
start(0);
const timer = setInterval(look, pollMs);
for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, () => {
    clearInterval(timer);
    for (const place of workers.keys()) if (!leaving.has(place)) stop(place);
  });
}
