import type { ActionMessage } from '../../../messages.js';
import { beat, PulseReader } from '../../../pulse.js';
import type { ThreadPort } from '../../../world/threads.js';
import type { LinkWorld } from '../stream-link.js';
import { LeaderElector } from './leader-elector.js';
import { LinkAgent, Outbox } from './link-agent.js';
import type { LinkThreadData, PackedActions, ToLinks } from './link-messages.js';
import { unpackActions } from './link-pack.js';

/**
 * Body of the thread of links: it has the links that the `LinkHost` at the other end of the port opens. While the
 * scheduling thread hangs, it hangs up, so that a standby may take over the workers.
 */
export function runLinks(
  world: LinkWorld,
  port: ThreadPort,
  { pulse, schedulerPulse, candidacy }: LinkThreadData,
): void {
  const { time } = world;
  const agents = new Map<number, LinkAgent>();
  const outbox = new Outbox((message, transfer) => port.postMessage(message, transfer), time);
  const elector = new LeaderElector(candidacy, (link, term) => agents.get(link)?.take(term), time);

  new PulseReader(schedulerPulse, time, (reason) => {
    for (const agent of agents.values()) {
      if (reason === null) agent.resume();
      else agent.suspend(`the controller's thread that schedules ${reason}`);
    }
  });

  const receive = (message: Exclude<ToLinks, string>): void => {
    if (message.kind === 'actions') {
      sendActions(message.actions, agents);
      return;
    }
    const { link } = message;
    if (message.kind === 'open') {
      elector.opened(link, message.settings.address, message.settings.instance !== undefined);
      agents.set(link, new LinkAgent(link, message.settings, message.originNs, outbox, elector, world));
    }
    const agent = agents.get(link);
    if (message.kind === 'settle') agent?.settle(message.gpu, message.reason);
    else if (message.kind === 'call') void agent?.call(message.id, message.call);
    else if (message.kind === 'restart') agent?.restart(message.reason, message.gpu);
    else if (message.kind === 'startRecording') agent?.startRecording();
    else if (message.kind === 'renew') agent?.renew(message.tls);
    else if (message.kind === 'close') {
      agents.delete(link);
      elector.closed(link);
      void agent?.close();
    }
  };

  beat(pulse, time);
  port.on('message', (message: ToLinks) => {
    if (typeof message === 'string') sendActions(message, agents);
    else receive(message);
  });
}

function sendActions(packed: PackedActions, agents: ReadonlyMap<number, LinkAgent>): void {
  const byLink = new Map<number, ActionMessage[]>();
  unpackActions(packed, (link, action) => {
    const actions = byLink.get(link);
    if (actions === undefined) byLink.set(link, [action]);
    else actions.push(action);
  });
  for (const [link, actions] of byLink) agents.get(link)?.send(actions);
}
