// Entry of the thread of links.
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../../../../base/invariant.js';
import { REAL_TIME } from '../../../../base/world/real-time.js';
import type { ActionMessage } from '../../../messages.js';
import { beat } from '../../../pulse.js';
import { passOnWarnings } from '../../../warnings.js';
import { Candidate } from './candidate.js';
import { LinkAgent } from './link-agent.js';
import type { LinkThreadData, PackedActions, ToLinks } from './link-messages.js';
import { unpackActions } from './link-pack.js';
import { Outbox } from './outbox.js';

passOnWarnings('links');
const port = parentPort;
invariant(port !== null, 'this file is the entry of a thread');
const { pulse, candidacy }: LinkThreadData = workerData;
beat(pulse, REAL_TIME);
const agents = new Map<number, LinkAgent>();
const outbox = new Outbox((message, transfer) => port.postMessage(message, transfer), REAL_TIME);
const candidate = new Candidate(candidacy, (link, term) => agents.get(link)?.take(term), REAL_TIME);

function sendActions(packed: PackedActions): void {
  const byLink = new Map<number, ActionMessage[]>();
  unpackActions(packed, (link, action) => {
    const actions = byLink.get(link);
    if (actions === undefined) byLink.set(link, [action]);
    else actions.push(action);
  });
  for (const [link, actions] of byLink) agents.get(link)?.send(actions);
}

function receive(message: Exclude<ToLinks, string>): void {
  if (message.kind === 'actions') {
    sendActions(message.actions);
    return;
  }
  const { link } = message;
  if (message.kind === 'open') {
    candidate.opened(link);
    agents.set(
      link,
      new LinkAgent(link, message.settings, message.originNs, outbox, candidate, { time: REAL_TIME }),
    );
  }
  const agent = agents.get(link);
  if (message.kind === 'settle') agent?.settle(message.gpu, message.reason);
  else if (message.kind === 'call') void agent?.call(message.id, message.call);
  else if (message.kind === 'restart') agent?.restart(message.reason);
  else if (message.kind === 'startRecording') agent?.startRecording();
  else if (message.kind === 'renew') agent?.renew(message.tls);
  else if (message.kind === 'close') {
    agents.delete(link);
    candidate.closed(link);
    void agent?.close();
  }
}

port.on('message', (message: ToLinks) => {
  if (typeof message === 'string') sendActions(message);
  else receive(message);
});
