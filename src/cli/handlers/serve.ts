import { REAL_WORLD } from '../../live/world/real-world.js';
import { startNeeds } from '../../serve/deployment-options.js';
import type { ServeArgs } from '../commands/serve.js';
import { deploymentOptions, machineOptions } from '../machine.js';
import { runServer } from '../run-server.js';

/** `escapement serve`: controller and one worker in one process. */
export async function run(args: ServeArgs): Promise<void> {
  const { startMachine } = await import('../../live/worker/local-machine.js');
  const { LocalLink } = await import('../../live/controller/link/local-link.js');
  await runServer('server', args, async ({ runtime }, log) => {
    const deployment = deploymentOptions(args);
    const say = (what: string) => log.info(what);
    const machine = await startMachine(await machineOptions(args, runtime, say, startNeeds(deployment)));
    return { links: [new LocalLink(machine, (what) => log.warn(what), REAL_WORLD.time)], deployment };
  });
}
