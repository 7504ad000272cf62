import { startNeeds } from '../../serve/deployment-options.js';
import type { ValuesOf } from '../options.js';
import { deploymentFlags, listenFlags, machineFlags, serverFlags } from '../server-options.js';

export const flags = {
  ...machineFlags,
  ...deploymentFlags,
  ...serverFlags,
  ...listenFlags,
};
export const examples = [
  'serve --repository models',
  'serve --repository models --set slo=200ms --journal run.journal',
  'serve --device simulated:profile.json --gpus 100 --copies 50',
];
export const notes = 'Runtime settings and their environment variables: escapement keys runtime';

/** `escapement serve`: controller and one worker in one process. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { startMachine } = await import('../../live/worker/local-machine.js');
  const { LocalLink } = await import('../../live/controller/link/worker-link.js');
  const { deploymentOptions, machineOptions } = await import('../machine.js');
  const { runServer } = await import('../run-server.js');
  await runServer('server', args, async ({ runtime }, { log, world }) => {
    const deployment = deploymentOptions(args);
    const say = (what: string) => log.info(what);
    const machine = await startMachine(await machineOptions(args, runtime, say, startNeeds(deployment)));
    const link = new LocalLink(machine, (what) => log.warn(what), world.time);
    return { links: [link], deployment, gpuMemory: () => machine.memory() };
  });
}
