import { expect, it, onTestFinished } from 'vitest';
import { REAL_TIME } from '../../../../../src/base/world/real-time.js';
import type { Time } from '../../../../../src/base/world/time.js';
import type { FromLinks, ToLinks } from '../../../../../src/live/controller/link/thread/link-messages.js';
import { runLinks } from '../../../../../src/live/controller/link/thread/run-links.js';
import { newPulse } from '../../../../../src/live/pulse.js';
import { REAL_WORLD } from '../../../../../src/live/world/real-world.js';
import { PATIENT, pause, serve } from '../fixtures.js';

it('gives the worker up while the thread that schedules hangs, and asks for it again when that goes on', async () => {
  const { server } = await serve();
  const scheduler = newPulse();
  const { said, post } = links(scheduler);
  const settings = { address: `localhost:${server.port}`, ...PATIENT };
  post({ kind: 'open', link: 1, settings, originNs: 0 });
  const goesOn = beating(scheduler);
  await until(() => said.some(({ kind }) => kind === 'up'));
  goesOn();
  await until(() => said.some(({ kind }) => kind === 'down'));
  expect(said.find(({ kind }) => kind === 'down')).toMatchObject({
    reason: expect.stringMatching(/^the controller's thread that schedules has shown no sign of life for/),
  });
  // It hears nothing until it goes on, and then what it has missed.
  const { length } = said;
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(said.slice(length)).toEqual([]);
  onTestFinished(beating(scheduler));
  post({ kind: 'settle', link: 1, gpu: null, reason: '' });
  await until(() => said.slice(length).some(({ kind }) => kind === 'up'));
});

/** The thread of links in this one. It looks at the pulse more often than in life. */
function links(schedulerPulse: SharedArrayBuffer): {
  readonly said: Exclude<FromLinks, string>[];
  readonly post: (message: Exclude<ToLinks, string>) => void;
} {
  const said: Exclude<FromLinks, string>[] = [];
  let hear: (message: never) => void = () => {};
  const time: Time = {
    ...REAL_TIME,
    every: (intervalMs, run) => REAL_TIME.every(intervalMs === 1000 ? 50 : intervalMs, run),
  };
  runLinks(
    { ...REAL_WORLD, time },
    {
      on: (_event, heard) => {
        hear = heard;
      },
      postMessage: (message: FromLinks) => {
        if (typeof message !== 'string') said.push(message);
      },
    },
    { pulse: newPulse(), schedulerPulse, candidacy: { controller: 'this-one', isStandby: false } },
  );
  const post = (message: Exclude<ToLinks, string>) => hear(message as never);
  onTestFinished(() => post({ kind: 'close', link: 1 }));
  return { said, post };
}

function beating(pulse: SharedArrayBuffer): () => void {
  const timer = setInterval(() => Atomics.add(new Int32Array(pulse), 0, 1), 5);
  return () => clearInterval(timer);
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await pause();
}
