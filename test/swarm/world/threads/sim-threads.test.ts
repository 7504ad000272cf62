import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ThreadHandle } from '../../../../src/live/world/threads.js';
import { Simulation } from '../index.js';
import type { ThreadScope } from './sim-threads.js';

/** What a thread runs, as text: `port` and `data` are there. */
interface Scenario {
  readonly code: string;
  readonly data?: unknown;
  /** Done by the thread's parent right away. */
  readonly act?: (thread: ThreadHandle, heard: string[]) => void;
  /** Done later. */
  readonly later?: (thread: ThreadHandle, heard: string[]) => void;
}

const ECHO = "port.on('message', (message) => port.postMessage(['re', message]))";

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'messages come before it has begun': {
    code: ECHO,
    act: (thread) => {
      for (const message of ['text', 1, { nested: [new Map([[1, 2]])] }, new Uint8Array([1, 2])])
        thread.postMessage(message);
    },
  },
  'a message comes later': { code: ECHO, later: (thread) => thread.postMessage('later') },
  'it gets data': {
    code: `${ECHO}; port.postMessage(data)`,
    data: { bytes: Buffer.from('abc'), list: [null] },
  },
  'a buffer is handed over': {
    code: ECHO,
    act: (thread, heard) => {
      const bytes = new Uint8Array([1, 2, 3]);
      thread.postMessage(bytes, [bytes.buffer]);
      heard.push(`left: ${bytes.length}`);
    },
  },
  'a message cannot be sent': {
    code: ECHO,
    act: (thread, heard) => {
      try {
        thread.postMessage(() => {});
      } catch (error) {
        heard.push((error as Error).name);
      }
    },
  },
  'it throws at once': { code: "port.postMessage('last'); throw new Error('oh')" },
  'it rejects': { code: "Promise.reject(new Error('oh'))" },
  'it throws at a message': {
    code: "port.on('message', () => { throw new Error('oh'); })",
    act: (thread) => thread.postMessage('throw'),
  },
  'it is terminated': {
    code: ECHO,
    later: (thread, heard) => {
      void thread.terminate().then((status) => heard.push(`terminated ${status}`));
      thread.postMessage('in vain');
    },
  },
};

function follow(thread: ThreadHandle, heard: string[]): void {
  const text = (message: unknown) =>
    JSON.stringify(message, (_, value) => (value instanceof Map ? [...value] : value));
  thread.on('message', (message: unknown) => heard.push(`message ${text(message)}`));
  thread.on('error', ({ message }) => heard.push(`error ${message}`));
  thread.on('exit', (status) => heard.push(`exit ${status}`));
}

/** `counts`: how much the simulated thread let its parent hear before `later`, and in all. */
async function real({ code, data, act, later }: Scenario, counts: readonly number[]): Promise<string[]> {
  const heard: string[] = [];
  const source = `const { parentPort: port, workerData: data } = require('node:worker_threads'); ${code}`;
  const thread = new Worker(source, { eval: true, workerData: data });
  const online = new Promise((resolve) => thread.once('online', resolve));
  follow(thread, heard);
  act?.(thread, heard);
  await online;
  await settled(heard, counts[0] as number);
  later?.(thread, heard);
  await settled(heard, counts[1] as number);
  const seen = [...heard];
  await thread.terminate();
  return seen;
}

/** Until so much has been heard, however busy the machine is, and a while longer for what should not come. */
async function settled(heard: readonly string[], count: number): Promise<void> {
  const giveUpMs = performance.now() + 60_000;
  while (heard.length < count && performance.now() < giveUpMs) await sleep(20);
  await sleep(300);
}

/**
 * Messages and the end of a thread come over ports of their own: each keeps its order, and Node promises
 * none between an error and a message that was posted right before it.
 */
function byPort(heard: readonly string[]): object {
  const isMessage = (line: string) => line.startsWith('message ');
  return {
    messages: heard.filter(isMessage),
    rest: heard.filter((line) => !isMessage(line)),
    last: heard.at(-1),
  };
}

async function simulated({ code, data, act, later }: Scenario) {
  const heard: string[] = [];
  let before = 0;
  const body = ({ port, data: given }: ThreadScope) => new Function('port', 'data', code)(port, given);
  const simulation = new Simulation({ seed: 1, tap: { threw: () => {} }, bodies: { test: body } });
  const process = simulation.machine('a').process('p', ({ world }) => {
    const thread = world.threads.start(new URL('file:///somewhere/test-thread.js'), { workerData: data });
    follow(thread, heard);
    act?.(thread, heard);
    world.time.after(1000, () => {
      before = heard.length;
      later?.(thread, heard);
    });
  });
  process.start();
  await simulation.run(2e9);
  return { heard, counts: [before, heard.length] };
}

describe('a simulated thread', () => {
  const both = new Map<string, readonly [simulated: string[], real: string[]]>();

  // All at once: most of the time they wait.
  beforeAll(async () => {
    const all = Object.entries(SCENARIOS).map(async ([name, scenario]) => {
      const { heard, counts } = await simulated(scenario);
      both.set(name, [heard, await real(scenario, counts)]);
    });
    await Promise.all(all);
  });

  it.each(Object.keys(SCENARIOS))('does as one of Node does when %s', (name) => {
    const [ofSimulated = [], ofReal = []] = both.get(name) ?? [];
    expect(byPort(ofSimulated)).toEqual(byPort(ofReal));
  });

  it('takes messages while it hangs, and looks at them when it goes on', async () => {
    const heard: string[] = [];
    const body = ({ port, world }: ThreadScope) =>
      void port.on('message', (message) =>
        heard.push(`${message} ${Math.floor(world.time.monotonicNs() / 1e9)}`),
      );
    const simulation = new Simulation({ seed: 1, tap: { threw: () => {} }, bodies: { test: body } });
    const process = simulation.machine('a', { originNs: 0 }).process('p', ({ world }) => {
      const thread = world.threads.start(new URL('file:///test-thread.js'), {});
      world.time.every(1000, () => thread.postMessage('tick'));
    });
    process.start();
    simulation.at(1.5e9, () => process.threadsOf('test')[0].hang());
    // It hangs all the same when its process was frozen for a while.
    simulation.at(1.6e9, () => process.freeze());
    simulation.at(1.7e9, () => process.thaw());
    simulation.at(3.5e9, () => process.threadsOf('test')[0].goOn());
    await simulation.run(4.5e9);
    expect(heard).toEqual(['tick 1', 'tick 3', 'tick 3', 'tick 4']);
  });
});
