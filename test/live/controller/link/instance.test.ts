import { expect, it } from 'vitest';
import { connectTo, serve } from './fixtures.js';

it('a link to a worker that has registered reaches that process, and no other at its address', async () => {
  const { machine, server } = await serve({ instance: 'one' });
  const complaint = await new Promise((log: (line: string) => void) =>
    connectTo(server.port, { instance: 'another', log }),
  );
  expect(complaint).toBe('the worker is not the one that registered this address');
  // Before it had the lease.
  expect(machine.quiesces).toBe(0);
  await connectTo(server.port, { instance: 'one' }).events.next('up');
});
