import { pino } from 'pino';
import { expect, it } from 'vitest';
import { DRAINING, STANDS_BY } from '../../src/live/service.js';
import { logReadiness } from '../../src/serve/server-log.js';
import { FakeService } from '../live/frontend/fake-service.js';

/** What the log says while a service is not ready for these reasons, one after the other; null: it is. */
function linesOf(...reasons: (string | null)[]): string[] {
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line) => lines.push(JSON.parse(line).msg) });
  const service = new FakeService([]);
  logReadiness(log, service);
  for (const reason of reasons) service.notReady = reason;
  return lines;
}

it('says that the server is not ready and why, and that it is again', () => {
  expect(linesOf('no worker is up', null, 'no worker is up')).toEqual([
    'the server is not ready: no worker is up',
    'the server is ready again',
    'the server is not ready: no worker is up',
  ]);
});

it('leaves draining and standing by to their own lines', () => {
  expect(linesOf(STANDS_BY, null, DRAINING)).toEqual([]);
});
