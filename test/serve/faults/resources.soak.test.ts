import { it } from 'vitest';
import { play } from './play.js';
import { CLIENT_FAULTS } from './scenarios/clients.js';
import { DISK_FAULTS, RESOURCE_FAULTS } from './scenarios/resources.js';

it('clients that break off, and what a process runs out of, cost no request', {
  timeout: 900_000,
}, async () => {
  await play([...CLIENT_FAULTS, ...RESOURCE_FAULTS]);
});

it('a journal or log that cannot be written costs no request', { timeout: 900_000 }, async () => {
  await play(DISK_FAULTS, { keepsFiles: false });
});
