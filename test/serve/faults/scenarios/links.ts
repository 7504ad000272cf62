import { expect } from 'vitest';
import { sleep } from '../clients/counting-clients.js';
import type { FaultProxy, Tampered } from '../fault-proxy.js';
import { DATA, encodeFrame, type Frame, GOAWAY, RST_STREAM } from '../http2-frames.js';
import { NO_WORKER, type Scenario } from '../play.js';
import type { Rig } from '../rig.js';

const FOR_MS = 3000;
const TIMES = 3;

/** What happens on the way between a controller and a worker, whatever encrypts it, besides what chaos draws. */
export const LINK_FAULTS: readonly Scenario[] = [
  {
    name: 'a link is cut ten times',
    inject: async ({ links }) => {
      for (let i = 0; i < 10; i++) {
        links[1].cut();
        await sleep(200);
      }
    },
  },
  {
    name: 'all links are cut at once',
    excuse: NO_WORKER,
    inject: async ({ links }) => {
      for (const link of links) link.cut();
    },
  },
  {
    name: 'a link is cut and refused for 3 s, which the log says once',
    inject: async ({ links, controller }) => {
      const before = controller?.log.length;
      const listen = await links[0].refuse();
      await sleep(FOR_MS);
      await listen();
      const said = controller?.log.slice(before).map(({ msg }) => msg) ?? [];
      expect(said.filter((msg) => /cannot be reached.*ECONNREFUSED/.test(msg)).length).toBeLessThan(2);
    },
  },
  ...[5, 500].map((delayMs) => bad(`is late by ${delayMs} ms`, { delayMs })),
  bad('carries a byte per millisecond', { bytesPerSecond: 1000 }),
  harmful('corrupts one of 40 chunks', { corruptEvery: 40 }),
  ...(
    [
      ['ends at once', 'end'],
      ['is accepted by a server of another kind', 'stranger'],
    ] as const
  ).map(
    ([what, greeting]): Scenario => ({
      name: `a link is cut, and each new one ${what}`,
      inject: async ({ links }) => {
        const { connections } = links[1];
        links[1].weather.greeting = greeting;
        links[1].cut();
        while (links[1].connections < connections + 2) await sleep(20);
        links[1].clear();
      },
    }),
  ),
];

/** What only those can do who read what goes by. */
export const FRAME_FAULTS: readonly Scenario[] = [
  ...(
    [
      ['the length of a frame', (bytes) => (bytes[2] ^= 1)],
      ['the type of a frame', (bytes) => (bytes[3] ^= 2)],
      ['the flags of a frame', (bytes) => (bytes[4] ^= 1)],
      ['the stream of a frame', (bytes) => (bytes[8] ^= 2)],
      ['the length of a message', (bytes) => (bytes[13] ^= 1)],
      ['the body of a message', (bytes) => (bytes[(bytes.length + 9) >> 1] ^= 4)],
      ['the checksum of a message', (bytes) => (bytes[bytes.length - 1] ^= 128)],
    ] satisfies [string, (bytes: Buffer) => void][]
  ).map(([what, change]) =>
    tampers(`flips a bit in ${what}`, ({ bytes }) => {
      change(bytes);
      return { bytes };
    }),
  ),
  tampers('breaks in the middle of a frame', ({ bytes }) => ({
    bytes: bytes.subarray(0, bytes.length >> 1),
    cut: true,
  })),
  tampers('says everything twice', ({ bytes }) => ({ bytes: Buffer.concat([bytes, bytes]) }), 10),
  tampers('ends the stream', ({ bytes, stream }) => ({
    bytes: Buffer.concat([bytes, encodeFrame(RST_STREAM, stream, Buffer.from([0, 0, 0, 8]))]),
  })),
  tampers('says that the other side is going away', ({ bytes }) => ({
    bytes: Buffer.concat([bytes, encodeFrame(GOAWAY, 0, Buffer.alloc(8))]),
  })),
  {
    // It is not noticed before the result is overdue by ten seconds.
    name: 'a message of a worker vanishes',
    inject: async ({ links: [link] }, clients) => {
      await harm(link, 1, ({ type, bytes }, direction) =>
        type === DATA && direction === 'to controller' && bytes.length > 100
          ? { bytes: Buffer.alloc(0) }
          : null,
      );
      await clients.someMore(50);
    },
  },
];

function bad(what: string, weather: Partial<FaultProxy['weather']>): Scenario {
  return {
    name: `a link ${what} for 3 s`,
    inject: async ({ links: [link] }: Rig) => {
      Object.assign(link.weather, weather);
      await sleep(FOR_MS);
      link.clear();
    },
  };
}

function harmful(what: string, weather: Partial<FaultProxy['weather']>): Scenario {
  return {
    name: `a link ${what}`,
    inject: async ({ links: [link] }: Rig) => {
      const { harmed } = link;
      Object.assign(link.weather, weather);
      while (link.harmed < harmed + 6) await sleep(20);
      link.clear();
    },
  };
}

/** Does it to a frame with a message, in turn to one of each direction, so many times. */
function tampers(what: string, change: (frame: Frame) => Tampered, times = TIMES): Scenario {
  return {
    name: `a link ${what}`,
    inject: async (rig: Rig) => {
      const [link] = rig.links;
      const directions = ['to worker', 'to controller'];
      const { harmed } = link;
      await harm(link, times, (frame, direction) =>
        frame.type === DATA && frame.bytes.length > 30 && direction === directions[(link.harmed - harmed) % 2]
          ? change(frame)
          : null,
      );
      if (/(?:body|checksum) of a message/.test(what)) await rig.says(/was damaged in transit/);
    },
  };
}

async function harm(
  link: FaultProxy,
  times: number,
  tamper: NonNullable<FaultProxy['weather']['tamper']>,
): Promise<void> {
  const { harmed } = link;
  link.weather.tamper = (...frame) => (link.harmed < harmed + times ? tamper(...frame) : null);
  while (link.harmed < harmed + times) await sleep(10);
  link.clear();
}
