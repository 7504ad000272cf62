import { expect } from 'vitest';
import { sleep } from '../clients/counting-clients.js';
import type { FaultProxy } from '../fault-proxy.js';
import { NO_WORKER, type Scenario } from '../play.js';
import type { Rig } from '../rig.js';

const FOR_MS = 3000;

/** What happens on the way between a controller and a worker, besides what chaos draws. */
export const LINK_FAULTS: readonly Scenario[] = [
  {
    name: 'all links are cut at once',
    excuse: NO_WORKER,
    inject: async ({ links }) => {
      for (const link of links) link.cut();
    },
  },
  {
    name: 'a link is cut and refused for 8 s, which the log says once',
    inject: async ({ links, controller }) => {
      const before = controller?.log.length;
      const listen = await links[0].refuse();
      // Time for at least five attempts.
      await sleep(8000);
      await listen();
      const said = controller?.log.slice(before).map(({ msg }) => msg) ?? [];
      expect(said.filter((msg) => /cannot be reached.*ECONNREFUSED/.test(msg)).length).toBeLessThan(2);
    },
  },
  bad('is late by 5 ms', { delayMs: 5 }),
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
