import type { Card } from './messages.js';
import { type Kind, kindText, queueName } from './names.js';
import type { Scripts } from './scripts.js';

const SILENT_MS = 10_000;

interface PresenceOptions {
  readonly scripts: Scripts;
  /** The directory of this side, and of the other. */
  readonly own: string;
  readonly other: string;
  readonly card: Card;
  /** What the other side is called: `worker` or `sweep`. */
  readonly noun: string;
  readonly say: (what: string) => void;
}

/** Shows this process to the other side, and knows who is there of it. */
export class Presence {
  /** Those of the other side that this process can work with. */
  peers: readonly Card[] = [];
  private readonly strangers = new Set<string>();
  private isSilent = false;

  constructor(private readonly options: PresenceOptions) {}

  /** To be called again and again, much more often than every 15 s. */
  async renew(): Promise<void> {
    const { scripts, own, other, card } = this.options;
    const timer = setTimeout(() => this.noteSilence(), SILENT_MS);
    try {
      const cards = await scripts.announce(own, other, card);
      this.isSilent = false;
      const mine = queueName(card);
      this.peers = cards.filter((one) => queueName(one) === mine);
      for (const one of cards) if (queueName(one) !== mine) this.noteStranger(one);
    } finally {
      clearTimeout(timer);
    }
  }

  leave(): Promise<void> {
    return this.options.scripts.leave(this.options.own, this.options.card);
  }

  private noteSilence(): void {
    if (!this.isSilent)
      this.options.say(`the queue has not answered for ${SILENT_MS / 1000} s; waiting for it`);
    this.isSilent = true;
  }

  private noteStranger(stranger: Card): void {
    const { card, noun, say } = this.options;
    if (this.strangers.has(stranger.id)) return;
    this.strangers.add(stranger.id);
    say(
      `the ${noun} ${stranger.name} is left out: it is ${kindText(stranger)}, and this is ${kindText(card as Kind)}, so results could differ`,
    );
  }
}
