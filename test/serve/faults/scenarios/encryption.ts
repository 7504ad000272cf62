import { sleep } from '../clients/counting-clients.js';
import { type Identity, newIdentity } from '../identities.js';
import type { Scenario } from '../play.js';
import type { WorkerChanges } from '../rig.js';

/** What goes wrong with certificates and tokens; the authority is `ours`. */
export function encryptionFaults(ours: Identity): readonly Scenario[] {
  return [
    wrongly('with an expired certificate', { tls: newIdentity(-1, ours) }, /expired/),
    wrongly('with the certificate of another authority', { tls: newIdentity() }, /certificate/),
    wrongly('without encryption', { tls: null }, /cannot be reached/),
    wrongly('with another token', { token: 'another' }, /token/),
    {
      name: 'a worker comes back with a new certificate of the same authority',
      inject: async (rig, clients) => {
        await rig.workers[0].kill('SIGKILL');
        await rig.restart(0, { tls: newIdentity(2, ours) });
        await clients.someMore(30);
      },
    },
    {
      name: 'a handshake hangs',
      inject: async ({ links: [link] }) => {
        const { connections } = link;
        link.weather.hole = 'to controller';
        link.cut();
        while (link.connections < connections + 2) await sleep(20);
        link.clear();
        link.cut();
      },
    },
  ];
}

/** A worker comes back in a way that its controller must not accept, and then as it was. */
function wrongly(how: string, changes: WorkerChanges, complaint: RegExp): Scenario {
  return {
    name: `a worker comes back ${how}`,
    inject: async (rig, clients) => {
      const from = rig.controller?.stderr.length ?? 0;
      await rig.workers[0].kill('SIGKILL');
      await rig.restart(0, changes);
      await rig.says(complaint, from);
      await clients.someMore(30);
      await rig.workers[0].kill('SIGKILL');
      await rig.restart(0);
    },
  };
}
