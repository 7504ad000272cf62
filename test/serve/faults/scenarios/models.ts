import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { writeIn } from '../../../live/models/fixtures.js';
import { encodeGraph, type SmallNode } from '../../../live/models/small-graph.js';
import { type CountingClients, sleep } from '../clients/counting-clients.js';
import type { Subject } from '../clients/tally.js';
import { NO_WORKER, type Scenario } from '../play.js';
import type { Rig } from '../rig.js';

const WIDTH = 3;
/** The model that is replaced, and one that stays as it is. */
const REPLACED = 'replaced';
/** Clients never ask it, but for the scenarios. */
const SLEEPER = 'sleeper';

/** Two models that differ on disk, and double each number: for numbers in binary both do it exactly. */
const TWICE = graph({ op: 'Mul', inputs: ['input', 'two'], outputs: ['output'] });
const SUM = graph({ op: 'Add', inputs: ['input', 'input'], outputs: ['output'] });

export const DOUBLING: readonly Subject[] = [REPLACED, 'constant'].map((name) => ({
  name,
  width: WIDTH,
  right: (values) => [...values].map((value) => 2 * value),
}));

/** How long a model goes without requests before it sleeps. */
export const IDLE = '2s';

export function writeModels(repository: string): void {
  for (const name of [REPLACED, 'constant', SLEEPER]) writeIn(repository, `${name}/1/model.onnx`, TWICE);
}

/** What happens to workers while models are replaced, and while they go to sleep and wake up. */
export function modelFaults(repository: string): readonly Scenario[] {
  let present = TWICE;
  const other = () => {
    present = present === TWICE ? SUM : TWICE;
    return present;
  };
  const write = (bytes: Uint8Array) => {
    const file = join(repository, REPLACED, '1/model.onnx');
    writeFileSync(`${file}.new`, bytes);
    renameSync(`${file}.new`, file);
  };
  /** Replaces the model, and does `meanwhile` as soon as its files are others. */
  const replace = async (rig: Rig, clients: CountingClients, meanwhile: () => Promise<unknown>) => {
    const from = rig.controller?.stderr.length;
    write(other());
    await meanwhile();
    await rig.says(/"model":"replaced".*newer files of it are served/, from);
    await clients.someMore(30);
  };
  return [
    {
      name: 'a model is replaced, and no worker is lost',
      inject: (rig, clients) => replace(rig, clients, async () => {}),
    },
    {
      name: 'a worker is killed when it begins to measure newer files',
      inject: async (rig, clients) => {
        let index = 0;
        await replace(rig, clients, async () => {
          index = await measuring(rig);
          await rig.workers[index].kill('SIGKILL');
        });
        await rig.restart(index);
      },
    },
    {
      name: 'a model is replaced while a worker is away, which comes back at the same time',
      inject: async (rig, clients) => {
        await rig.workers[1].kill('SIGKILL');
        await replace(rig, clients, () => rig.restart(1));
      },
    },
    {
      name: 'a worker is asked to end while a model is replaced',
      inject: async (rig, clients) => {
        await replace(rig, clients, async () => expect(await rig.workers[1].kill('SIGTERM')).toBe(0));
        await rig.restart(1);
      },
    },
    {
      name: 'a worker is killed and comes back while broken files lie where its model was',
      inject: async (rig, clients) => {
        const from = rig.controller?.stderr.length;
        write(Buffer.from('nonsense'));
        await rig.says(/"model":"replaced".*its replacement is rejected/, from);
        await rig.workers[0].kill('SIGKILL');
        await rig.restart(0);
        await rig.says(/is not accepted/, from);
        await clients.someMore(30);
        write(present);
      },
    },
    {
      name: 'a model goes to sleep, and wakes up while a worker is killed',
      inject: async (rig, clients) => {
        await asleep(rig);
        const [answer] = await Promise.all([ask(rig), rig.workers[0].kill('SIGKILL')]);
        expect(answer).toEqual([2, 4, 6]);
        await clients.someMore(30);
        await rig.restart(0);
      },
    },
    {
      name: 'a model sleeps while workers are replaced one after the other, and wakes up on the new ones',
      inject: async (rig) => {
        await asleep(rig);
        for (const index of rig.workers.keys()) {
          await rig.workers[index].kill('SIGKILL');
          await rig.restart(index);
          await rig.allUp();
        }
        expect(await ask(rig)).toEqual([2, 4, 6]);
      },
    },
    {
      name: 'all workers are killed while a model is replaced, and come back',
      excuse: NO_WORKER,
      inject: async (rig, clients) => {
        await replace(rig, clients, async () => {
          await Promise.all(rig.workers.map((worker) => worker.kill('SIGKILL')));
          await Promise.all(rig.workers.map((_, index) => rig.restart(index)));
        });
      },
    },
  ];
}

/** Resolves when the sleeper, which was asked just now, has no memory any more. */
async function asleep(rig: Rig): Promise<void> {
  const from = rig.controller?.stderr.length;
  expect(await ask(rig)).toEqual([2, 4, 6]);
  await rig.says(/"model":"sleeper".*it had no requests/, from);
}

async function ask({ http }: Rig): Promise<unknown> {
  const input = { name: 'input', datatype: 'FP32', shape: [1, WIDTH], data: [1, 2, 3] };
  const response = await fetch(`http://127.0.0.1:${http}/v2/models/${SLEEPER}/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs: [input], parameters: { slo_ms: 20_000 } }),
  });
  const answer = (await response.json()) as { outputs?: { data: number[] }[] };
  return answer.outputs?.[0].data ?? answer;
}

/** Resolves with the worker that measures newer files: where that is done, the other one finds the figures. */
async function measuring({ workers }: Rig): Promise<number> {
  const times = () => workers.map(({ stderr }) => stderr.match(/measuring replaced/g)?.length ?? 0);
  const before = times();
  for (;;) {
    const index = times().findIndex((now, i) => now > before[i]);
    if (index >= 0) return index;
    await sleep(5);
  }
}

function graph(node: SmallNode): Uint8Array<ArrayBuffer> {
  const dims = ['batch', WIDTH];
  return encodeGraph({
    inputs: [{ name: 'input', dims }],
    outputs: [{ name: 'output', dims }],
    nodes: [node],
    weights: { two: { dims: [1], floats: [2] } },
  });
}
